"""Lengths by unit; norm given length, and length given norm."""

import numpy as np
import pytest
from support.lines import sample

from clsviz.settings import Unit
from clsviz.statistics.lengths import bins, lengths_in, percentile_at_length, slices

SENTENCES = ["One, two.", " a\tb \n c ", "Übergröße", ""]
N_TOKENS = np.array([5, 3, 4, 0], np.int32)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(Unit.TOKENS, [5, 3, 4, 0]), (Unit.WORDS, [2, 3, 1, 0]), (Unit.CHARACTERS, [9, 9, 9, 0])],
)
def test_lengths_are_in_the_unit_that_was_asked(unit: Unit, expected: list[int]) -> None:
    found = lengths_in(unit, SENTENCES, N_TOKENS)
    assert found.tolist() == expected
    assert found.dtype == np.int32


def test_bins_hold_the_quartiles_of_their_lengths() -> None:
    lengths, norms = sample(3000)
    table = bins(lengths, norms)
    assert len(table) <= 16
    assert table["n"].sum() == 3000
    row = table[(table["first"] <= 22) & (table["last"] >= 22)].iloc[0]
    inside = norms[(lengths >= row["first"]) & (lengths <= row["last"])]
    np.testing.assert_allclose(
        [row["lower"], row["median"], row["upper"]], np.quantile(inside.astype(float), [0.25, 0.5, 0.75])
    )
    assert row["n"] == len(inside)
    assert row["length"] == pytest.approx(lengths[(lengths >= row["first"]) & (lengths <= row["last"])].mean())
    assert (table["first"].to_numpy()[1:] == table["last"].to_numpy()[:-1] + 1).all()


def test_bins_with_too_few_sentences_are_left_out() -> None:
    table = bins([3] * 10 + [4] * 2, [7.0] * 12)
    assert table["first"].tolist() == [3]
    assert bins([], []).empty


def test_slices_hold_the_lengths_at_their_norms() -> None:
    lengths, norms = sample(10_000)
    table = slices(lengths, norms)
    assert table["n"].tolist() == [100, 400, 2000, 5000, 2000, 400, 100]
    lowest = lengths[np.argsort(norms)[:100]]
    first = table.iloc[0]
    np.testing.assert_allclose(
        [first["lower"], first["median"], first["upper"]], np.quantile(lowest, [0.05, 0.5, 0.95])
    )
    assert first["highest"] == np.sort(norms)[99]
    assert (table["highest"].to_numpy()[:-1] <= table["lowest"].to_numpy()[1:]).all()


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (39, 1), (60, 3), (500, 5), (1000, 7)])
def test_small_tails_join_their_neighbours(n: int, rows: int) -> None:
    table = slices(*sample(n))
    assert len(table) == rows
    assert table["n"].sum() == n


@pytest.mark.parametrize(
    ("norms", "counts"),
    [
        (np.arange(1000) // 25, [25, 25, 200, 500, 200, 25, 25]),
        (np.repeat([1, 2, 3], [300, 400, 300]), [300, 400, 300]),
        (np.repeat([1, 2, 3], [3, 994, 3]), [1000]),  # too few are at either end
        (np.repeat([1, 2], [400, 600]), [400, 600]),
        (np.full(300, 7), [300]),
    ],
)
def test_the_same_norms_are_in_the_same_slice(norms: np.ndarray, counts: list[int]) -> None:
    mixed = np.random.default_rng(0).permutation(norms)
    table = slices(np.arange(len(norms)), mixed)
    assert table["n"].tolist() == counts
    assert (table["highest"].to_numpy()[:-1] < table["lowest"].to_numpy()[1:]).all()
    np.testing.assert_allclose(table["to_share"], np.cumsum(counts) / len(norms))


def test_the_percentile_is_among_sentences_of_similar_length() -> None:
    lengths = np.repeat([10, 50, 100], 100)
    norms = np.concatenate([np.arange(100), np.arange(100) + 1000, np.arange(100) + 2000]).astype(float)
    assert percentile_at_length(50, 1024.5, lengths, norms) == (25.0, 100)
    assert percentile_at_length(10, 5000.0, lengths, norms) == (100.0, 100)
    assert percentile_at_length(95, 2049.5, lengths, norms) == (50.0, 100)
    assert percentile_at_length(30, 0.0, lengths, norms) is None
    norms = np.random.default_rng(0).choice(np.float32([6.9389334, 6.938934]), len(lengths))
    percent, n = percentile_at_length(50, 6.9389335, lengths, norms)
    assert np.isnan(percent)  # as of the embedding layer, where all norms are the same up to rounding
    assert n == 100
    assert percentile_at_length(50, 6.95, lengths, norms) == (100, 100)
