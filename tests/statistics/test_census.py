from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.lines import sample

from clsviz import statistics
from clsviz.errors import UndefinedFitError
from clsviz.statistics import Census, NormBins
from clsviz.statistics.results import Fit

N = 40_000


@pytest.fixture(scope="module")
def sentences() -> tuple[np.ndarray, np.ndarray]:
    return sample(N)


@pytest.fixture(scope="module")
def census(sentences: tuple[np.ndarray, np.ndarray]) -> Census:
    lengths, norms = sentences
    return Census.of(lengths, norms, NormBins.of(norms[:5000]))


EXACT = [
    "slope", "intercept", "r_squared", "norm_mean", "norm_sd", "slope_interval", "intercept_interval", "covariance",
]  # fmt: skip


def assert_same(found: Fit, expected: Fit, width: float = 1e-4, spearman: float = 3e-6) -> None:
    """width: how far the ends of the interval of R² may be off, as a share of its width; spearman: as that."""
    for name in EXACT:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    assert (found.n, found.n_clusters, found.degrees_of_freedom) == (expected.n, expected.n, expected.n - 2)
    assert found.t == pytest.approx(expected.t, rel=1e-12)
    assert found.spearman == pytest.approx(expected.spearman, abs=spearman + 0.3 / found.n)
    ends = np.array([found.r_squared_interval, expected.r_squared_interval])
    assert np.abs(ends[0] - ends[1]).max() <= width * np.ptp(ends[1])
    assert found.rests_on_few == expected.rests_on_few


@pytest.mark.parametrize("cutoff", [513, 40, 8, 5])
def test_the_line_is_that_of_the_sentences_themselves(
    sentences: tuple[np.ndarray, np.ndarray], census: Census, cutoff: int
) -> None:
    lengths, norms = sentences
    short = lengths < cutoff
    assert_same(census.fit(cutoff), statistics.fit(lengths[short], norms[short]))


