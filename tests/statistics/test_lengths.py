import numpy as np
import pandas as pd
import pytest
from scipy import stats

from clsviz.errors import Undefined
from clsviz.statistics.lengths import bands, extremes, percentile, spread


def test_spread_compares_the_standard_deviations_of_the_outer_fifths(sample):
    x, y, clusters = sample(1000)
    low, high = np.quantile(x, [0.2, 0.8])
    found = spread(x, y, clusters)
    assert np.isclose(found.ratio, y[x <= low].std(ddof=1) / y[x >= high].std(ddof=1))
    assert found.interval[1] < 1
    assert not found.is_by_slope


def test_spread_interval_is_by_ratios_without_each_cluster(sample):
    x, y, clusters = sample(400, n_clusters=120)
    ends = [x <= np.quantile(x, 0.2), x >= np.quantile(x, 0.8)]
    ratios = []
    for cluster in np.unique(clusters[ends[0] | ends[1]]):
        short, long = (y[end & (clusters != cluster)].std(ddof=1) for end in ends)
        ratios.append(np.log(short / long))
    n, squares = len(ratios), (ratios - np.mean(ratios)) ** 2
    degrees = 2 * squares.sum() ** 2 / ((squares - squares.mean()) ** 2).sum()
    margin = stats.t.ppf(0.975, min(degrees, n - 2)) * np.sqrt((n - 1) / n * squares.sum())
    found = spread(x, y, clusters)
    assert np.allclose(np.log(found.interval), np.log(found.ratio) + np.array([-margin, margin]))


def test_a_steep_line_is_named_as_what_makes_the_spread(sample):
    x, y, clusters = sample()
    assert spread(x, y - x, clusters).is_by_slope
    assert spread(np.where(x < 20, 5, x), y - x, clusters).is_by_slope
    assert not spread(np.where(x < 20, 5, x), y, clusters).is_by_slope


def test_spread_that_one_sentence_makes_is_unbounded():
    x, y = np.arange(200.0), np.where(np.arange(200) < 190, 7.0, 8.0)
    y[0] = 9
    assert spread(x, y, np.arange(200)).interval == (0, np.inf)


def test_fifths_without_differences_have_no_spread(sample):
    x, y, clusters = sample()
    with pytest.raises(Undefined, match="length, 5"):
        spread(np.where(clusters < 180, 5, x), y, clusters)
    for same in (x <= 20, x >= 40):
        with pytest.raises(Undefined, match="norms"):
            spread(x, np.where(same, 7, y), clusters)


def test_bands_are_quantiles_of_bins_with_enough_sentences(sample):
    x, y, _ = sample(1000)
    x[:7] = 110
    found = bands(x, y)
    width = int(found.last[0] - found.first[0] + 1)
    grouped = pd.Series(y).groupby(x // width * width)
    expected = grouped.quantile([0.05, 0.5, 0.95]).unstack()[grouped.size() >= 20]
    assert width == 5
    assert found.first.tolist() == expected.index.tolist()
    assert found.n.sum() == 993
    assert np.allclose(np.stack([found.low, found.median, found.high], axis=1), expected)


def test_bands_of_too_few_sentences_are_none():
    assert len(bands([], []).n) == len(bands([3, 4], [7.0, 8.0]).n) == 0


def test_extremes_are_the_outer_hundredths_and_what_ties_with_them():
    x = np.arange(400)
    y = np.where(x < 6, 1.0, 2 + x / 400)  # the lowest six tie; the highest four are the longest
    assert extremes(x, y) == 0.6


def test_percentile_counts_equal_norms_half(sample):
    x, y, _ = sample(2000)
    y = y.round(1)
    near = y[(x >= 36) & (x <= 44)]
    expected = stats.percentileofscore(near, 6.5, kind="mean")
    assert (near == 6.5).any()
    assert np.isclose(percentile(6.5, 40, y, x), expected)


@pytest.mark.parametrize(("n", "spread_of_norms"), [(39, 1), (100, 1e-7)])
def test_percentile_takes_40_sentences_that_differ(n, spread_of_norms):
    norms = 7 + spread_of_norms * np.linspace(0, 1, n)
    assert percentile(7, 10, norms, np.full(n, 11)) is None
