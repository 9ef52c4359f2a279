"""Curve, spread, quantiles and mutual information, against scikit-learn and the formulas written out."""

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import mutual_info_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from clsviz.errors import UndefinedFitError
from clsviz.statistics.line import fit
from clsviz.statistics.ridge import folds_of
from clsviz.statistics.shape import Shape, quantiles, shape, shapes

N = 2000


def lengths(n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 60, n)


def noise(n: int = N, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(n)


def quick(x: np.ndarray, y: np.ndarray, clusters: np.ndarray | None = None) -> Shape:
    """The shape without the mutual information."""
    return next(shapes(x, y, clusters))


def test_a_u_of_the_length_is_a_curve_and_no_line() -> None:
    x = lengths()
    y = 9 + ((x - 31) / 20) ** 2 + 0.3 * noise()
    found = shape(x, y)
    assert np.corrcoef(x, y)[0, 1] ** 2 < 0.02
    explained = 1 - np.mean((0.3 * noise()) ** 2) / np.var(y)
    assert found.curve_r_squared == pytest.approx(explained, abs=0.02)
    assert found.curve_null < 0.01
    assert found.mutual_information > 3 * found.mutual_information_null


def test_a_funnel_is_seen_in_spread_quantiles_and_extremes() -> None:
    x = lengths()
    wide = np.where(x < 20, 2.0, 1.0)
    y = 9 + wide * noise()
    found = quick(x, y)
    low, high = found.spread_ratio_interval
    assert low < 2 < high
    assert found.spread_ratio == pytest.approx(2, abs=0.2)
    assert found.quantile_slopes[0.05] > 0 > found.quantile_slopes[0.95]
    assert abs(found.quantile_slopes[0.5]) < 0.15
    extremes = found.extreme_norms
    assert extremes.n == 40
    assert extremes.among_all == pytest.approx(0.5, abs=0.02)
    assert extremes.among_extreme > 0.8


def test_norms_that_tie_with_the_extreme_ones_are_extreme_too() -> None:
    x = lengths(1000)
    y = np.where(x < 20, 9.0, 9.5) + 0.01 * (np.arange(1000) < 3)
    extremes = quick(x, y).extreme_norms
    highest = np.sort(y)[-10]
    is_extreme = (y == 9.0) | (y >= highest)
    assert extremes.n == is_extreme.sum() > 900
    assert extremes.among_extreme == pytest.approx(np.mean(x[is_extreme] < np.median(x)))


def test_the_slopes_are_those_that_minimise_the_check_loss() -> None:
    x = lengths(400)
    y = 9 + 0.5 * np.log(x) + 0.2 * noise(400) * np.log(x)
    found = quick(x, y)
    for quantile, slope in found.quantile_slopes.items():

        def loss(line: np.ndarray, quantile: float = quantile) -> float:
            off = y - line[0] - line[1] * np.log(x)
            return float(np.mean(np.maximum(quantile * off, (quantile - 1) * off)))

        best = np.array([np.quantile(y - slope * np.log(x), quantile), slope])
        for other in (slope - 0.05, slope + 0.05):
            intercept = np.quantile(y - other * np.log(x), quantile)
            assert loss(best) <= loss(np.array([intercept, other]))
        assert slope == pytest.approx(0.5 + 0.2 * stats.norm.ppf(quantile), abs=0.1)


@pytest.mark.parametrize("copies", [1, 4])
def test_the_mutual_information_is_that_of_scikit_learn(copies: int) -> None:
    x = np.tile(lengths(150), copies)
    y = np.tile(9 + np.log(lengths(150)) + 0.5 * noise(150).round(1), copies)
    found = shape(x, y)
    y -= y.mean()  # as far as noise against ties goes
    assert found.mutual_information == pytest.approx(mutual_info_regression(x[:, None], y, random_state=0)[0], rel=1e-3)
    random = np.random.default_rng(0)
    null = [mutual_info_regression(random.permutation(x)[:, None], y, random_state=0)[0] for _ in range(99)]
    assert found.mutual_information_null == pytest.approx(np.quantile(null, 0.95), rel=1e-3)


def test_two_lengths_are_enough_and_few_sentences_are_not() -> None:
    x = np.tile([5, 9], 100)
    found = quick(x, x + noise(200))
    assert found.curve_r_squared > 0.5
    mostly_one = quick(np.repeat([5, 9], [180, 20]), 9 + noise(200))
    assert np.isnan(
        [mostly_one.spread_ratio, *mostly_one.spread_ratio_interval]
    ).all()  # shortest and longest are the same
    same_at_first = shape(np.repeat([5, 9], [2000, 500]), 9 + noise(2500))
    assert same_at_first.mutual_information <= same_at_first.mutual_information_null
    with pytest.raises(UndefinedFitError, match="at least 100 different sentences"):
        shape(lengths(99), 9 + noise(99))
    with pytest.raises(UndefinedFitError):
        shape(np.full(200, 5), 9 + noise(200))


def test_norms_that_are_not_finite_have_neither_a_line_nor_a_shape() -> None:
    norms = np.append(9 + noise(199), np.nan)
    for describe in (fit, shape):
        with pytest.raises(UndefinedFitError, match="not finite"):
            describe(lengths(200), norms)


def test_the_curve_is_that_of_a_pipeline_written_out() -> None:
    x, y = lengths(600), np.sin(lengths(600) / 9) + noise(600)
    clusters = np.random.default_rng(5).integers(0, 400, 600)
    knots, curve = SplineTransformer(5, knots="quantile", extrapolation="linear"), LinearRegression()
    scores = cross_val_score(
        make_pipeline(knots, curve), x[:, None].astype(float), y, cv=PredefinedSplit(folds_of(clusters))
    )
    found = quick(x, y, clusters)
    assert found.curve_r_squared == pytest.approx(scores.mean())
    assert quick(x, 1e6 + y, clusters).curve_r_squared == pytest.approx(scores.mean(), rel=1e-6)
    assert found.curve_null < 0.2 * found.curve_r_squared


def test_copies_make_a_spread_less_certain_and_a_curve_no_better() -> None:
    x, y = lengths(200), 9 + noise(200)
    clusters = np.arange(200)
    order = np.random.default_rng(0).permutation(4000)
    many = np.tile(x, 20)[order], np.tile(y, 20)[order], np.tile(clusters, 20)[order]
    once, told, untold = quick(x, y), quick(*many), quick(*many[:2])
    assert told.spread_ratio == pytest.approx(once.spread_ratio, rel=0.02)
    width = {name: np.ptp(found.spread_ratio_interval) for name, found in [("1", once), ("20", told), ("no", untold)]}
    assert width["20"] == pytest.approx(width["1"], rel=0.25)
    assert width["no"] < 0.5 * width["1"]
    assert told.curve_r_squared < told.curve_null < 0.05


def test_the_interval_of_the_spread_leaves_out_one_sentence_at_a_time() -> None:
    x, y = lengths(150), 9 + np.random.default_rng(4).standard_t(4, 150)
    short, long = x <= np.quantile(x, 0.2), x >= np.quantile(x, 0.8)

    def logarithm(used: np.ndarray) -> float:
        return float(np.log(y[short & used].std(ddof=1) / y[long & used].std(ddof=1)))

    ends = np.flatnonzero(short | long)
    off = np.array([logarithm(np.arange(150) != left_out) for left_out in ends])
    squares = (off - off.mean()) ** 2
    degrees = 2 * squares.sum() ** 2 / (squares.var() * len(ends))
    margin = stats.t.ppf(0.975, degrees) * np.sqrt(squares.sum() * (len(ends) - 1) / len(ends))
    whole = logarithm(np.ones(150, bool))
    assert quick(x, y).spread_ratio_interval == pytest.approx(np.exp([whole - margin, whole + margin]))


def test_a_spread_that_one_sentence_decides_has_no_interval() -> None:
    x, y = lengths(300), 9 + noise(300)
    short, long = x <= np.quantile(x, 0.2), x >= np.quantile(x, 0.8)
    y[short] = 8.5
    y[np.argmin(x)] = 12
    found = quick(x, y)
    assert found.spread_ratio == pytest.approx(y[short].std(ddof=1) / y[long].std(ddof=1))
    assert np.isnan(found.spread_ratio_interval).all()


def test_the_quantile_curves_have_their_share_of_norms_below_them() -> None:
    x = lengths()
    y = 9 + 0.3 * noise() * np.log(x)
    found = quantiles(x, y)
    whole = quick(x, y)
    assert (found.slopes, found.intercepts) == (whole.quantile_slopes, whole.quantile_intercepts)
    for quantile in (0.05, 0.5, 0.95):
        assert np.mean(y < found.at(quantile, x)) == pytest.approx(quantile, abs=0.005)


def test_norms_that_are_all_the_same_at_one_end_have_no_spread_there() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 60, 1500)
    for among_the_shortest in (10.0, 1000.1):
        norms = np.where(lengths > 50, among_the_shortest + random.normal(size=1500), among_the_shortest)
        found = next(shapes(lengths, norms.astype(np.float32)))
        assert (found.spread_ratio, *found.spread_ratio_interval) == (0, 0, 0)
