"""Models that cannot be measured are refused in a sentence; texts are read as they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from clsviz.encoder.encoder import load
from clsviz.errors import CorpusError, ModelError
from clsviz.sources.models import unknown_tokens

from .conftest import GPT, WEIGHTS, Build, configure, reweigh, weights, write_model, write_tokenizer

DENSE = "encoder.layer.1.output.dense.weight"


REFUSALS: dict[str, Callable[[Path], Any]] = {
    "has no .CLS. token": lambda folder: write_tokenizer(folder, frame="$A", cls_token=None),
    "does not begin": lambda folder: write_tokenizer(folder, frame="$A [SEP] [CLS]"),
    "the same for every sentence": lambda folder: write_model(folder, "GPT2", **GPT),
    "not supported": lambda folder: write_model(folder, "Canine"),
    "code that comes": lambda folder: configure(folder, model_type="odd", auto_map={}),
    "“odd”, unknown": lambda folder: configure(folder, model_type="odd"),
    "lacks 1 of its weights": lambda folder: reweigh(folder, lambda w: w.pop(DENSE)),
    "wrong shape": lambda folder: configure(folder, intermediate_size=48),
    "formats that may run code": lambda folder: (folder / WEIGHTS).rename(folder / "pytorch.bin"),
    "1,000 layers": lambda folder: configure(folder, num_hidden_layers=1000),
    "GB of memory": lambda folder: configure(folder, intermediate_size=10**10),
    "at most 2 tokens": lambda folder: write_tokenizer(folder, model_max_length=2),
    "pipeline": lambda folder: (folder / "modules.json").write_text("{"),
    "not finite": lambda folder: reweigh(folder, lambda w: w[DENSE].fill_(torch.nan)),
}


@pytest.mark.parametrize("words", REFUSALS)
def test_models_that_cannot_be_measured_are_refused(words: str, bert: Path) -> None:
    REFUSALS[words](bert)
    with pytest.raises(ModelError, match=words):
        load(weights(bert)).run(["the cat"], "norms")


def test_tokens_beyond_the_vocabulary_are_refused(tmp_path: Path) -> None:
    encoder = load(write_model(tmp_path, vocab_size=6))
    with pytest.raises(ModelError, match="token 7, but the model knows only 6"):
        encoder.run(["the cat"], "norms")


def test_a_missing_pooler_is_only_absent(bert: Path) -> None:
    reweigh(bert, lambda w: [w.pop(name) for name in list(w) if name.startswith("pooler")])
    encoder = load(weights(bert))
    assert encoder.run(["the cat"], "vectors")["pooler"].shape == (1, 0)


def test_weights_of_wrapped_models_are_read(bert: Path) -> None:
    expected = load(weights(bert)).run(["the cat"], "norms")["cls"]

    def wrap(tensors: dict[str, torch.Tensor]) -> None:
        for name in list(tensors):
            tensors[f"_orig_mod.module.{name}"] = tensors.pop(name)

    reweigh(other := bert.rename(bert.with_name("wrapped")), wrap)
    np.testing.assert_array_equal(load(weights(other)).run(["the cat"], "norms")["cls"], expected)


def test_long_texts_are_cut_at_the_side_of_the_tokenizer(bert: Path) -> None:
    write_tokenizer(bert, truncation_side="left", model_max_length=5)
    tokenizer = load(weights(bert)).tokenizer
    for text in ("the cat sees a dog .", "the cat", ""):
        expected = transformers.AutoTokenizer.from_pretrained(bert)(text, truncation=True)
        ids = tokenizer.with_special_tokens(tokenizer.ids([text])[0])
        assert ids == expected["input_ids"]


def test_the_share_of_unknown_tokens_is_named(bert: Path) -> None:
    texts = ("the cat sees", "the zebra", "zebra zebra", "")
    (caveat,) = unknown_tokens(weights(bert), texts)
    assert caveat.startswith("43% of the tokens, and all of 33% of the texts are unknown to")
    assert unknown_tokens(weights(bert), ["the cat " * 50 + "zebra"]) == []
    write_tokenizer(bert, is_bytes=True)
    assert unknown_tokens(weights(bert), texts) == []


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


def test_habits_of_a_tokenizer_change_nothing(bert: Path, texts: list[str]) -> None:
    expected = load(weights(bert)).run(texts, "norms")["cls"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert, padding_side="left")
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=70)
    tokenizer.save_pretrained(bert)
    other = bert.rename(bert.with_name("other"))
    np.testing.assert_allclose(load(weights(other)).run(texts, "norms")["cls"], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "types"), [("the [CLS] cat [SEP]", [0, 0, 0, 0, 0, 0]), ("the cat", [1, 1, 1, 0])]
)
def test_spelt_special_tokens_and_token_types_are_heeded(text, types, bert) -> None:
    if any(types):
        inputs = ["input_ids", "token_type_ids", "attention_mask"]
        write_tokenizer(bert, frame="[CLS]:1 $A:1 [SEP]:0", model_input_names=inputs)
    tokens = transformers.AutoTokenizer.from_pretrained(bert)(text, return_tensors="pt")
    assert tokens.get("token_type_ids", torch.zeros(1, len(types))).tolist() == [types]
    state = transformers.AutoModel.from_pretrained(bert)(**tokens).last_hidden_state[0, 0]
    arrays = load(weights(bert)).run([text], "norms")
    assert arrays["n_tokens"] == [len(types) - 2]
    np.testing.assert_allclose(arrays["cls"][0, -1], state.detach().norm(), rtol=1e-6)
