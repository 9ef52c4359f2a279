"""Models on the Hub, measured as from their folders."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
import transformers
from huggingface_hub import constants
from support.hub import Hub
from support.hub_models import (
    SENTENCES,
    WEIGHTS,
    change,
    fetched,
    fingerprint,
    norms,
    refusal,
    write_sentence_transformer,
)
from support.tiny import write_model

from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.progress import Progress
from clsviz.sources import models
from clsviz.sources.models import NotDownloadedError, Weights

pytestmark = pytest.mark.usefixtures("quickly")


def test_a_sentencepiece_model_is_enough_of_a_tokenizer(hub: Hub, tmp_path: Path) -> None:
    """As DeBERTa-v3 has it: without a tokenizer.json."""
    program = """
import sys, sentencepiece
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(sys.argv[2:] * 20), model_prefix=sys.argv[1], vocab_size=24, hard_vocab_limit=False,
    pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
)
"""
    pytest.importorskip("sentencepiece")
    folder = write_model(tmp_path / "model", "deberta-v2")
    for path in folder.glob("tokenizer*"):
        path.unlink()
    # In another process: it would not be imported here before transformers does so.
    subprocess.run([sys.executable, "-c", program, folder / "spm", *SENTENCES], check=True, capture_output=True)
    (folder / "spm.vocab").unlink()
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    hub.add("owner/pieces", folder)
    encoder = Encoder(models.fetch("owner/pieces"), device="cpu")
    assert "".join(encoder.tokens(SENTENCES[1])).replace("▁", " ").strip() == SENTENCES[1]
    here = Encoder(models.find(str(folder)), device="cpu").measure(SENTENCES).cls_norms
    np.testing.assert_array_equal(encoder.measure(SENTENCES).cls_norms, here)


@pytest.mark.parametrize("below", ["", "0_Transformer"])
def test_of_a_sentence_transformer_the_transformer_is_taken(
    below: str, hub: Hub, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"sentences/of{below}"
    commit = hub.add(name, write_sentence_transformer(tmp_path / "st", tiny_folder, below))
    assert models.download_megabytes(name, Progress()) == 1
    assert not hub.bytes_sent(f"*{WEIGHTS}")
    with pytest.raises(NotDownloadedError):
        models.find(name)
    weights = models.fetch(name)
    assert (weights.commit, weights.fingerprint) == (commit, fingerprint(tiny_folder))
    assert weights.folder.name == (below or commit)
    assert hub.bytes_sent(f"*{WEIGHTS}") == (tiny_folder / WEIGHTS).stat().st_size
    np.testing.assert_array_equal(norms(weights), norms(models.find(str(tiny_folder))))
    assert models.find(str(tmp_path / "st")).fingerprint == weights.fingerprint

    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for again in (name, f"{name}@main", f"{name}@{commit}"):
        assert models.fetch(again).folder == weights.folder
    assert not hub.requests


@pytest.mark.parametrize("content", ["{", "[1]", '{"path": "0_T"}', '[{"type": "x.Transformer", "path": "../.."}]'])
def test_a_damaged_list_of_modules_is_passed_over(content: str, hub: Hub, folder: Path) -> None:
    (folder / "modules.json").write_text(content)
    hub.add("owner/modules", folder)
    assert models.fetch("owner/modules").fingerprint == fingerprint(folder)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("tokenizer*", "has no tokenizer"),
        ("config.json", "has no config.json"),
        (WEIGHTS, "no model.safetensors"),
        ("pickled", "safetensors format. Other formats can run code when loaded"),
    ],
)
def test_what_is_missing_or_pickled_is_said_before_anything_is_fetched(
    missing: str, message: str, hub: Hub, folder: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in folder.glob(missing.replace("pickled", WEIGHTS)):
        path.unlink()
    if missing == "pickled":
        torch.save({}, folder / "pytorch_model.bin")
        (folder / "modules.json").write_text("[]")
    hub.add("owner/lacking", folder)
    monkeypatch.chdir(tiny_folder)  # a model, but not the one that is asked for
    assert message in refusal("owner/lacking")
    assert not fetched(hub)
    if missing == "pickled":
        assert models.fetch("untrained:owner/lacking").untrained
        assert not fetched(hub, "*.bin")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"architectures": ["BertLMHeadModel"], "is_decoder": True}, "is a decoder"),
        ({"architectures": ["GPT2LMHeadModel"]}, "is a decoder"),
        ({"architectures": ["LlamaForCausalLM"]}, "is a decoder"),
        ({"is_encoder_decoder": True}, "is an encoder with a decoder"),
        ({"architectures": ["T5ForConditionalGeneration"]}, "is an encoder with a decoder"),
    ],
)
def test_a_decoder_is_refused_before_its_weights_are_fetched(
    settings: dict[str, object], message: str, hub: Hub, folder: Path
) -> None:
    change(folder / "config.json", **settings)
    hub.add("owner/decoder", folder)
    for name in ("owner/decoder", "untrained:owner/decoder"):
        assert message in refusal(name)
    assert hub.bytes_sent("*config.json")
    assert not fetched(hub, WEIGHTS)


@pytest.mark.parametrize("architecture", ["XLNetLMHeadModel", "FlaubertWithLMHeadModel", "BertForMaskedLM"])
def test_an_encoder_is_not_taken_for_a_decoder(architecture: str, hub: Hub, folder: Path) -> None:
    change(folder / "config.json", architectures=[architecture])
    hub.add("owner/encoder", folder)
    assert models.fetch("owner/encoder").fingerprint == fingerprint(folder)


def refused_when_loaded(weights: Weights) -> str:
    with pytest.raises(ModelError) as refused:
        Encoder(weights, device="cpu")
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith(weights.name)
    return str(refused.value)


@pytest.mark.parametrize("model_type", ["bert", "my_bert"])
@pytest.mark.parametrize("elsewhere", ["", "owner/code--"])
def test_code_that_comes_with_a_model_never_runs(
    model_type: str, elsewhere: str, hub: Hub, folder: Path, tmp_path: Path
) -> None:
    expected = norms(models.find(str(folder)))
    trace = tmp_path / "it-ran"
    for path in (folder, tmp_path / "code"):
        path.mkdir(exist_ok=True)
        for name in ("configuring", "modeling", "tokenizing"):
            (path / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')\n")
    hub.add("owner/code", tmp_path / "code")
    classes = {"AutoConfig": f"{elsewhere}configuring.Config", "AutoModel": f"{elsewhere}modeling.Model"}
    change(folder / "config.json", model_type=model_type, auto_map=classes)
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [f"{elsewhere}tokenizing.Tokenizer", None]})
    hub.add("owner/custom", folder)
    weights = models.fetch("owner/custom")
    if model_type == "bert":
        np.testing.assert_array_equal(norms(weights), expected)
    else:
        assert "needs code that comes with it" in refused_when_loaded(weights)
    assert not trace.exists()
    assert not fetched(hub, "*.py")
    assert not list(tmp_path.glob("cache/**/*.py"))


def test_too_little_memory_is_said_before_the_weights_are_read(
    hub: Hub, large_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/memory", large_folder)
    weights = models.fetch("owner/memory")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the weights are read")

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", read)
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: SimpleNamespace(available=(large_folder / WEIGHTS).stat().st_size)
    )
    with pytest.raises(ModelError, match=r"memory needs about 0\.0 GB of memory, and 0\.0 GB are free") as refused:
        Encoder(weights, device="cpu")
    assert "Close other programs" in str(refused.value)
    with pytest.raises(ModelError, match=r"untrained memory needs about"):
        Encoder(models.fetch("untrained:owner/memory"), device="cpu")


def test_an_untrained_model_of_the_hub_fetches_no_weights(hub: Hub, large_folder: Path) -> None:
    commit = hub.add("owner/control", large_folder)
    assert models.download_megabytes("untrained:owner/control", Progress()) == 1
    weights = models.fetch("untrained:owner/control")
    assert weights.commit == commit
    assert weights.pinned == f"untrained:owner/control@{commit}"
    assert weights.fingerprint == fingerprint(large_folder, "untrained:")
    control = norms(weights)
    np.testing.assert_array_equal(control, norms(models.find(f"untrained:{large_folder}")))
    assert not fetched(hub, WEIGHTS)
    trained = models.fetch("owner/control")
    assert trained.fingerprint == fingerprint(large_folder) != weights.fingerprint
    assert not np.isclose(norms(trained), control).any()
    hub.requests.clear()
    assert models.find("untrained:owner/control") == weights
    assert not hub.requests
