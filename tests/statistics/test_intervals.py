"""Intervals, against jackknives refitted by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score
from statsmodels.regression.linear_model import OLS
from support.lines import sample

from benchmarks import coverage
from clsviz.statistics.intervals import N_DRAWS, Bootstrap, r_squared_interval
from clsviz.statistics.line import by_cutoff, fit


def test_the_interval_of_r_squared_reaches_down_to_0_where_there_is_nothing() -> None:
    """And up to what the slope's interval allows."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 40, (100, 60))
    lines = [fit(row, random.normal(size=60)) for row in lengths]
    assert sum(line.r_squared_interval[0] == 0 for line in lines) >= 90
    least = min(lines, key=lambda line: line.r_squared)
    steepest = max(map(abs, least.slope_interval))
    assert least.r_squared_interval[1] > 0.5 * (steepest * lengths.std() / least.norm_sd) ** 2


@pytest.mark.parametrize(
    ("lengths", "norms", "clusters"),
    [
        ([5, 5, 5, 9, 9], [1, 1, 1, 2, 2], [0, 0, 0, 1, 1]),  # copies of two sentences
        ([5] * 9 + [9], [1] * 9 + [2], None),  # one sentence of another length
    ],
)
def test_a_line_that_cannot_but_go_through_all_points_is_open(
    lengths: list[int], norms: list[float], clusters: list[int] | None
) -> None:
    line = fit(lengths, norms, None if clusters is None else np.array(clusters))
    assert line.r_squared == pytest.approx(1)
    assert line.r_squared_interval == (0, 1)


def test_three_points_off_a_line_leave_r_squared_open() -> None:
    assert fit([1, 2, 3], [1, 3, 2]).r_squared_interval == (0, 1)
    assert fit([1, 2, 3], [1, 2, 3]).r_squared_interval == pytest.approx((1, 1))


