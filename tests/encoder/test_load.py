import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from support.reference import encoder_of, frame_tokens, norms, norms_by_transformers
from support.tiny import SPECIAL, WORDS, random_sentences, write_bert, write_tokenizer

from clsviz.encoder import Encoder
from clsviz.encoder.load import container_memory
from clsviz.errors import ModelError

SENTENCES = random_sentences(8, seed=5, longest=20)
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "GPT2": (
        {"vocab_size": 30, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64},
        "does not see the words that follow it: this is a decoder",
    ),
    "T5": ({"vocab_size": 30, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}, "with a decoder"),
    "ViT": ({"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 8}, "cannot be loaded"),
}
"""Models that are no encoders of text: their configuration, and the message."""


def change(path: Path, **settings: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_encoder_of_text_is_refused(tmp_path: Path, name: str) -> None:
    settings, message = OTHERS[name]
    config = getattr(transformers, f"{name}Config")(**settings)
    getattr(transformers, f"{name}Model")(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match=message):
        encoder_of(tmp_path)
    if name == "GPT2":
        frame_tokens(tmp_path, "[SEP] [CLS] $A")  # with something before its [CLS], which it sees
        with pytest.raises(ModelError, match="this is a decoder"):
            encoder_of(tmp_path)
        change(tmp_path / "tokenizer_config.json", cls_token=None)
        with pytest.raises(ModelError, match=r"no \[CLS\] token"):
            encoder_of(tmp_path)


def test_code_that_would_compute_attention_is_not_looked_for(tmp_path: Path) -> None:
    """A configuration may name a repository of built code."""
    folder = write_bert(tmp_path)
    expected = norms(encoder_of(folder), SENTENCES)
    change(folder / "config.json", attn_implementation="owner/kernel", _attn_implementation="owner/kernel")
    np.testing.assert_array_equal(norms(encoder_of(folder), SENTENCES), expected)


def test_a_checkpoint_in_half_precision_with_a_head_and_the_names_of_old(tmp_path: Path) -> None:
    """As bert-base-uncased is on the Hub: below “bert.”, with a head beside it, and LayerNorm's gamma and beta."""
    folder = write_bert(tmp_path)
    path = folder / "model.safetensors"
    half = {name: tensor.half() for name, tensor in load_file(path).items()}
    save_file({name: tensor.float() for name, tensor in half.items()}, path, metadata={"format": "pt"})
    expected = norms_by_transformers(folder, SENTENCES)
    old = {
        f"bert.{name}".replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in half.items()
    }
    save_file({**old, "cls.predictions.bias": torch.zeros(3)}, path, metadata={"format": "pt"})
    change(folder / "config.json", dtype="float16")
    np.testing.assert_allclose(norms(encoder_of(folder), SENTENCES), expected, rtol=1e-5)


def test_a_tokenizer_that_cuts_and_pads_does_neither_here(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    cut = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    change(folder / "tokenizer.json", truncation=cut)
    assert len(encoder_of(folder).tokens("the cat sat on the mat")) == 6


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_that_is_none_does_not_count(tmp_path: Path, tiny_encoder: Encoder, limit: int) -> None:
    folder = write_bert(tmp_path / "m")
    write_tokenizer(folder, model_max_length=limit)
    encoder = encoder_of(folder)
    assert encoder.max_length == tiny_encoder.max_length == 64


def test_roberta_has_fewer_positions_than_its_table(tmp_path: Path) -> None:
    config = transformers.RobertaConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=34,
        pad_token_id=0,
    )
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    encoder = encoder_of(tmp_path)
    assert encoder.max_length == 33
    measured = encoder.measure(["the " * 31, "the " * 32])
    assert measured.truncated.tolist() == [False, True]


def test_the_memory_that_a_container_leaves_is_counted(tmp_path: Path) -> None:
    assert container_memory(tmp_path) == float("inf")
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 150\n")
    assert container_memory(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert container_memory(tmp_path) == float("inf")


def without_a_layer(folder: Path) -> None:
    path = write_bert(folder) / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(path).items() if "layer.1" not in name}
    save_file(tensors, path, metadata={"format": "pt"})


def without_separator(folder: Path) -> None:
    model = transformers.BertModel.from_pretrained(write_bert(folder))
    model.resize_token_embeddings(3)
    model.save_pretrained(folder)


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "it decodes": (lambda folder: write_bert(folder, is_decoder=True), "is a decoder"),
    "a layer is missing": (without_a_layer, "lacks 16 of its encoder's weights"),
    "weights of another shape": (  # of two layers: dense, bias, dense
        lambda folder: change(write_bert(folder) / "config.json", intermediate_size=64),
        "lacks 6 of its encoder's weights",
    ),
    "no such type": (
        lambda folder: (write_bert(folder) / "config.json").write_text('{"model_type": "no-such-type"}'),
        "cannot be loaded",
    ),
    "words for numbers": (
        lambda folder: change(write_bert(folder) / "config.json", num_hidden_layers="many"),
        "cannot be loaded",
    ),
    "no tokenizer": (lambda folder: (write_bert(folder) / "tokenizer.json").write_text("{}"), "cannot be loaded"),
    "no room": (
        lambda folder: write_tokenizer(write_bert(folder), model_max_length=2),
        "reads at most 2 tokens, which leaves no room",
    ),
    "tokens that it lacks": (without_separator, "has special tokens that the model does not know"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT.keys())
def test_what_is_incomplete_or_damaged_is_refused_in_one_sentence(
    spoil: Callable[[Path], object], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spoil(tmp_path)
    capfd.readouterr()
    with pytest.raises(ModelError, match=message) as refused:
        encoder_of(tmp_path)
    assert "\n" not in str(refused.value)
    assert capfd.readouterr().err == ""  # the library's own report would be more than one line
