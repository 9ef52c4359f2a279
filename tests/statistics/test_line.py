import math

import numpy as np
import pytest
from scipy import stats

from clsviz.errors import Undefined
from clsviz.statistics.line import fit


def without_each(clusters, statistic):
    """The statistic of the sentences outside each cluster, by computing it anew."""
    return np.array([statistic(clusters != cluster) for cluster in np.unique(clusters)])


def test_line_is_that_of_polyfit(sample):
    x, y, clusters = sample()
    line = fit(x, y, clusters)
    assert np.allclose([line.slope, line.intercept], np.polyfit(x, y, 1), rtol=1e-10)
    assert math.isclose(line.r2, np.corrcoef(x, y)[0, 1] ** 2)
    assert (line.norm_mean, line.norm_sd) == (y.mean(), y.std(ddof=1))


@pytest.mark.parametrize("n_clusters", [40, 0])
def test_slope_interval_and_band_are_by_refits_without_each_cluster(sample, n_clusters):
    x, y, clusters = sample(n_clusters=n_clusters)
    at = np.array([x.min(), x.mean(), x.max() + 5])

    def slope_and_heights(rows):
        slope, intercept = np.polyfit(x[rows], y[rows], 1)
        return np.array([slope, *(slope * at + intercept)])

    own, line = slope_and_heights(clusters >= 0), fit(x, y, clusters)
    squares = ((without_each(clusters, slope_and_heights) - own) ** 2).sum(axis=0)
    cv3, hc3 = stats.t.ppf(0.975, 39) * np.sqrt(39 / 40), stats.t.ppf(0.975, 198)
    margins = (cv3 if n_clusters else hc3) * np.sqrt(squares)
    expected = np.stack([own - margins, own + margins])
    assert np.allclose(line.slope_interval, expected[:, 0])
    assert np.allclose(line.band(at), expected[:, 1:])


def test_r2_interval_is_fishers_by_refits_without_each_cluster(sample):
    x, y, clusters = sample(n_clusters=40)
    z = without_each(clusters, lambda rows: np.arctanh(np.corrcoef(x[rows], y[rows])[0, 1]))
    squares = (z - z.mean()) ** 2
    degrees = 2 * squares.sum() ** 2 / ((squares - squares.mean()) ** 2).sum()
    margin = stats.t.ppf(0.975, min(degrees, 38)) * np.sqrt(39 / 40 * squares.sum())
    middle = abs(np.arctanh(np.corrcoef(x, y)[0, 1]))
    assert margin < middle
    ends = np.tanh([middle - margin, middle + margin]) ** 2
    assert np.allclose(fit(x, y, clusters).r2_interval, ends)


def test_ten_row_groups_widen_the_intervals_and_nine_do_not(sample):
    x, y, clusters = sample(400)
    for n_groups, widens in ((9, False), (10, True)):
        groups = np.arange(400) * n_groups // 400
        departing = y + np.random.default_rng(1).normal(0, 0.5, n_groups)[groups]
        alone, both = fit(x, departing, clusters), fit(x, departing, clusters, groups)
        assert (np.ptp(both.slope_interval) > np.ptp(alone.slope_interval)) == widens


def test_intervals_of_slope_and_r2_agree_on_nothing(sample):
    lines = [fit(*sample(60, seed, slope=-0.005)) for seed in range(200)]
    assert {line.is_significant for line in lines} == {True, False}
    for line in lines:
        low, high = line.slope_interval
        assert line.is_significant == (not low <= 0 <= high)


def test_small_variation_keeps_its_digits(sample):
    x, y, clusters = sample()
    line, tiny = fit(x, y, clusters), fit(x, 10 + 1e-4 * y, clusters)
    assert np.allclose(tiny.slope_interval, 1e-4 * np.array(line.slope_interval), rtol=1e-8)
    assert math.isclose(tiny.r2, line.r2, rel_tol=1e-9)


def test_lines_are_unbounded_by_one_length_and_sharp_where_all_are_on_them(sample):
    x, y, clusters = sample(51)
    line = fit(np.where(clusters < 50, 10, 1000), y, clusters)
    assert (line.slope_interval, line.r2_interval) == ((-np.inf, np.inf), (0, 1))
    assert not line.is_significant
    line = fit(x, 7 + 0.1 * x, clusters)
    assert np.allclose([line.r2, *line.r2_interval], 1)
    assert np.allclose(line.slope_interval, 0.1)


def test_few_decide_where_one_group_is_half_of_the_sample(sample):
    x, y, clusters = sample(400)
    copies = np.where(clusters < 200, 0, clusters)
    y = np.where(clusters < 200, y + x / 20, y)
    assert not fit(x, y, clusters).is_few_decide
    assert fit(x, y, copies).is_few_decide


@pytest.mark.parametrize(
    ("lengths", "norms", "reason"),
    [
        ([], [], "at least 3 sentences under the length cutoff, not 0"),
        ([3, 4], [7, 8], "at least 3 sentences under the length cutoff, not 2"),
        ([3, 4, 5], [7, np.nan, np.inf], "2 of 3 norms"),
        ([5, 5, 5], [7, 8, 9], "the same length, 5."),
        ([3, 4, 5], [7, 7.000001, 7], "the same norm up to rounding, 7.0000."),
    ],
)
def test_sentences_without_a_line(lengths, norms, reason):
    with pytest.raises(Undefined) as error:
        fit(lengths, norms, np.arange(len(norms)))
    assert reason in error.value.reason
    assert error.value.remedy
