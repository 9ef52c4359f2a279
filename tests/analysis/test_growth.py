"""Sentences that are grown, compared and looked up."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from clsviz import analysis, words
from clsviz.analysis.typed import MOST_WORDS, Variant

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
