"""Sentences summed up by length and bins of norm, against the sentences themselves."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from support.lines import sample

from clsviz.errors import UndefinedFitError
from clsviz.statistics import line
from clsviz.statistics.line import Fit, flat, r_squared
from clsviz.statistics.summary import Census, NormBins

N = 40_000
LENGTHS, NORMS = sample(N)
CENSUS = Census.of(LENGTHS, NORMS, NormBins.of(NORMS[:5000]))
RANDOM = np.random.default_rng(0)
EXACT = [
    "slope", "intercept", "r_squared", "norm_mean", "norm_sd", "slope_interval", "intercept_interval", "covariance",
]  # fmt: skip


def assert_same(found: Fit, expected: Fit, width: float = 1e-4, spearman: float = 3e-6) -> None:
    """width: how far the ends of the interval of R² may be off, as a share of its width; spearman: as that."""
    for name in EXACT:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-8, err_msg=name)
    assert (found.n, found.n_clusters, found.degrees_of_freedom) == (expected.n, expected.n, expected.n - 2)
    assert found.t == pytest.approx(expected.t, rel=1e-12)
    assert found.spearman == pytest.approx(expected.spearman, abs=spearman + 0.3 / found.n)
    ends = np.array([found.r_squared_interval, expected.r_squared_interval])
    assert np.abs(ends[0] - ends[1]).max() <= width * np.ptp(ends[1])
    assert found.rests_on_few == expected.rests_on_few


def test_parts_add_up_in_any_order() -> None:
    borders = [0, 1, 1, 7000, 7040, 33_000, N]
    census = Census.none(CENSUS.bins)
    for start, stop in reversed([*pairwise(borders)]):
        census.add(LENGTHS[start:stop], NORMS[start:stop])
    for name in ("n", "counts", "lowest", "highest"):
        np.testing.assert_array_equal(getattr(census, name), getattr(CENSUS, name))
    for name in ("sums", "squares"):
        np.testing.assert_allclose(getattr(census, name), getattr(CENSUS, name), rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(CENSUS.n, np.bincount(LENGTHS, minlength=len(CENSUS.n)))


@pytest.mark.parametrize(("length", "norm"), [(-1, 7.0), (513, 7.0), (5, np.nan), (5, np.inf)])
def test_what_cannot_be_counted_is_an_error(length: int, norm: float) -> None:
    census = Census.none(CENSUS.bins)
    with pytest.raises(ValueError, match=r"not between 0 and 512|not finite"):
        census.add([4, length], [7.0, norm])
    assert census.total == 0


@pytest.mark.parametrize("cutoff", [513, 40, 8, 5])
def test_the_line_is_that_of_the_sentences_themselves(cutoff: int) -> None:
    lengths, norms = LENGTHS, NORMS
    short = lengths < cutoff
    assert_same(CENSUS.fit(cutoff), line.fit(lengths[short], norms[short]))


def test_r_squared_on_flat_lengths_and_by_cutoff_is_as_of_the_sentences() -> None:
    lengths, norms = LENGTHS, NORMS
    assert CENSUS.flat().r_squared == pytest.approx(flat(lengths, norms).r_squared, rel=1e-9)
    gaps = lengths % 5 > 0
    found, expected = (Census.of(lengths[gaps], norms[gaps]).flat(), flat(lengths[gaps], norms[gaps]))
    assert (found.absent, found.r_squared) == (expected.absent, pytest.approx(expected.r_squared, rel=1e-9))
    by_cutoff = line.by_cutoff(lengths, lengths, norms)
    pd.testing.assert_frame_equal(CENSUS.by_cutoff(), by_cutoff, rtol=1e-4)
    assert len(by_cutoff) > 5


@pytest.mark.parametrize(
    ("lengths", "norms", "reason"),
    [
        ([], [], "shorter than the length cutoff"),
        ([45, 46, 47], [7.0, 7.1, 7.2], "shorter than the length cutoff"),
        ([5], [7.0], "1 sentence says"),
        ([5, 6, 45], [7.0, 7.1, 7.5], "2 sentences says"),
        ([5, 5, 5], [7.0, 7.1, 7.2], "All 3 sentences have the same length, 5"),
        ([5, 6, 7], [7.0, 7.0, 7.0], "same for all 3 sentences .7.0000."),
        ([5, 6, 7], [0.0, 0.0, 0.0], "same for all 3"),
        ([5, 6, 7], [7.0, 7.000001, 7.0], "same for all 3"),
    ],
)
def test_what_determines_no_line_says_why(lengths: list[int], norms: list[float], reason: str) -> None:
    census = Census.of(lengths, norms)
    with pytest.raises(UndefinedFitError, match=reason):
        census.fit(40)
    if max(lengths, default=0) < 40:
        with pytest.raises(UndefinedFitError, match=reason):
            line.fit(lengths, norms)


@pytest.mark.parametrize("lengths", [[5, 5, 5, 40], [4, 4, 5], [3, 3, 3, 3, 4]])
def test_a_line_that_hangs_on_one_sentence_has_no_certain_slope(lengths: list[int]) -> None:
    norms = np.arange(len(lengths)) ** 2
    found, expected = Census.of(lengths, norms).fit(), line.fit(lengths, norms)
    assert found.slope_interval == expected.slope_interval == (-np.inf, np.inf)
    assert found.slope == pytest.approx(expected.slope)
    assert np.isinf(found.covariance).all()
    assert found.r_squared_interval == pytest.approx(expected.r_squared_interval, abs=1e-3)


@pytest.mark.parametrize("n", [3, 4, 10, 50])
def test_a_few_sentences_are_enough(n: int) -> None:
    lengths, norms = sample(n, seed=n)
    assert_same(Census.of(lengths, norms).fit(), line.fit(lengths, norms), width=0.02)


def test_the_line_keeps_its_digits_where_the_norm_hardly_varies() -> None:
    """Norms near 8 that vary by 8e-6, which is twenty numbers in float32."""
    lengths, norms = LENGTHS, NORMS
    norms = (8 + 8e-6 * (norms - norms.mean(dtype=float)) / norms.std(dtype=float)).astype(np.float32)
    assert 10 < len(np.unique(norms)) < 200
    census = Census.of(lengths, norms)
    assert_same(census.fit(), line.fit(lengths, norms), width=1e-3)


def test_norms_far_outside_the_bins_count() -> None:
    """As if the first sentences had been others: their bins end long before some of the norms."""
    lengths, norms = LENGTHS, NORMS
    norms = norms.copy()
    norms[::1000] += np.geomspace(5, 40, 40).astype(np.float32)
    norms[500::4000] = 0
    census = Census.of(lengths, norms, NormBins.of(norms[1:500]))
    fit, expected = census.fit(), line.fit(lengths, norms)
    assert_same(fit, expected, width=0.002)
    assert census.counts[:, census.bins.inner].sum() < census.total == N


def test_a_nearly_perfect_line_keeps_its_interval() -> None:
    lengths, norms = sample(N)
    norms = (7 + 0.05 * lengths + 5e-3 * norms).astype(np.float32)
    assert r_squared(lengths, norms) > 0.9999
    assert_same(Census.of(lengths, norms).fit(), line.fit(lengths, norms), width=0.01, spearman=1e-4)


def test_bins_are_a_five_hundredth_of_the_spread_wide_with_the_same_room_on_both_sides() -> None:
    norms = RANDOM.normal(7, 0.2, 20_000)
    bins = NormBins.of(norms)
    assert bins.width == pytest.approx(norms.std() / 500, rel=0.02)
    assert bins.width <= norms.std() / 500 * (1 + 1e-9)
    assert len(bins.edges) == bins.n + 1
    assert bins.middle == pytest.approx(7, abs=0.1)
    assert bins.edges[0] < norms.min() - 0.5
    assert bins.edges[-1] > norms.max() + 0.5


def test_a_few_norms_far_out_do_not_make_the_bins_wider() -> None:
    norms = RANDOM.normal(7, 0.2, 20_000)
    usual = NormBins.of(norms)
    norms[::200] = 1e6
    assert NormBins.of(norms).width == pytest.approx(usual.width, rel=0.1)
    mostly_one = np.where(np.arange(1000) % 500, 7.0, 8.0)
    assert NormBins.of(mostly_one).width == pytest.approx(mostly_one.std() / 500)


def test_every_norm_is_in_one_bin_and_near_its_place() -> None:
    bins = NormBins(6.0, 0.001)
    norms = np.concatenate(
        [RANDOM.uniform(6, bins.edges[-1], 1000), [6.0, 5.9999, bins.edges[-1], 0.0, -40, 60, -1e30, 1e30]]
    )
    numbers = bins.numbers(norms).astype(int)
    assert numbers.min() == 0 <= numbers.max() == bins.n_columns - 1
    off = np.abs(bins.middle + bins.places[numbers] - norms)
    inner = (numbers >= bins.inner.start) & (numbers < bins.inner.stop)
    assert inner.sum() in (1001, 1002)
    assert off[inner].max() <= bins.width / 2 + 1e-12
    away = np.abs(norms - bins.middle)
    assert (off <= 0.011 * away)[~inner & (np.abs(norms) < 50)].all()
    order = np.argsort(norms)
    assert (np.diff(numbers[order]) >= 0).all()
    assert (np.diff(bins.places) > 0).all()
    assert len(bins.places) == bins.n_columns


@pytest.mark.parametrize("norm", [0.0, 7.25, 1e-30, 3e38])
def test_a_norm_that_never_varies_has_bins(norm: float) -> None:
    bins = NormBins.of(np.full(100, norm))
    assert bins.width > 0
    assert np.isfinite(bins.edges).all()
    numbers = bins.numbers(np.array([norm, np.nextafter(np.float32(norm), np.float32(1)).astype(float)]))
    assert bins.inner.start <= numbers[0] < bins.inner.stop
    assert norm == 0 or numbers[0] != numbers[1]


def test_without_norms_there_are_bins_all_the_same() -> None:
    assert NormBins.of([]) == NormBins(0.0, 1.0)
