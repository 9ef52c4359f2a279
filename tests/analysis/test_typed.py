"""Typed and growing sentences, and one on its way through a model, against the encoder's measurements and numpy."""

import io
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.tiny import random_sentences, write_model

from clsviz import analysis, export, words
from clsviz.analysis.typed import MOST_WORDS, Variant
from clsviz.encoder import Encoder
from clsviz.experiment import View
from clsviz.settings import Pooling, Unit
from clsviz.sources import models

SENTENCES = ["the cat sat on the mat .", "a big dog ran under the old tree", "the cat sat"]


def test_the_tables_hold_what_is_measured(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    tokens = analysis.typed.token_table(typed)
    assert tokens[tokens["sentence"] == 3]["token"].tolist() == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    layers = analysis.typed.layer_table(typed, None)
    np.testing.assert_allclose(
        layers.pivot(index="sentence", columns="layer", values="norm"),
        tiny_encoder.measure(SENTENCES).cls_norms,
        rtol=1e-5,
    )
    pooler = analysis.typed.pooler_table(typed)
    assert pooler.columns.tolist() == ["sentence", "cls", "dense", "pooler", "near_one"]
    np.testing.assert_allclose(pooler["pooler"], tiny_encoder.measure(SENTENCES).pooler_norms[:, 0], rtol=1e-5)


def test_length_and_norm_are_those_of_the_view(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    view = View(layer=1, pooling=Pooling.MEAN, unit=Unit.WORDS)
    vectors = tiny_encoder.vectors([SENTENCES[1]]).of(Pooling.MEAN, 1)
    assert typed.length(1, view) == 8
    assert typed.norm(1, view) == pytest.approx(float(np.linalg.norm(vectors[0])), rel=1e-5)
    assert typed.has(view)
    assert not typed.has(View(layer=3))


def test_pairs_are_ranked_among_those_of_the_corpus(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    corpus = tiny_encoder.vectors(random_sentences(30, seed=2))
    table = analysis.typed.similarity_table(typed, corpus, View())
    assert table[["first", "second"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 3]]
    assert table["second_sentence"].tolist() == [SENTENCES[1], SENTENCES[2], SENTENCES[2]]
    assert table["first_sentence"].tolist() == [SENTENCES[0], SENTENCES[0], SENTENCES[1]]
    of = corpus.of(Pooling.CLS, None).astype(float)
    of /= np.linalg.norm(of, axis=1, keepdims=True)
    pairs = [float(of[a] @ of[b]) for a in range(30) for b in range(a)]
    mine = typed.vectors.of(Pooling.CLS, None).astype(float)
    mine /= np.linalg.norm(mine, axis=1, keepdims=True)
    np.testing.assert_allclose(table["similarity"], [mine[0] @ mine[1], mine[0] @ mine[2], mine[1] @ mine[2]])
    expected = [100 * np.mean([pair < similarity for pair in pairs]) for similarity in table["similarity"]]
    np.testing.assert_allclose(table["percentile"], expected)


FOX = "The quick  brown fox\tjumps."


def test_a_sentence_grows_by_a_word_at_a_time_as_it_was_typed() -> None:
    expected = ["The", "The quick", "The quick  brown", "The quick  brown fox", "The quick  brown fox\tjumps."]
    assert analysis.typed.grown(FOX, Variant.TYPED) == expected
    assert analysis.typed.grown(f"  {FOX} \n", Variant.TYPED) == expected
    assert analysis.typed.grown("", Variant.TYPED) == []


@pytest.mark.parametrize("seed", range(20))
def test_shuffled_words_are_the_same_ones_in_another_order(seed: int) -> None:
    shuffled = analysis.typed.grown("one two three", Variant.SHUFFLED, seed=seed)
    assert sorted(shuffled[-1].split()) == ["one", "three", "two"]
    assert shuffled[-1] != "one two three"
    assert [len(text.split()) for text in shuffled] == [1, 2, 3]
    assert all(longer.startswith(f"{text} ") for text, longer in pairwise(shuffled))
    assert shuffled == analysis.typed.grown("one two three", Variant.SHUFFLED, seed=seed)


def test_words_of_which_there_is_one_order_are_left_in_it() -> None:
    assert analysis.typed.grown("so so", Variant.SHUFFLED) == ["so", "so so"]
    assert analysis.typed.grown("so", Variant.SHUFFLED) == ["so"]


def test_a_word_is_repeated_as_often_as_there_are_words() -> None:
    assert analysis.typed.grown("a b c", Variant.REPEATED) == ["a", "a a", "a a a"]
    assert analysis.typed.grown("a b c", Variant.REPEATED, word="c") == ["c", "c c", "c c c"]


@pytest.mark.parametrize("variant", Variant)
def test_long_sentences_are_grown_for_a_while(variant: Variant) -> None:
    texts = analysis.typed.grown(" ".join(f"w{index}" for index in range(200)), variant)
    assert len(texts) == MOST_WORDS == len(texts[-1].split())
    words = {int(word[1:]) for word in texts[-1].split()}
    assert max(words) < MOST_WORDS


def test_the_corpus_beside_a_growing_sentence_is_that_of_its_lengths() -> None:
    rng = np.random.default_rng(0)
    lengths, norms = rng.integers(1, 80, 3000, np.int32), rng.normal(8, 1, 3000)
    corpus = analysis.CorpusContext(lengths, norms, None, {})
    band = corpus.length_band(12)
    assert band is not None
    assert band["last"].max() <= 15
    assert 12 in band["length"].round().tolist()
    for row in band.itertuples():
        inside = np.sort(norms[(lengths >= row.first) & (lengths <= row.last) & (lengths <= 14)])
        assert row.n == len(inside)
        np.testing.assert_allclose([row.lower, row.median, row.upper], np.percentile(inside, [25, 50, 75]))
    assert replace(corpus, lengths=lengths + 100).length_band(12) is None
    assert replace(corpus, lengths=lengths[:0], norms=norms[:0]).length_band(12) is None
    assert replace(corpus, norms=None).length_band(12) is None


def test_quartiles_of_every_layer() -> None:
    norms = np.random.default_rng(0).normal(8, 1, (101, 3)).astype(np.float32)
    band = analysis.typed.layer_band(norms, unknown=[1])
    assert band is not None
    assert band["layer"].tolist() == [0, 1, 2]
    for layer in (0, 2):  # of 101 values the quartiles are values themselves
        ordered = np.sort(norms[:, layer])
        np.testing.assert_allclose(band.loc[layer, ["lower", "median", "upper"]].astype(float), ordered[[25, 50, 75]])
    assert band.loc[1, ["lower", "median", "upper"]].isna().all()
    assert analysis.typed.layer_band(norms[:2]) is None


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = write_model(tmp_path_factory.mktemp("models"), "albert")
    return Encoder(models.find(str(folder)), device="cpu")


def test_the_table_has_one_row_per_dimension_and_survives_as_a_file(albert: Encoder) -> None:
    cls, _ = albert.cls_and_pooler(["the cat"])
    check = analysis.typed.check(albert, "the cat")
    table = analysis.typed.dimension_table(albert.anatomy, check)
    assert table.columns.tolist() == ["component", "input_embedding", "cls", "expected", "pooler"]
    read = pd.read_csv(io.BytesIO(export.to_csv(table)))
    assert read["input_embedding"].notna().sum() == 8  # ALBERT's words are narrower than its layers
    np.testing.assert_allclose(read["pooler"], read["expected"], atol=1e-6)
    np.testing.assert_allclose(read["cls"], cls[0], rtol=1e-6)
    stored = pq.read_table(io.BytesIO(export.to_parquet(table, {"model": "albert"})))
    assert json.loads(stored.schema.metadata[b"clsviz"]) == {"model": "albert"}


def test_one_sentence_is_measured_as_the_encoder_measures_it(tiny_encoder: Encoder) -> None:
    check = analysis.typed.check(tiny_encoder, "the cat sat")
    measured = tiny_encoder.measure(["the cat sat"])
    assert [token for token, _ in check.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    np.testing.assert_allclose([of.norm for of in check.layers], measured.cls_norms[0], rtol=1e-6)
    assert np.linalg.norm(check.pooler) == pytest.approx(float(measured.pooler_norms[0, 0]), rel=1e-5)
    error = analysis.typed.largest_error(tiny_encoder.anatomy, check)
    assert error is not None
    assert error < analysis.typed.TOLERANCE


def test_the_norm_follows_from_the_direction_where_a_layer_norm_made_the_vector(tiny_encoder: Encoder) -> None:
    for sentence in ("the cat sat", "a", "the big old red cat ran home very quickly"):
        check = analysis.typed.check(tiny_encoder, sentence)
        table = analysis.typed.norm_table(check)
        np.testing.assert_allclose(table["from_direction"], tiny_encoder.measure([sentence]).cls_norms[0], rtol=1e-5)
        assert np.abs(table["difference"]).max() < 1e-4
        is_right, said = words.anatomy.norm_verdict(check)
        assert is_right
        assert said == "Yes: recomputed from the direction alone, it differs by less than 0.001%."


def test_it_is_said_where_the_norm_does_not_follow(minilm_encoder: Encoder) -> None:
    """The last layer of the built-in model has no gain in three dimensions, which hold much before it."""
    check = analysis.typed.check(minilm_encoder, "Sinan loves a beautiful day")
    assert [of.n_gainless for of in check.layers] == [0, 0, 0, 0, 0, 0, 3]
    is_right, said = words.anatomy.norm_verdict(check)
    assert is_right is False
    off = 100 * (check.layers[6].from_direction / check.layers[6].norm - 1)
    assert said.startswith("Yes, after layers 0 to 5: recomputed from the direction alone")
    assert f"Not after layer 6, where it differs by {off:.2g}%: the LayerNorm has no gain in 3 dimensions" in said


def test_layers_that_do_not_end_with_a_layer_norm_are_not_checked(tmp_path: Path) -> None:
    """ModernBERT normalises before its blocks, and with an ε that is not small beside these tiny vectors."""
    encoder = Encoder(models.find(str(write_model(tmp_path / "modernbert", "modernbert"))), device="cpu")
    check = analysis.typed.check(encoder, "the cat")
    assert np.isfinite([of.norm for of in check.layers]).all()
    checked = [of.layer for of in check.layers if np.isfinite(of.from_direction)]
    assert checked == [0, 3]
    assert "Not after layer 0, where it differs by 0.00" in words.anatomy.norm_verdict(check)[1]
    none = replace(check, layers=[of for of in check.layers if of.layer not in checked])
    assert words.anatomy.norm_verdict(none)[0] is None
