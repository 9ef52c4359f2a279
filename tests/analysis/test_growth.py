"""Sentences that are grown, compared and looked up."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from support.tiny import random_sentences

from clsviz import analysis, words
from clsviz.analysis.typed import MOST_WORDS, Variant
from clsviz.encoder import Encoder
from clsviz.errors import SettingError
from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.sources import models
from clsviz.statistics import nearest, percentiles_among_pairs, similarities, typical_similarity

FOX = "The quick  brown fox\tjumps."


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """By its definition, one component after another."""
    product = math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    lengths = (math.sqrt(math.fsum(float(x) ** 2 for x in vector)) for vector in (a, b))
    return product / math.prod(lengths)


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


def test_another_seed_shuffles_otherwise() -> None:
    text = " ".join(map(str, range(30)))
    assert (
        analysis.typed.grown(text, Variant.SHUFFLED, seed=1)[-1]
        != analysis.typed.grown(text, Variant.SHUFFLED, seed=2)[-1]
    )


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


def lines(**norms: list[float]) -> pd.DataFrame:
    rows = [(name, n, norm) for name, values in norms.items() for n, norm in enumerate(values, 1)]
    return pd.DataFrame(rows, columns=["variant", "n_words", "norm"])


def test_what_growth_shows_is_said_with_its_numbers() -> None:
    said = words.growth.growth_said(lines(typed=[7, 9, 6.5, 8], shuffled=[7, 7, 7, 7.25]))
    assert said == (
        "As typed, the norm is 7.0000 after the first word and 8.0000 after all 4, and stays between 6.5000 and 9.0000 "
        "along the way. With shuffled, it ends at 7.2500."
    )
    still = words.growth.growth_said(lines(typed=[7, 7.002], shuffled=[7, 7.004]))
    assert still.endswith("hardly any change: all of these norms lie within 0.0040 of one another.")
    assert "only one word" in words.growth.growth_said(lines(typed=[7], shuffled=[7]))
    assert words.growth.growth_said(lines()) == ""


def test_the_corpus_beside_a_growing_sentence_is_that_of_its_lengths() -> None:
    rng = np.random.default_rng(0)
    lengths, norms = rng.integers(1, 80, 3000), rng.normal(8, 1, 3000)
    band = analysis.typed.length_band(lengths, norms, 12)
    assert band is not None
    assert band["last"].max() <= 15
    assert 12 in band["length"].round().tolist()
    for row in band.itertuples():
        inside = np.sort(norms[(lengths >= row.first) & (lengths <= row.last) & (lengths <= 14)])
        assert row.n == len(inside)
        np.testing.assert_allclose([row.lower, row.median, row.upper], np.percentile(inside, [25, 50, 75]))
    assert analysis.typed.length_band(lengths + 100, norms, 12) is None
    assert analysis.typed.length_band([], [], 12) is None


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


def test_similarities_are_those_of_sentence_transformers(minilm_encoder: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    typed = ["A dog sleeps.", "The cat is asleep on the mat.", "Return the key's value.", "Return the value of a key."]
    folder = models.find("minilm").folder
    theirs = SentenceTransformer(str(folder), device="cpu").encode(typed, normalize_embeddings=True)
    ours = similarities(minilm_encoder.vectors(typed).of(Pooling.MEAN, None))
    np.testing.assert_allclose(ours, theirs @ theirs.T, atol=5e-5)
    assert ours[2, 3] > 0.8 > 0.3 > ours[0, 2]
    np.testing.assert_array_equal(np.diag(ours), 1)


def test_a_vector_that_is_zero_is_similar_to_nothing() -> None:
    table = similarities(np.array([[1, 0], [0, 0], [-2, 0]], np.float32))
    np.testing.assert_array_equal(table, [[1, np.nan, -1], [np.nan] * 3, [-1, np.nan, 1]])
    assert math.isnan(typical_similarity(np.array([[1, 0], [0, 0]], np.float32)))
    assert typical_similarity(np.array([[1, 0], [0, 0], [0, 3]], np.float32)) == 0


def test_the_typical_similarity_is_the_mean_of_all_pairs(tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(random_sentences(6, seed=3))
    for pooling in POOLED:
        for layer in range(3):
            of = vectors.of(pooling, layer)
            pairs = [cosine(of[a], of[b]) for a in range(6) for b in range(a)]
            assert typical_similarity(of) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_a_similarity_is_ranked_among_all_pairs() -> None:
    vectors = np.array(
        [[1, 0], [0, 1], [-1, 0], [0, 0]], np.float32
    )  # pairs of 0, −1 and 0, and those without direction
    np.testing.assert_array_equal(
        percentiles_among_pairs(np.array([0.5, 0, -0.5, -1, np.nan]), vectors), [100, 100 / 3, 100 / 3, 0, np.nan]
    )
    assert np.isnan(percentiles_among_pairs(np.array([0.5]), vectors[:1])).all()
    assert np.isnan(percentiles_among_pairs(np.array([0.5]), vectors[2:])).all()


def test_the_nearest_are_those_that_a_look_at_each_finds(tiny_encoder: Encoder) -> None:
    sentences = random_sentences(60, seed=4)
    sentences += sentences[:20]
    vectors = tiny_encoder.vectors(sentences).of(Pooling.MEAN, None)
    vectors[7] = 0
    asked = tiny_encoder.vectors(["the cat sat on the mat ."]).of(Pooling.MEAN, None)[0]
    found: dict[str, float] = {}
    for sentence, vector in zip(sentences, vectors, strict=True):
        if vector.any():
            found[sentence] = max(cosine(asked, vector), found.get(sentence, -1))
    expected = sorted(found, key=lambda sentence: -found[sentence])[:10]
    table = nearest(asked, vectors, sentences)
    assert table["sentence"].tolist() == expected
    np.testing.assert_allclose(table["similarity"], [found[sentence] for sentence in expected], atol=1e-6)
    times = [sentences.count(sentence) - (sentence == sentences[7]) for sentence in expected]
    assert table["times"].tolist() == times
    assert len(nearest(asked, vectors, sentences, n=1000)) == 60


def test_nothing_is_near_to_a_vector_without_direction() -> None:
    with pytest.raises(SettingError, match="no direction"):
        nearest(np.zeros(3, np.float32), np.ones((2, 3), np.float32), ["a", "b"])
    assert not len(nearest(np.ones(3, np.float32), np.empty((0, 3), np.float32), []))
