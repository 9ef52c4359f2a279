import numpy as np
import pytest
from scipy import stats

from clsviz.errors import UndefinedFitError
from clsviz.statistics.line import fit
from clsviz.statistics.shape import Shape, shape

N = 2000


def lengths(n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 60, n)


def noise(n: int = N, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(n)


def shape_of(x: np.ndarray, y: np.ndarray) -> Shape:
    return shape([f"sentence {number}" for number in range(len(x))], x, y)


def test_a_u_of_the_length_is_a_curve_and_no_line() -> None:
    x = lengths()
    y = 9 + ((x - 31) / 20) ** 2 + 0.3 * noise()
    found = shape_of(x, y)
    assert np.corrcoef(x, y)[0, 1] ** 2 < 0.02
    explained = 1 - np.mean((0.3 * noise()) ** 2) / np.var(y)
    assert found.curve_r_squared == pytest.approx(explained, abs=0.02)
    assert found.mutual_information > 3 * found.mutual_information_null


def test_norms_without_a_relation_are_not_told_apart_from_nothing() -> None:
    below = []
    for seed in range(5):
        found = shape_of(lengths(300, seed), 9 + noise(300, 100 + seed))
        assert found.curve_r_squared < 0.03
        low, high = found.spread_ratio_interval
        assert low < found.spread_ratio < high
        below.append(found.mutual_information <= found.mutual_information_null)
    assert sum(below) >= 3  # 95 of 100 would be


def test_a_funnel_is_seen_in_spread_quantiles_and_extremes() -> None:
    x = lengths()
    wide = np.where(x < 20, 2.0, 1.0)
    y = 9 + wide * noise()
    found = shape_of(x, y)
    low, high = found.spread_ratio_interval
    assert low < 2 < high
    assert found.spread_ratio == pytest.approx(2, abs=0.2)
    assert found.quantile_slopes[0.05] > 0 > found.quantile_slopes[0.95]
    assert abs(found.quantile_slopes[0.5]) < 0.15
    extremes = found.extreme_norms
    assert extremes.n == 40
    assert extremes.among_all == pytest.approx(0.5, abs=0.02)
    assert extremes.among_extreme > 0.8


def test_the_slopes_are_those_that_minimise_the_check_loss() -> None:
    x = lengths(400)
    y = 9 + 0.5 * np.log(x) + 0.2 * noise(400) * np.log(x)
    found = shape_of(x, y)
    for quantile, slope in found.quantile_slopes.items():

        def loss(line: np.ndarray, quantile: float = quantile) -> float:
            off = y - line[0] - line[1] * np.log(x)
            return float(np.mean(np.maximum(quantile * off, (quantile - 1) * off)))

        best = np.array([np.quantile(y - slope * np.log(x), quantile), slope])
        for other in (slope - 0.05, slope + 0.05):
            intercept = np.quantile(y - other * np.log(x), quantile)
            assert loss(best) <= loss(np.array([intercept, other]))
        assert slope == pytest.approx(0.5 + 0.2 * stats.norm.ppf(quantile), abs=0.1)


def test_shuffled_lengths_change_the_answer_and_the_scale_of_norms_does_not() -> None:
    x = lengths(500)
    y = 9 + x / 20 + noise(500)
    found, scaled = shape_of(x, y), shape_of(x, 5 * y)
    assert scaled.curve_r_squared == pytest.approx(found.curve_r_squared)
    assert scaled.spread_ratio == pytest.approx(found.spread_ratio)
    assert scaled.quantile_slopes[0.5] == pytest.approx(5 * found.quantile_slopes[0.5], rel=1e-3)
    control = shape_of(np.random.default_rng(3).permutation(x), y)
    assert control.curve_r_squared < 0.02 < found.curve_r_squared


def test_two_lengths_are_enough_and_few_sentences_are_not() -> None:
    x = np.tile([5, 9], 100)
    found = shape_of(x, x + noise(200))
    assert found.curve_r_squared > 0.5
    mostly_one = shape_of(np.repeat([5, 9], [180, 20]), 9 + noise(200))
    assert np.isnan(
        [mostly_one.spread_ratio, *mostly_one.spread_ratio_interval]
    ).all()  # shortest and longest are the same
    same_at_first = shape_of(np.repeat([5, 9], [2000, 500]), 9 + noise(2500))
    assert same_at_first.mutual_information <= same_at_first.mutual_information_null
    with pytest.raises(UndefinedFitError, match="at least 100 sentences"):
        shape_of(lengths(99), 9 + noise(99))
    with pytest.raises(UndefinedFitError):
        shape_of(np.full(200, 5), 9 + noise(200))


def test_norms_that_are_not_finite_have_neither_a_line_nor_a_shape() -> None:
    norms = np.append(9 + noise(199), np.nan)
    for describe in (fit, shape_of):
        with pytest.raises(UndefinedFitError, match="not finite"):
            describe(lengths(200), norms)
