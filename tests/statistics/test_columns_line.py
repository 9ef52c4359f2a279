import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.censuses import CENSUS, EXACT, LENGTHS, NORMS, N, assert_same
from support.lines import sample

from clsviz import statistics
from clsviz.errors import UndefinedFitError
from clsviz.statistics import Census, NormBins


@pytest.mark.parametrize("cutoff", [513, 40, 8, 5])
def test_the_line_is_that_of_the_sentences_themselves(cutoff: int) -> None:
    lengths, norms = LENGTHS, NORMS
    short = lengths < cutoff
    assert_same(CENSUS.fit(cutoff), statistics.fit(lengths[short], norms[short]))


def test_spearman_is_that_of_scipy() -> None:
    assert CENSUS.fit().spearman == pytest.approx(stats.spearmanr(LENGTHS, NORMS).statistic, abs=5e-6)


def test_r_squared_on_flat_lengths_and_by_cutoff_is_as_of_the_sentences() -> None:
    lengths, norms = LENGTHS, NORMS
    assert CENSUS.flat().r_squared == pytest.approx(statistics.flat(lengths, norms).r_squared, rel=1e-9)
    gaps = lengths % 5 > 0
    found, expected = (Census.of(lengths[gaps], norms[gaps]).flat(), statistics.flat(lengths[gaps], norms[gaps]))
    assert (found.absent, found.r_squared) == (expected.absent, pytest.approx(expected.r_squared, rel=1e-9))
    by_cutoff = statistics.by_cutoff(lengths, lengths, norms)
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
    for ask in (census.fit, census.bootstrap):
        with pytest.raises(UndefinedFitError, match=reason):
            ask(40)
    if max(lengths, default=0) < 40:
        with pytest.raises(UndefinedFitError, match=reason):
            statistics.fit(lengths, norms)


@pytest.mark.parametrize("lengths", [[5, 5, 5, 40], [4, 4, 5], [3, 3, 3, 3, 4]])
def test_a_line_that_hangs_on_one_sentence_has_no_certain_slope(lengths: list[int]) -> None:
    norms = np.arange(len(lengths)) ** 2
    found, expected = Census.of(lengths, norms).fit(), statistics.fit(lengths, norms)
    assert found.slope_interval == expected.slope_interval == (-np.inf, np.inf)
    assert found.slope == pytest.approx(expected.slope)
    assert np.isinf(found.covariance).all()
    assert found.r_squared_interval == pytest.approx(expected.r_squared_interval, abs=1e-3)


@pytest.mark.parametrize("n", [3, 4, 10, 50])
def test_a_few_sentences_are_enough(n: int) -> None:
    lengths, norms = sample(n, seed=n)
    assert_same(Census.of(lengths, norms).fit(), statistics.fit(lengths, norms), width=0.02)


def test_the_line_keeps_its_digits_where_the_norm_hardly_varies() -> None:
    """Norms near 8 that vary by 8e-6, which is twenty numbers in float32."""
    lengths, norms = LENGTHS, NORMS
    norms = (8 + 8e-6 * (norms - norms.mean(dtype=float)) / norms.std(dtype=float)).astype(np.float32)
    assert 10 < len(np.unique(norms)) < 200
    census = Census.of(lengths, norms)
    assert_same(census.fit(), statistics.fit(lengths, norms), width=1e-3)
    np.testing.assert_allclose(
        census.quantiles([0.25, 0.5, 0.75]), np.quantile(norms.astype(float), [0.25, 0.5, 0.75]), atol=census.off_by
    )


def test_norms_far_outside_the_bins_count() -> None:
    """As if the first sentences had been others: their bins end long before some of the norms."""
    lengths, norms = LENGTHS, NORMS
    norms = norms.copy()
    norms[::1000] += np.geomspace(5, 40, 40).astype(np.float32)
    norms[500::4000] = 0
    census = Census.of(lengths, norms, NormBins.of(norms[1:500]))
    fit, expected = census.fit(), statistics.fit(lengths, norms)
    assert_same(fit, expected, width=0.002)
    assert census.extremes() == (0, norms.max())
    shares = np.linspace(0, 1, 5001)
    found, exact = census.quantiles(shares), np.quantile(norms.astype(float), shares)
    away = np.abs(exact - census.bins.middle)
    assert (np.abs(found - exact) <= np.maximum(census.off_by * 1.001, 0.011 * away)).all()
    assert census.density(513, 64)[0].sum() < N


def test_norms_all_outside_the_bins_still_have_a_line() -> None:
    lengths, norms = LENGTHS, NORMS
    fit = Census.of(lengths, norms, NormBins.of(np.array([1.0, 1.001]))).fit()
    expected = statistics.fit(lengths, norms)
    for name in EXACT:
        np.testing.assert_allclose(getattr(fit, name), getattr(expected, name), rtol=1e-9, err_msg=name)


def test_a_nearly_perfect_line_keeps_its_interval() -> None:
    lengths, norms = sample(N)
    norms = (7 + 0.05 * lengths + 5e-3 * norms).astype(np.float32)
    assert statistics.r_squared(lengths, norms) > 0.9999
    assert_same(Census.of(lengths, norms).fit(), statistics.fit(lengths, norms), width=0.01, spearman=1e-4)


class TestBootstrap:
    def test_its_interval_is_about_as_wide_as_the_other(self) -> None:
        for cutoff in (513, 12):
            low, high = CENSUS.bootstrap(cutoff)
            expected = CENSUS.fit(cutoff).r_squared_interval
            assert high - low == pytest.approx(expected[1] - expected[0], rel=0.15)
            assert low == pytest.approx(expected[0], abs=0.15 * (expected[1] - expected[0]))

    def test_it_is_that_of_sentences_drawn_one_by_one(self) -> None:
        lengths, norms = sample(2000)
        random = np.random.default_rng(1)
        drawn = []
        for _ in range(999):
            at = random.integers(0, 2000, 2000)
            drawn.append(np.corrcoef(lengths[at], norms[at])[0, 1])
        low, high = np.sort(np.quantile(drawn, [0.025, 0.975]) ** 2)
        found = Census.of(lengths, norms).bootstrap()
        assert found == pytest.approx((low, high), abs=0.15 * (high - low))

    def test_it_is_the_same_every_time(self) -> None:
        assert CENSUS.bootstrap(20, n_draws=50) == CENSUS.bootstrap(20, n_draws=50)
        assert CENSUS.bootstrap(20, n_draws=50) != CENSUS.bootstrap(20, n_draws=50, seed=1)

    def test_it_reaches_down_to_0_where_there_is_no_relation(self) -> None:
        lengths, norms = sample(3000)
        low, high = Census.of(lengths, np.random.default_rng(0).permutation(norms)).bootstrap()
        assert low == 0
        assert 0 < high < 0.01