def test_spearman_is_that_of_scipy(sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
    assert census.fit().spearman == pytest.approx(stats.spearmanr(*sentences).statistic, abs=5e-6)


def test_parts_merge_in_any_order(sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
    lengths, norms = sentences
    borders = [0, 1, 1, 7000, 7040, 33_000, N]
    parts = [Census.of(lengths[start:stop], norms[start:stop], census.bins) for start, stop in pairwise(borders)]
    for order in np.random.default_rng(0).permuted(np.tile(np.arange(len(parts)), (3, 1)), axis=1):
        merged = Census.none(census.bins)
        for part in order:
            merged = merged.merged(parts[part])
        for name in ("n", "counts", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(census, name))
        for name in ("sums", "squares"):
            np.testing.assert_allclose(getattr(merged, name), getattr(census, name), rtol=1e-12, atol=1e-11)
        assert_same(merged.fit(30), census.fit(30))


def test_censuses_in_other_bins_cannot_be_merged(census: Census) -> None:
    with pytest.raises(ValueError, match="different bins"):
        census.merged(Census.none(NormBins(0.0, 1.0)))


def test_quantiles_are_off_by_no_more_than_they_say(sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
    lengths, norms = sentences
    shares = np.linspace(0, 1, 201)
    assert census.off_by == pytest.approx(1e-3 * norms[:5000].astype(float).std())
    for cutoff in (513, 20, 4):
        expected = np.quantile(norms[lengths < cutoff].astype(float), shares)
        assert np.abs(census.quantiles(shares, cutoff) - expected).max() <= census.off_by * (1 + 1e-9)
    assert np.isnan(census.quantiles(0.5, 3))


def test_extremes_are_exact(sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
    lengths, norms = sentences
    assert census.extremes() == (norms.min(), norms.max())
    assert census.extremes(10) == (norms[lengths < 10].min(), norms[lengths < 10].max())
    assert census.extremes(2) == (np.inf, -np.inf)


@pytest.mark.parametrize("cutoff", [513, 30, 9, 4])
def test_what_lies_over_the_picture_is_as_of_the_sentences(
    sentences: tuple[np.ndarray, np.ndarray], census: Census, cutoff: int
) -> None:
    lengths, norms = sentences
    lengths, norms = lengths[lengths < cutoff], norms[lengths < cutoff]
    exact = {"first", "last", "length", "n", "from_share", "to_share"}
    for found, expected in (
        (census.bins_of_length(cutoff), statistics.bins(lengths, norms)),
        (census.slices(cutoff), statistics.slices(lengths, norms)),
    ):
        for name in expected:
            off_by = (
                1e-9
                if name in exact
                else 1
                if "from_share" in expected and name in ("lower", "median", "upper")
                else census.off_by
            )
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=off_by * (1 + 1e-9), err_msg=name)
        assert found.columns.tolist() == expected.columns.tolist()
        assert found.dtypes.tolist() == expected.dtypes.tolist()


def test_without_sentences_nothing_lies_over_it() -> None:
    census = Census.none(NormBins(0.0, 1.0))
    pd.testing.assert_frame_equal(census.bins_of_length(), statistics.bins([], []))
    assert census.slices().empty
    assert census.percentile_at_length(10, 7.0) is None


def test_the_percentile_is_that_among_the_sentences(sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
    for length, norm in ((3, 7.0), (20, 7.5), (70, 7.31), (79, -1.0), (79, 1e9)):
        share, n = statistics.percentile_at_length(length, norm, *sentences)
        found, n_found = census.percentile_at_length(length, norm)
        assert n_found == n
        assert found == pytest.approx(share, abs=0.2)
    assert census.percentile_at_length(300, 7.0) is None


def test_r_squared_on_flat_lengths_and_by_cutoff_is_as_of_the_sentences(
    sentences: tuple[np.ndarray, np.ndarray], census: Census
) -> None:
    lengths, norms = sentences
    assert census.flat().r_squared == pytest.approx(statistics.flat(lengths, norms).r_squared, rel=1e-9)
    gaps = lengths % 5 > 0
    found, expected = (Census.of(lengths[gaps], norms[gaps]).flat(), statistics.flat(lengths[gaps], norms[gaps]))
    assert (found.absent, found.r_squared) == (expected.absent, pytest.approx(expected.r_squared, rel=1e-9))
    by_cutoff = statistics.by_cutoff(lengths, lengths, norms)
    pd.testing.assert_frame_equal(census.by_cutoff(), by_cutoff, rtol=1e-4)
    assert len(by_cutoff) > 5


class TestDensity:
    def test_its_bins_are_those_of_numpy(self, sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
        lengths, norms = sentences
        counts, edges = census.density(30, 256)
        assert counts.shape == (30, 256)
        assert (counts.dtype, edges.dtype) == (np.int64, np.float64)
        expected, *_ = np.histogram2d(lengths, norms.astype(float), bins=(np.arange(31) - 0.5, edges))
        assert np.abs(counts - expected).sum() <= 4  # of those that lie on an edge, to rounding
        assert counts.sum() == expected.sum()

    def test_a_part_of_it_is_finer(self, sentences: tuple[np.ndarray, np.ndarray], census: Census) -> None:
        lengths, norms = sentences
        counts, edges = census.density(513, 128, norms=(7.2, 7.4), lengths=(10, 12))
        assert counts.shape == (3, len(edges) - 1)
        assert 64 <= counts.shape[1] <= 128
        width = edges[1] - edges[0]
        assert edges[0] <= 7.2 < edges[0] + width
        assert edges[-1] - width <= 7.4 < edges[-1]
        inside = (lengths >= 10) & (lengths <= 12) & (norms >= edges[0]) & (norms < edges[-1])
        assert abs(counts.sum() - inside.sum()) <= 1
        whole, all_edges = census.density(513, round(census.bins.n * census.bins.width / width))
        first = int(np.argmin(np.abs(all_edges - edges[0])))
        np.testing.assert_array_equal(counts, whole[10:13, first : first + counts.shape[1]])  # so there are no stripes

    def test_what_is_far_out_is_one_bin(self, census: Census) -> None:
        for norms in ((100.0, 200.0), (-3.0, -2.0), (7.3, 7.3)):
            counts, edges = census.density(513, 512, norms=norms)
            assert counts.shape == (513, 1) == (513, len(edges) - 1)

    def test_only_whole_bins_make_coarser_ones(self, census: Census) -> None:
        for n_bins in (0, -2, 3, 100, 16384):
            with pytest.raises(ValueError, match="cannot be made of 8192"):
                census.density(40, n_bins)

    def test_lengths_end_at_the_cutoff(self, census: Census) -> None:
        counts, _ = census.density(10, 64, lengths=(5, 50))
        np.testing.assert_array_equal(counts, census.density(513, 64)[0][5:10])


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


def test_the_line_keeps_its_digits_where_the_norm_hardly_varies(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    """Norms near 8 that vary by 8e-6, which is twenty numbers in float32."""
    lengths, norms = sentences
    norms = (8 + 8e-6 * (norms - norms.mean(dtype=float)) / norms.std(dtype=float)).astype(np.float32)
    assert 10 < len(np.unique(norms)) < 200
    census = Census.of(lengths, norms)
    assert_same(census.fit(), statistics.fit(lengths, norms), width=1e-3)
    np.testing.assert_allclose(
        census.quantiles([0.25, 0.5, 0.75]), np.quantile(norms.astype(float), [0.25, 0.5, 0.75]), atol=census.off_by
    )


def test_norms_far_outside_the_bins_count(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    """As if the first sentences had been others: their bins end long before some of the norms."""
    lengths, norms = sentences
    norms = norms.copy()
    norms[::1000] += np.geomspace(5, 40, 40).astype(np.float32)
    norms[500::4000] = 0
    census = Census.of(lengths, norms, NormBins.of(norms[1:500]))
    fit, expected = census.fit(), statistics.fit(lengths, norms)
    assert_same(fit, expected, width=0.02)
    assert census.extremes() == (0, norms.max())
    shares = np.linspace(0, 1, 5001)
    found, exact = census.quantiles(shares), np.quantile(norms.astype(float), shares)
    away = np.abs(exact - census.bins.middle)
    assert (np.abs(found - exact) <= np.maximum(census.off_by * 1.001, 0.011 * away)).all()
    assert census.density(513, 64)[0].sum() < N


def test_norms_all_outside_the_bins_still_have_a_line(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    lengths, norms = sentences
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
    def test_its_interval_is_about_as_wide_as_the_other(self, census: Census) -> None:
        for cutoff in (513, 12):
            low, high = census.bootstrap(cutoff)
            expected = census.fit(cutoff).r_squared_interval
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

    def test_it_is_the_same_every_time(self, census: Census) -> None:
        assert census.bootstrap(20, n_draws=50) == census.bootstrap(20, n_draws=50)
        assert census.bootstrap(20, n_draws=50) != census.bootstrap(20, n_draws=50, seed=1)

    def test_it_reaches_down_to_0_where_there_is_no_relation(self) -> None:
        lengths, norms = sample(3000)
        low, high = Census.of(lengths, np.random.default_rng(0).permutation(norms)).bootstrap()
        assert low == 0
        assert 0 < high < 0.01
