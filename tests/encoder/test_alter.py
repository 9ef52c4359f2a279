"""Altered sentences, compared with transformers’ own forward pass over the same token and position ids."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from support.reference import encoder_of, frame_tokens
from support.tiny import SPECIAL, WORDS, random_sentences, write_bert, write_model

from clsviz.encoder import Encoder
from clsviz.encoder.load import load
from clsviz.encoder.tokenize import Tokens
from clsviz.encoder.verify import OwnPass
from clsviz.errors import AlterationError
from clsviz.measurements import Kind
from clsviz.settings import Alteration, Pooling
from clsviz.sources import models

SENTENCES = random_sentences(12, seed=3)
OF_TOKENS = [Alteration.SHUFFLED, Alteration.RANDOM, Alteration.REPEATED]
ORDINARY = set(range(len(SPECIAL), len(SPECIAL) + len(WORDS)))


def rows(tokens: Tokens) -> list[list[int]]:
    distinct = np.split(tokens.ids, tokens.starts[1:])
    return [distinct[i].tolist() for i in tokens.order]


def own_pass(folder: Path, ids: list[list[int]], position: int | None = None) -> list[list[np.ndarray]]:
    """[CLS] after every layer of each sentence by the model's own code, one at a time; all at `position`, if given."""
    model: Any = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    found = []
    for row in ids:
        positions = {} if position is None else {"position_ids": torch.full((1, len(row)), position)}
        with torch.inference_mode():
            output = model(input_ids=torch.tensor([row]), output_hidden_states=True, **positions)
        found.append([state[0, 0].numpy() for state in output.hidden_states])
    return found


def assert_same(encoder: Encoder, expected: list[list[np.ndarray]]) -> None:
    """That it measures these vectors, by both of its forward passes and part by part."""
    layers = encoder.cls_by_layer(SENTENCES)
    (streamed,) = encoder.stream([SENTENCES], kind=Kind.VECTORS)
    for layer in range(encoder.n_layers + 1):
        of_layer = np.stack([vectors[layer] for vectors in expected])
        assert_allclose(layers[layer], of_layer, rtol=1e-4, atol=2e-5)
        assert_allclose(streamed.of(Pooling.CLS, layer), of_layer, rtol=1e-2, atol=5e-3)  # 16 bits


@pytest.fixture(scope="module")
def natural(tiny_encoder: Encoder) -> list[list[int]]:
    return rows(tiny_encoder.tokenize(SENTENCES))


@pytest.mark.parametrize("alteration", OF_TOKENS)
def test_tokens_are_changed_and_their_number_is_not(
    alteration: Alteration, tiny_encoder: Encoder, tiny_folder: Path, natural: list[list[int]]
) -> None:
    altered = tiny_encoder.altered(alteration, seed=0)
    changed = rows(altered.tokenize(SENTENCES))
    assert [len(row) for row in changed] == [len(row) for row in natural]
    assert changed != natural
    if alteration is Alteration.SHUFFLED:
        assert [sorted(row) for row in changed] == [sorted(row) for row in natural]
    else:
        assert {token for row in changed for token in row} <= ORDINARY
    if alteration is Alteration.REPEATED:
        assert all(len(set(row)) == 1 for row in changed)
        assert len({row[0] for row in changed}) > 1  # another token in each sentence
    assert_same(altered, own_pass(tiny_folder, [[2, *row, 3] for row in changed]))
    np.testing.assert_array_equal(altered.vectors(SENTENCES).n_tokens, tiny_encoder.vectors(SENTENCES).n_tokens)


@pytest.mark.parametrize("alteration", OF_TOKENS)
def test_what_is_drawn_depends_on_the_sentence_and_the_seed_alone(
    alteration: Alteration, tiny_encoder: Encoder
) -> None:
    whole = rows(tiny_encoder.altered(alteration, seed=0).tokenize(SENTENCES))
    altered = tiny_encoder.altered(alteration, seed=0)
    assert rows(altered.tokenize(SENTENCES[5:])) + rows(altered.tokenize(SENTENCES[:5])) == whole[5:] + whole[:5]
    assert rows(tiny_encoder.altered(alteration, seed=1).tokenize(SENTENCES)) != whole


def test_without_a_separator(tiny_encoder: Encoder, tiny_folder: Path, natural: list[list[int]]) -> None:
    altered = tiny_encoder.altered(Alteration.NO_SEPARATOR, seed=0)
    assert altered.framed_tokens("the cat") == tiny_encoder.framed_tokens("the cat")[:-1]
    assert_same(altered, own_pass(tiny_folder, [[2, *row] for row in natural]))


@pytest.mark.parametrize("model_type", ["bert", "roberta", "xlm-roberta", "electra", "distilbert", "albert"])
def test_with_one_position(model_type: str, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", model_type)
    first = 1 if "roberta" in model_type else 0
    encoder = encoder_of(folder)
    altered = encoder.altered(Alteration.ONE_POSITION, seed=0)
    ids = [[2, *row, 3] for row in rows(encoder.tokenize(SENTENCES))]
    assert_same(altered, own_pass(folder, ids, position=first))
    assert_same(encoder, own_pass(folder, ids))  # which shares all but the positions, and is what it was


def test_the_models_own_forward_pass_takes_one_position_too(tiny_folder: Path, natural: list[list[int]]) -> None:
    loaded = load(models.find(str(tiny_folder)))
    plain = OwnPass(loaded, torch.device("cpu"))
    altered = plain.altered(loaded.tokenizer.frame, one_position=True)
    row = [2, *natural[0], 3]
    for forward, position in ((altered, 0), (plain, None)):
        with torch.inference_mode():
            *layers, _ = forward(torch.tensor([row]), [len(row)])
        (expected,) = own_pass(tiny_folder, [row], position)
        assert_allclose(torch.stack(layers)[:, 0], np.stack(expected), rtol=1e-4, atol=2e-5)


def test_a_model_with_its_own_forward_pass_is_altered_too(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "deberta-v2")
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason
    natural = rows(encoder.tokenize(SENTENCES))
    assert_same(encoder.altered(Alteration.NO_SEPARATOR, seed=0), own_pass(folder, [[2, *row] for row in natural]))
    changed = encoder.altered(Alteration.SHUFFLED, seed=0)
    assert_same(changed, own_pass(folder, [[2, *row, 3] for row in rows(changed.tokenize(SENTENCES))]))


@pytest.mark.parametrize("model_type", ["mpnet", "deberta-v2", "modernbert"])
def test_positions_that_are_no_vectors_cannot_be_taken_away(model_type: str, tmp_path: Path) -> None:
    encoder = encoder_of(write_model(tmp_path / "model", model_type))
    with pytest.raises(AlterationError, match="does not know the positions of tokens from position vectors alone"):
        encoder.altered(Alteration.ONE_POSITION, seed=0)


def test_a_model_that_tells_the_order_in_another_way_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = encoder_of(write_model(tmp_path / "model", "mpnet"))
    monkeypatch.setattr("clsviz.encoder.fast_pass.other_positions", lambda model: [])
    with pytest.raises(AlterationError, match="does not know the positions"):
        encoder.altered(Alteration.ONE_POSITION, seed=0)


def test_a_tokenizer_without_a_separator_has_none_to_leave_out(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    frame_tokens(folder, "[CLS] $A")
    with pytest.raises(AlterationError, match=r"puts nothing but \[CLS\] around a sentence"):
        encoder_of(folder).altered(Alteration.NO_SEPARATOR, seed=0)
