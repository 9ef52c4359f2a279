"""The pipeline around a model changes what it reads, or is named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clsviz.encoder import pipeline
from clsviz.encoder.encoder import load
from clsviz.errors import ModelError
from clsviz.sources import models

from .conftest import weights, write_tokenizer


def write_pipeline(folder: Path, *kinds: str, pooling: dict[str, Any], **settings: Any) -> None:
    """Modules of sentence-transformers around the model in a folder."""
    steps = [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    steps += [{"type": f"sentence_transformers.models.{k}", "path": f"1_{k}"} for k in kinds]
    (folder / "modules.json").write_text(json.dumps(steps))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))


def test_limits_without_a_pipeline_are_not_read(bert: Path) -> None:
    assert pipeline.read(bert) == pipeline.Pipeline()
    write_pipeline(bert, "Pooling", pooling={}, max_seq_length=8, do_lower_case=True)
    (bert / "modules.json").unlink()
    assert pipeline.read(bert) == pipeline.Pipeline()


@pytest.mark.parametrize("key", ["tokenizer_args", "processor_kwargs"])
def test_limits_of_the_tokenizer_come_first(key: str, bert: Path) -> None:
    limits = {key: {"model_max_length": 9}, "max_seq_length": 12}
    write_pipeline(bert, "Pooling", pooling={}, **limits)
    write_tokenizer(bert, model_max_length=5)
    assert load(weights(bert)).tokenizer.max_length == 9


@pytest.mark.parametrize(
    ("kinds", "pooling", "prompt", "words"),
    [
        (["Pooling"], {"pooling_mode_cls_token": True}, None, []),
        (["Pooling"], {"pooling_mode": "cls"}, "query", ["a prompt before texts"]),
        (["Pooling"], {"pooling_mode_mean_tokens": True}, "document", ["“mean”"]),
        (["Pooling", "Normalize"], {"pooling_mode": "lasttoken"}, None, ["lasttok", "normalizes"]),
        (["Pooling", "Dense"], {"pooling_mode": ["cls", "mean"]}, None, ["cls+mean", "Dense"]),
    ],
)
def test_steps_around_the_model_are_named(kinds, pooling, prompt, words, bert) -> None:
    write_pipeline(bert, *kinds, pooling=pooling)
    prompts = {"prompts": {"query": "About: ", "document": ""}, "default_prompt_name": prompt}
    (bert / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    caveats = pipeline.read(bert).caveats("cls")
    assert all(word in caveat for word, caveat in zip(words, caveats, strict=True))


def test_limit_and_lower_case_are_heeded(bert: Path) -> None:
    write_tokenizer(bert, is_bytes=True)
    write_pipeline(bert, "Pooling", pooling={}, max_seq_length=8, do_lower_case=True)
    encoder = load(weights(bert))
    norms = encoder.run(["the Cat", "the cat", "the cXX"], "norms")
    assert encoder.tokenizer.max_length == 8
    assert norms["truncated"].tolist() == [True] * 3
    assert norms["n_tokens"].tolist() == [7] * 3
    assert norms["cls"][0, -1] == pytest.approx(norms["cls"][1, -1], rel=1e-6)
    assert norms["cls"][0, -1] != pytest.approx(norms["cls"][2, -1], rel=1e-4)


def test_a_model_in_a_subfolder_of_its_pipeline_heeds_it(bert: Path) -> None:
    write_pipeline(bert, "Pooling", "Dense", pooling={"pooling_mode": "cls"})
    steps = json.loads((bert / "modules.json").read_text())
    steps[0]["path"] = "0_Transformer"
    (bert / "modules.json").write_text(json.dumps(steps))
    (bert / "0_Transformer").mkdir()
    (bert / "config.json").rename(bert / "0_Transformer" / "config.json")
    assert "Dense" in " ".join(pipeline.read(bert / "0_Transformer").caveats("cls"))


def test_a_limit_without_an_end_is_refused(bert: Path) -> None:
    write_pipeline(bert, "Pooling", pooling={}, max_seq_length=float("inf"))
    with pytest.raises(ModelError, match="infinity"):
        pipeline.read(bert)


def test_reading_a_pipeline_loads_no_torch() -> None:
    program = "import sys, clsviz.encoder.pipeline; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
def test_the_built_in_model_reads_what_sentence_transformers_reads() -> None:
    import sentence_transformers

    weights_of = models.find("minilm")
    encoder = load(weights_of)
    theirs = sentence_transformers.SentenceTransformer(str(weights_of.folder), device="cpu")
    texts = [f"{'a word and ' * 200} {end}" for end in ("cat", "dog")] + ["A short one."]
    means = encoder.vectors(texts, "mean")
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(means, theirs.encode(texts), atol=1e-6)
    assert encoder.tokenizer.max_length == theirs.max_seq_length == 256
    assert encoder.run(texts, "norms")["truncated"].tolist() == [True, True, False]
