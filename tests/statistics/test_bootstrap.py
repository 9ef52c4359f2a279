"""The bootstrap of groups, against resamples written out and the truth of made-up data."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score

from clsviz.statistics.intervals import N_DRAWS, Bootstrap

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
    for _ in range(200):
        x, shared, own = random.normal(size=(3, n))
        one, other = x + shared, x + shared + np.sqrt(0.3) * own
        low, high = Bootstrap(np.arange(n)).correlation_difference((x, one), (x, other))
        covered += low <= truth <= high
        r = [np.arctanh(np.corrcoef(x, column)[0, 1]) for column in (one, other)]
        told += low > 0 and abs(r[0] - r[1]) < 1.96 * np.sqrt(2 / (n - 3))  # as if they were of other sentences
    assert covered >= 184  # 92%
    assert told >= 100


def test_what_is_undefined_has_no_interval() -> None:
    assert np.isnan(Bootstrap(np.arange(5)).r_squared(np.full(5, 7.0), np.full(5, 7.0), np.zeros(5, int))).all()
