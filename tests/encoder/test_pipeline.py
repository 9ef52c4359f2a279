"""The vectors of a model's own pipeline are those of sentence-transformers."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from tokenizers import Tokenizer

from clsviz import LengthEvaluator, measure, probe, search_test
from clsviz.encoder.encoder import load, load_for
from clsviz.errors import ModelError, NoCls
from clsviz.evaluator import METRICS
from clsviz.sources import models, pipeline

from .conftest import GPT, WORDS, configure, reweigh, weights, write_model, write_tokenizer

QWEN = {"num_key_value_heads": 1}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
LIMITS = "sentence_bert_config.json"
PROMPTS = {"query": "the small ", "document": "a cat ", "other": "a dog"}
Steps = Callable[[Path], list[Any]]


def pooled(mode: Any = "mean", *others: Any, kind: str = "Bert", **settings: Any) -> Steps:
    """The steps of a transformer with a pooling, and others after it."""
    shape = settings.pop("shape", {})

    def build(folder: Path) -> list[Any]:
        if kind == "T5Encoder":
            config = transformers.T5Config(vocab_size=300, **shape)
            transformers.T5EncoderModel(config).save_pretrained(folder)
        else:
            write_model(folder, kind, **shape)
        if kind != "Bert":
            write_tokenizer(folder, frame="$A [SEP]", cls_token=None)
        transformer = modules.Transformer(str(folder), max_seq_length=20)
        return [transformer, modules.Pooling(16, mode, **settings), *others]

    return build


def static(folder: Path) -> list[Any]:
    write_tokenizer(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return [modules.StaticEmbedding(tokenizer, embedding_dim=8), modules.Normalize()]


KINDS: dict[str, tuple[Steps, dict[str, Any]]] = {
    "mean": (pooled("mean"), {}),
    "cls, prompts": (pooled("cls", modules.Normalize()), {"prompts": PROMPTS}),
    "mean, default prompt": (
        pooled("mean", modules.Normalize()),
        {"prompts": {"passage": "a cat "}, "default_prompt_name": "passage"},
    ),
    "prompt not pooled": (pooled("mean", include_prompt=False), {"prompts": PROMPTS}),
    "max": (pooled("max"), {}),
    "weighted mean": (pooled("weightedmean"), {}),
    "cls + mean": (pooled(("cls", "mean")), {}),
    "Dense": (pooled("mean", modules.Dense(16, 8), modules.Normalize()), {"prompts": PROMPTS}),
    "LayerNorm": (pooled("mean", modules.LayerNorm(16)), {}),
    "truncated": (pooled("mean", modules.Normalize()), {"truncate_dim": 4}),
    "Qwen2": (pooled("lasttoken", kind="Qwen2", shape=QWEN), {"prompts": PROMPTS}),
    "GPT2": (pooled("lasttoken", kind="GPT2", shape=GPT), {}),
    "T5": (pooled("mean", modules.Normalize(), kind="T5Encoder", shape=T5), {}),
    "static": (static, {}),
}


def save(folder: Path, steps: Steps, **settings: Any) -> None:
    """A pipeline in a folder, as sentence-transformers saves it."""
    torch.manual_seed(0)
    parts = steps(folder.with_name("parts"))
    SentenceTransformer(modules=parts, device="cpu", **settings).save(
        str(folder), create_model_card=False
    )


@pytest.mark.parametrize("name", KINDS)
def test_vectors_are_those_of_sentence_transformers(
    name: str, tmp_path: Path, texts: list[str]
) -> None:
    steps, settings = KINDS[name]
    save(tmp_path / "model", steps, **settings)
    own = models.find(str(tmp_path / "model"))
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu", local_files_only=True)
    texts = [*texts, *("cat " * n for n in range(10, 21))]
    for kind, encode in (("query", theirs.encode_query), ("text", theirs.encode_document)):
        prompt = own.pipeline.prompt(kind)
        arrays = load_for(kind, own).run(texts, kind, prompt)
        np.testing.assert_allclose(arrays["vectors"][:, 0], encode(texts), atol=1e-5)
        lengths = [len(theirs.tokenizer.encode(one, add_special_tokens=False)) for one in texts]
        assert arrays["n_tokens"].tolist() == lengths
        limit = 80 if name == "static" else models.limit_of(own, prompt)
        assert arrays["truncated"].tolist() == [n > limit for n in lengths]
    assert own.pipeline.normalizes == np.allclose(arrays["cls"], 1)
    assert bool(own.no_cls) == (name in ("Qwen2", "GPT2", "T5", "static"))


def test_steps_that_a_vector_leaves_out_are_named(tmp_path: Path) -> None:
    save(tmp_path / "model", *KINDS["Dense"][:1], **KINDS["Dense"][1])
    own = pipeline.read(tmp_path / "model")
    words = ["a prompt before texts", "takes the vector “mean”", "normalizes", "has “Dense”"]
    assert all(word in one for word, one in zip(words, own.caveats("cls"), strict=True))
    assert ["“other”" in caveat for caveat in own.caveats("pipeline")] == [True]
    assert "before queries and texts;" in own.caveats("mean", is_of_norms=False)[0]
    of_queries = replace(own, prompts=(("query", "a cat "), ("other", "a dog ")))
    assert not any("prompt" in caveat for caveat in of_queries.caveats("cls"))


def edit(folder: Path, **step: str) -> None:
    steps = json.loads((folder / "modules.json").read_text())
    steps[2] |= step
    (folder / "modules.json").write_text(json.dumps(steps))


REFUSALS: dict[str, Callable[[Path], Any]] = {
    "“my_code.Dense”, which is not": lambda folder: edit(folder, type="my_code.Dense"),
    "“CNN”, which is not run": lambda folder: edit(folder, type="sentence_transformers.models.CNN"),
    "cannot be read": lambda folder: (folder / "modules.json").write_text('[{"type": 3}]'),
    "Dense of .* has no model.safetensors": lambda folder: (
        folder / "2_Dense" / "model.safetensors"
    ).rename(folder / "2_Dense" / "pytorch_model.bin"),
    "infinity": lambda folder: configure(folder, LIMITS, max_seq_length=float("inf")),
    "lacks 2 of its weights": lambda folder: reweigh(
        folder, lambda w: [w.pop(name) for name in list(w) if "layer.1.output.dense" in name]
    ),
    "cannot be loaded": lambda folder: configure(folder / "2_Dense", in_features=3),
    **{
        f"has a step in “{path}”": partial(edit, path=path)
        for path in ("../outside", "/tmp", "a/b", "..")
    },
}


@pytest.mark.parametrize("words", REFUSALS)
def test_a_pipeline_that_is_damaged_or_foreign_is_refused(words: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save(folder, pooled("mean", modules.Dense(16, 8)))
    REFUSALS[words](folder)
    with pytest.raises(ModelError, match=words):
        load_for("text", models.find(str(folder))).run(["the cat"], "text")


def test_limits_without_a_pipeline_are_not_read(bert: Path) -> None:
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    assert pipeline.read(bert) == pipeline.Pipeline()


@pytest.mark.parametrize("key", ["tokenizer_args", "processor_kwargs"])
def test_limits_of_the_tokenizer_come_first(key: str, tmp_path: Path) -> None:
    save(tmp_path / "model", pooled())
    configure(tmp_path / "model", LIMITS, **{key: {"model_max_length": 9}})
    assert load(weights(tmp_path / "model")).tokenizer.max_length == 9


def test_lower_case_is_heeded(tmp_path: Path) -> None:
    save(tmp_path / "model", pooled())
    write_tokenizer(tmp_path / "model", is_bytes=True)
    configure(tmp_path / "model", LIMITS, do_lower_case=True)
    norms = load(weights(tmp_path / "model")).run(["the Cat", "the cat", "the cXt"], "norms")
    upper, lower, other = norms["cls"][:, -1]
    assert upper == pytest.approx(lower, rel=1e-6)
    assert other != pytest.approx(lower, rel=1e-4)


def test_a_question_without_an_answer_names_those_that_have_one(tmp_path: Path) -> None:
    texts = [" ".join(WORDS[: n % 9 + 1]) for n in range(40)]
    for name, advice in (("Dense", "Choose cls or"), ("T5", "Ask where")):
        save(tmp_path / name, *KINDS[name][:1], **KINDS[name][1])
        result = measure(str(tmp_path / name), texts, pooling="pipeline", store=tmp_path)
        assert result.advice.startswith(advice)  # norms of 1
    with pytest.raises(NoCls, match=r"encoder-decoder, without .CLS.. Ask where length lives, if"):
        load_for("norms", models.find(str(tmp_path / "T5")))


def test_reading_a_pipeline_loads_no_torch() -> None:
    program = "import sys, clsviz.cli; from clsviz.sources import models; models.find('minilm'); "
    program += "sys.exit(bool({'torch', 'sentence_transformers'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
def test_the_built_in_model_emits_what_sentence_transformers_does() -> None:
    own = models.find("minilm")
    theirs = SentenceTransformer(str(own.folder), device="cpu")
    texts = [f"{'a word and ' * 200} {end}" for end in ("cat", "dog")] + ["A short one."]
    arrays = load_for("text", own).run(texts, "text")
    np.testing.assert_allclose(arrays["vectors"][:, 0], theirs.encode(texts), atol=1e-6)
    assert arrays["truncated"].tolist() == [True, True, False]


def test_recall_by_layer_is_by_the_prompt_that_is_set(tmp_path: Path) -> None:
    save(tmp_path / "model", *KINDS["Dense"][:1], **KINDS["Dense"][1])
    draw = np.random.RandomState(0)
    texts = [" ".join(draw.choice(WORDS, n % 9 + 4)) for n in range(150)]
    frame = pd.DataFrame(
        {"title": [f"{text[:12]} {n}" for n, text in enumerate(texts)], "text": texts}
    )
    frame.to_csv(tmp_path / "texts.csv", index=False)
    own: dict[str, Any] = {"pooling": "pipeline", "text_prompt": "in ", "store": tmp_path}
    view: dict[str, Any] = {"recall": True, "search_corpus": str(tmp_path / "texts.csv")}
    result = probe(str(tmp_path / "model"), texts, **view, **own)
    searched = str(tmp_path / "model"), view["search_corpus"]
    search = search_test(*searched, column="text", **own)
    assert result.table["recall_at_10"].iloc[-1] == search.fact("recall_at_10")
    dot = search_test(*searched, column="text", similarity="dot", **own)
    assert ["norm 1" in " ".join(one.caveats) for one in (search, dot)] == [False, True]


def test_the_evaluator_says_what_a_search_test_says(tmp_path: Path) -> None:
    save(tmp_path / "model", *KINDS["Dense"][:1], **KINDS["Dense"][1])
    model = SentenceTransformer(str(tmp_path / "model"), device="cpu", local_files_only=True)
    rows = [
        {"title": f"cat {n} dog {n % 7}", "text": "a cat sees " * (n % 50 + 1)} for n in range(90)
    ]
    frame = pd.DataFrame(rows)
    evaluator = LengthEvaluator(frame, name="texts", titles="title")
    metrics = model.evaluate(evaluator, output_path=str(tmp_path))
    result = search_test(str(tmp_path / "model"), frame, titles="title", store=tmp_path / "store")
    expected = {f"texts_{key}": result.fact(key) for key in METRICS}
    assert metrics == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert metrics[evaluator.primary_metric] == result.fact("recall_at_10")
    row = pd.read_csv(tmp_path / "length_evaluation_texts.csv").iloc[0]
    assert row["texts_recall_at_10"] == pytest.approx(result.fact("recall_at_10"))