def licence(seed: int, n_texts: int = 40, copies: int = 25) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths and norms of texts of which each is there many times, word for word or nearly; and their clusters."""
    random = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(n_texts), copies)
    lengths = random.integers(5, 40, n_texts)[clusters] + random.integers(0, 2, n_texts * copies)
    norms = 9 + 0.05 * lengths + random.normal(size=n_texts)[clusters] + 0.02 * random.normal(size=n_texts * copies)
    order = random.permutation(len(clusters))
    return lengths[order], norms[order], clusters[order]


@pytest.mark.parametrize("n_texts", [2, 3, 40])
def test_the_interval_of_a_slope_is_the_jackknife_of_clusters_refitted(n_texts: int) -> None:
    """The line without each cluster in turn, by statsmodels."""
    lengths, norms, clusters = licence(3, n_texts)
    design = np.stack([np.ones(len(lengths)), lengths], axis=1)
    whole = OLS(norms, design).fit().params
    without = [OLS(norms[clusters != g], design[clusters != g]).fit().params for g in range(n_texts)]
    covariance = (n_texts - 1) / n_texts * sum(np.outer(left - whole, left - whole) for left in without)
    line = fit(lengths, norms, clusters)
    np.testing.assert_allclose(line.covariance, covariance, rtol=1e-7)
    assert (line.degrees_of_freedom, line.t) == (n_texts - 1, pytest.approx(stats.t.ppf(0.975, n_texts - 1)))
    margin = line.t * covariance[1, 1] ** 0.5
    np.testing.assert_allclose(line.slope_interval, [line.slope - margin, line.slope + margin], rtol=1e-7)
    low, high = line.band([0.0])
    np.testing.assert_allclose([low[0], high[0]], line.intercept_interval, rtol=1e-7)


def test_the_wider_of_two_intervals_is_that_with_its_own_t() -> None:
    """Ten row groups say less than their errors alone: Student’s t is wider for them."""
    lengths, norms = sample(400)
    row_groups = np.arange(400) % 10
    alone, by_groups = fit(lengths, norms), fit(lengths, norms, row_groups)
    widest = max(alone, by_groups, key=lambda line: np.ptp(line.slope_interval))
    assert fit(lengths, norms, None, row_groups).slope_interval == widest.slope_interval


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_of_r_squared_is_the_jackknife_written_out(clustered: bool) -> None:
    lengths, norms, clusters = licence(4, 20, 5)
    groups = clusters if clustered else np.arange(100)
    n = len(set(groups.tolist()))
    left_out = [np.arctanh(np.corrcoef(lengths[groups != g], norms[groups != g])[0, 1]) for g in range(n)]
    variance = (n - 1) ** 2 / n * np.var(left_out, ddof=1)
    squares = (np.array(left_out) - np.mean(left_out)) ** 2
    degrees = min(n - 2, 2 * squares.sum() ** 2 / (n * np.var(squares)))
    z = np.arctanh(np.corrcoef(lengths, norms)[0, 1])
    ends = np.tanh(z + stats.t.ppf([0.025, 0.975], degrees) * variance**0.5)
    found = r_squared_interval(lengths.astype(float), norms, groups)
    assert ends[0] > 0
    np.testing.assert_allclose(found.ends, ends**2)
    assert found.degrees_of_freedom == pytest.approx(degrees)


def test_sentences_that_are_all_different_are_as_without_clusters() -> None:
    lengths, norms = sample(200)
    alone, named = fit(lengths, norms), fit(lengths, norms, np.random.default_rng(0).permutation(200))
    assert alone.slope_interval == named.slope_interval
    assert alone.r_squared_interval == named.r_squared_interval


def test_row_groups_widen_an_interval_if_there_are_enough_of_them() -> None:
    """Sentences of a row group that depart from the line together, though no two are alike."""
    lengths, norms, row_groups = licence(7, 30, 20)
    distinct = np.arange(len(lengths))
    alone, together = fit(lengths, norms, distinct), fit(lengths, norms, distinct, row_groups)
    by_row_group = fit(lengths, norms, row_groups)
    assert together.slope_interval == by_row_group.slope_interval
    assert together.r_squared_interval == by_row_group.r_squared_interval
    assert np.ptp(together.slope_interval) > 2 * np.ptp(alone.slope_interval)
    assert together.n_clusters == len(lengths)
    few = fit(lengths, norms, distinct, row_groups // 4)  # 8 of them
    assert few.r_squared_interval == alone.r_squared_interval
    narrow = fit(lengths, norms, row_groups, np.random.default_rng(0).permutation(distinct) // 2)
    assert narrow.r_squared_interval == by_row_group.r_squared_interval
    lines = by_cutoff(lengths, lengths, norms, distinct, row_groups).iloc[-1]
    assert (lines["lower"], lines["upper"]) == pytest.approx(together.r_squared_interval)


def test_intervals_cover_where_the_sentences_of_a_row_group_are_alike() -> None:
    """500 samples of 20 row groups, each of which has lengths and norms of its own; the truth is that of 4,000."""

    def draw(n_groups: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups = np.repeat(np.arange(n_groups), 30)
        of_group = random.standard_normal((2, n_groups))[:, groups]
        x, noise = 0.8 * of_group + 0.6 * random.standard_normal((2, len(groups)))
        lengths = np.exp(2.7 + 0.5 * x).round().clip(3, 79)
        return lengths, 0.02 * lengths + noise, groups

    random = np.random.default_rng(0)
    lengths, norms, _ = draw(4000, random)
    r_squared = np.corrcoef(lengths, norms)[0, 1] ** 2
    lines = []
    for _ in range(500):
        lengths, norms, groups = draw(20, random)
        lines.append(fit(lengths, norms, None, groups))
    assert np.mean([low <= 0.02 <= high for low, high in (line.slope_interval for line in lines)]) >= 0.92
    assert np.mean([low <= r_squared <= high for low, high in (line.r_squared_interval for line in lines)]) >= 0.92


def test_a_line_that_hangs_on_one_cluster_is_open() -> None:
    lengths = np.array([5, 5, 5, 5, 40, 41])
    line = fit(lengths, [7.0, 7.1, 7.3, 7.2, 9.0, 9.1], np.array([0, 1, 2, 3, 4, 4]))
    assert line.slope_interval == (-np.inf, np.inf)
    assert line.r_squared_interval == (0, 1)
    assert fit(lengths, [7.0, 7.1, 7.3, 7.2, 9.0, 9.1], np.zeros(6, int)).r_squared_interval == (0, 1)


def test_one_sentence_far_off_is_said_to_decide() -> None:
    lengths, norms = sample(500)
    assert not fit(lengths, norms).rests_on_few
    norms[np.argmax(lengths)] += 40
    assert fit(lengths, norms).rests_on_few


def test_the_simulation_of_the_benchmark_finds_what_an_interval_is_worth() -> None:
    """The table in docs/method.md has more repetitions."""
    for n, noise in ((50, "t3"), (500, "funnel")):
        assert coverage.simulate(n, 0.3, noise, 300) >= 0.91
    for n, noise in ((100, "t3"), (200, "exponential")):
        assert coverage.simulate_spread(n, noise, 600) >= 0.93  # a percentile bootstrap comes to 0.91


def test_a_line_that_all_lie_on_rests_on_all_of_them() -> None:
    x = np.arange(400.0) % 40
    found = r_squared_interval(x, 3 + x / 4)
    assert found.ends == pytest.approx((1, 1))
    assert not found.rests_on_few(400)


CLUSTERS = np.repeat(np.arange(60), [3] * 30 + [1] * 30)
N = len(CLUSTERS)
RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 40, N).astype(float)
GOOD, BAD = LENGTHS + RANDOM.normal(size=(2, N)) * [[2], [6]]
ONE_FOLD = np.zeros(N, int)


def resampled(statistic: object) -> tuple[float, float]:
    """The middle of what sentences drawn group by group give, one draw at a time."""
    random, members = np.random.default_rng(5), [np.flatnonzero(group == CLUSTERS) for group in range(60)]
    draws = (np.concatenate([members[group] for group in random.integers(0, 60, 60)]) for _ in range(N_DRAWS))
    low, high = np.quantile([statistic(rows) for rows in draws], (0.025, 0.975))  # type: ignore[operator]
    return low, high


def test_intervals_are_those_of_sentences_drawn_group_by_group() -> None:
    bootstrap = Bootstrap(CLUSTERS)
    mean = LENGTHS.mean()

    def r_squared(predictions: np.ndarray, rows: np.ndarray) -> float:
        return 1 - ((LENGTHS - predictions)[rows] ** 2).sum() / ((LENGTHS - mean)[rows] ** 2).sum()

    found = bootstrap.r_squared(LENGTHS, BAD, ONE_FOLD)
    assert found == pytest.approx(resampled(lambda rows: r_squared(BAD, rows)), abs=0.03)
    assert found[0] < r2_score(LENGTHS, BAD) < found[1]
    difference = bootstrap.r_squared_difference(LENGTHS, GOOD, BAD, ONE_FOLD)
    expected = resampled(lambda rows: r_squared(GOOD, rows) - r_squared(BAD, rows))
    assert difference == pytest.approx(expected, abs=0.03)
    correlations = bootstrap.correlation_difference((LENGTHS, GOOD), (LENGTHS, BAD), squared=True)
    expected = resampled(
        lambda rows: (
            stats.pearsonr(LENGTHS[rows], GOOD[rows])[0] ** 2 - stats.pearsonr(LENGTHS[rows], BAD[rows])[0] ** 2
        )
    )
    assert correlations == pytest.approx(expected, abs=0.03)


def test_copies_make_no_interval_narrower() -> None:
    once, copied = Bootstrap(np.arange(N)), Bootstrap(np.tile(np.arange(N), 5))
    folds = np.zeros(5 * N, int)
    low, high = once.r_squared(LENGTHS, BAD, ONE_FOLD)
    assert copied.r_squared(np.tile(LENGTHS, 5), np.tile(BAD, 5), folds) == pytest.approx((low, high), abs=1e-6)
    apart = Bootstrap(np.arange(5 * N)).r_squared(np.tile(LENGTHS, 5), np.tile(BAD, 5), folds)
    assert apart[1] - apart[0] < 0.6 * (high - low)


def test_the_difference_of_two_correlations_of_the_same_sentences_is_covered_and_narrower_than_of_others() -> None:
    """Both columns follow the same length with the same noise, and one of them a little less."""
    random, covered, told, n = np.random.default_rng(1), 0, 0, 300
    truth = 1 / np.sqrt(1 + 1) - 1 / np.sqrt(1 + 1 + 0.3)
    for _ in range(100):
        x, shared, own = random.normal(size=(3, n))
        one, other = x + shared, x + shared + np.sqrt(0.3) * own
        low, high = Bootstrap(np.arange(n)).correlation_difference((x, one), (x, other))
        covered += low <= truth <= high
        r = [np.arctanh(np.corrcoef(x, column)[0, 1]) for column in (one, other)]
        told += low > 0 and abs(r[0] - r[1]) < 1.96 * np.sqrt(2 / (n - 3))  # as if they were of other sentences
    assert covered >= 92
    assert told >= 50


def test_what_is_undefined_has_no_interval() -> None:
    assert np.isnan(Bootstrap(np.arange(5)).r_squared(np.full(5, 7.0), np.full(5, 7.0), np.zeros(5, int))).all()
