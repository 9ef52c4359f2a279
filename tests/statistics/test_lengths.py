import numpy as np
import pytest
from scipy import stats

from clsviz.errors import Undefined
from clsviz.statistics.lengths import bands, extremes, percentile, spread, unread_share


def test_spread_compares_the_standard_deviations_of_the_outer_fifths(sample):
    x, y, clusters = sample(400, n_clusters=120)
    ends = [x <= np.quantile(x, 0.2), x >= np.quantile(x, 0.8)]
    ratios = []
    for cluster in [-1, *np.unique(clusters[ends[0] | ends[1]])]:
        short, long = (y[end & (clusters != cluster)].std(ddof=1) for end in ends)
        ratios.append(np.log(short / long))
    ratio, *without = ratios
    n, squares = len(without), (without - np.mean(without)) ** 2
    degrees = 2 * squares.sum() ** 2 / ((squares - squares.mean()) ** 2).sum()
    margin = stats.t.ppf(0.975, min(degrees, n - 2)) * np.sqrt((n - 1) / n * squares.sum())
    numbers = spread(x, y, clusters)
    expected = [ratio, ratio - margin, ratio + margin]
    assert np.allclose(np.log([numbers.ratio, *numbers.interval]), expected)
    assert not numbers.is_by_slope


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
    table = bands(x, y)
    assert table["lengths"].tolist() == [*range(2, 60, 5)]
    for middle, *quantiles in table.to_numpy():
        assert np.allclose(quantiles, np.quantile(y[abs(x - middle) <= 2], [0.05, 0.5, 0.95]))
    assert len(bands([], [])) == len(bands([3, 4], [7.0, 8.0])) == 0


def test_extremes_are_the_outer_hundredths_and_what_ties_with_them():
    x = np.arange(400)
    y = np.where(x < 6, 1.0, 2 + x / 400)  # the lowest six tie; the highest four are the longest
    assert extremes(x, y) == 0.6


def test_percentile_counts_equal_norms_half(sample):
    x, y, _ = sample(2000)
    y = y.round(1)
    near = y[(x >= 36) & (x <= 44)]
    assert (near == 6.5).any()
    expected = stats.percentileofscore(near, 6.5, kind="mean")
    assert np.isclose(percentile(6.5, 40, y, x), expected)


@pytest.mark.parametrize(("n", "spread_of_norms"), [(39, 1), (100, 1e-7)])
def test_percentile_takes_40_sentences_that_differ(n, spread_of_norms):
    norms = 7 + spread_of_norms * np.linspace(0, 1, n)
    assert percentile(7, 10, norms, np.full(n, 11)) is None


@pytest.mark.parametrize(
    ("truncated", "limit", "read"),
    [((0, 0, 1), 0, 60), ((0, 0, 1), 62, 62), ((1, 1, 1), 15, 15), ((1, 1, 1), 0, 19)],
)
def test_tokens_beyond_the_limit_are_unread(
    truncated: tuple[int, ...], limit: int, read: int
) -> None:
    n_tokens = np.array([20, 60, 100], np.int32)
    expected = sum(max(n - read, 0) for n, cut in zip(n_tokens, truncated, strict=True) if cut)
    share = unread_share(n_tokens, np.array(truncated, bool), limit)
    assert share == pytest.approx(expected / 180)
