"""Models that cannot be measured are refused in a sentence; texts are read as they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from clsviz.encoder.encoder import load
from clsviz.errors import CorpusError, ModelError

from .conftest import Build, weights, write_model, write_tokenizer


def configure(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def reweigh(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    change(tensors)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def write_gpt2(folder: Path) -> None:
    write_model(folder, "GPT2", n_layer=2, n_embd=16, n_head=2, n_positions=64)


REFUSALS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no [CLS]": (lambda folder: write_tokenizer(folder, frame="$A", cls_token=None), "no .CLS."),
    "[CLS] last": (lambda folder: write_tokenizer(folder, frame="$A [SEP] [CLS]"), "begin"),
    "a decoder that does not say so": (write_gpt2, "the same for every sentence"),
    "no vocabulary": (lambda folder: write_model(folder, "Canine"), "not supported"),
    "code": (lambda folder: configure(folder, model_type="odd", auto_map={}), "code that comes"),
    "unknown": (lambda folder: configure(folder, model_type="odd"), "“odd”"),
    "lacking weights": (
        lambda folder: reweigh(folder, lambda w: w.pop("encoder.layer.1.output.dense.weight")),
        "lacks 1 of its weights",
    ),
    "other shapes": (lambda folder: configure(folder, intermediate_size=48), "wrong shape"),
    "pickled": (
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
        "safetensors",
    ),
    "cut": (lambda folder: (folder / "model.safetensors").write_bytes(b"cut"), "cannot be loaded"),
    "no configuration": (lambda folder: (folder / "config.json").unlink(), "cannot be loaded"),
    "too large": (lambda folder: configure(folder, intermediate_size=10**10), "GB of memory"),
    "no room": (lambda folder: write_tokenizer(folder, model_max_length=2), "at most 2 tokens"),
    "pipeline": (lambda folder: (folder / "modules.json").write_text("{"), "pipeline"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_models_that_cannot_be_measured_are_refused(case: str, bert: Path) -> None:
    change, words = REFUSALS[case]
    change(bert)
    with pytest.raises(ModelError, match=words):
        load(weights(bert))


def test_tokens_beyond_the_vocabulary_are_refused(tmp_path: Path) -> None:
    encoder = load(write_model(tmp_path, vocab_size=6))
    with pytest.raises(ModelError, match="token 7, but the model knows only 6"):
        encoder.run(["the cat"], "norms")


def test_norms_that_are_not_finite_are_refused(bert: Path) -> None:
    reweigh(bert, lambda w: w["encoder.layer.1.output.dense.weight"].fill_(torch.nan))
    with pytest.raises(ModelError, match="not finite"):
        load(weights(bert)).run(["the cat"], "norms")


def test_a_missing_pooler_is_only_absent(bert: Path) -> None:
    reweigh(bert, lambda w: [w.pop(name) for name in list(w) if name.startswith("pooler")])
    encoder = load(weights(bert))
    assert encoder.run(["the cat"], "vectors")["pooler"].shape == (1, 0)


def test_a_tokenizer_may_drop_latin_letters(bert: Path) -> None:
    path = bert / "tokenizer.json"
    drop = {"type": "Replace", "pattern": {"Regex": "[a-z]"}, "content": ""}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": drop}))
    assert load(weights(bert)).run(["the cat.", "."], "norms")["n_tokens"].tolist() == [1, 1]


@pytest.mark.parametrize("sentence", ["half \ud83d", 3, None])
def test_sentences_that_are_not_text_are_refused(sentence: Any, build: Build) -> None:
    with pytest.raises(CorpusError, match=r"surrogate|not a text"):
        load(build("Bert")).run(["the cat", sentence], "norms")


def test_white_space_is_part_of_a_sentence(bert: Path) -> None:
    write_tokenizer(bert, is_bytes=True)
    n_tokens = load(weights(bert)).run(["a b", "a  b", " a b\n", ""], "norms")["n_tokens"]
    assert n_tokens.tolist() == [3, 4, 5, 0]


def test_a_spelt_special_token_is_a_token_of_the_sentence(bert: Path) -> None:
    encoder = load(weights(bert))
    arrays = encoder.run(["the [CLS] cat [SEP]"], "norms")
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
    model = transformers.AutoModel.from_pretrained(bert)
    states = model(**tokenizer("the [CLS] cat [SEP]", return_tensors="pt")).last_hidden_state
    assert arrays["n_tokens"] == [4]
    np.testing.assert_allclose(arrays["cls"][0, -1], states[0, 0].detach().norm(), rtol=1e-6)


def test_habits_of_a_tokenizer_change_nothing(bert: Path, texts: list[str]) -> None:
    expected = load(weights(bert)).run(texts, "norms")["cls"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert, padding_side="left")
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=70)
    tokenizer.save_pretrained(bert)
    other = bert.rename(bert.with_name("other"))
    np.testing.assert_allclose(load(weights(other)).run(texts, "norms")["cls"], expected, rtol=1e-6)


def test_token_types_of_a_tokenizer_are_heeded(bert: Path) -> None:
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    write_tokenizer(bert, frame="[CLS]:1 $A:1 [SEP]:0", model_input_names=inputs)
    encoder = load(weights(bert))
    tokens = transformers.AutoTokenizer.from_pretrained(bert)("the cat", return_tensors="pt")
    assert tokens["token_type_ids"].tolist() == [[1, 1, 1, 0]]
    state = transformers.AutoModel.from_pretrained(bert)(**tokens).last_hidden_state
    norms = encoder.run(["the cat"], "norms")["cls"]
    np.testing.assert_allclose(norms[0, -1], state[0, 0].detach().norm(), rtol=1e-6)
