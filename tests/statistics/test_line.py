"""The line, against least squares, HC3 and fractions written out; cutoffs and flat lengths."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from support.lines import sample

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import r_squared_interval
from clsviz.statistics.line import audit, by_cutoff, fit, flat, r_squared
from clsviz.statistics.summary import Census


def test_the_line_is_the_least_squares_one() -> None:
    lengths, norms = sample(2000)
    line = fit(lengths, norms)
    design = np.stack([np.ones(2000), lengths], axis=1)
    (intercept, slope), (residual,), *_ = np.linalg.lstsq(design, norms.astype(float))
    assert line.intercept == pytest.approx(intercept, rel=1e-9)
    assert line.slope == pytest.approx(slope, rel=1e-9)
    assert line.r_squared == pytest.approx(1 - residual / ((norms - norms.mean(dtype=float)) ** 2).sum(), rel=1e-6)
    assert line.spearman == pytest.approx(np.corrcoef(stats.rankdata(lengths), stats.rankdata(norms))[0, 1])
    np.testing.assert_allclose(line.predict([10, 20]), intercept + slope * np.array([10, 20]))
    assert (line.n, line.norm_mean, line.norm_sd) == (
        2000,
        pytest.approx(norms.mean()),
        pytest.approx(norms.std(ddof=1)),
    )


def test_the_intervals_are_those_of_hc3() -> None:
    """MacKinnon and White's formula, written out."""
    lengths, norms = sample(500)
    design = np.stack([np.ones(500), lengths], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    leverage = np.einsum("ni,ij,nj->n", design, inverse, design)
    residuals = norms - design @ (inverse @ design.T @ norms)
    covariance = inverse @ (design.T * (residuals / (1 - leverage)) ** 2) @ design @ inverse
    line = fit(lengths, norms)
    margin = stats.t.ppf(0.975, 498) * np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(line.intercept_interval, line.intercept + margin[0] * np.array([-1, 1]), rtol=1e-6)
    np.testing.assert_allclose(line.slope_interval, line.slope + margin[1] * np.array([-1, 1]), rtol=1e-6)
    low, high = line.band([0.0, 40.0])
    np.testing.assert_allclose([low[0], high[0]], line.intercept_interval, rtol=1e-6)
    at = np.array([1, 40.0])
    assert high[1] - low[1] == pytest.approx(2 * stats.t.ppf(0.975, 498) * np.sqrt(at @ covariance @ at))


@pytest.mark.parametrize(("seed", "is_told_by_r_squared"), [(88, True), (110, False)])
def test_what_one_of_two_intervals_does_not_tell_apart_from_nothing_neither_does(
    seed: int, is_told_by_r_squared: bool
) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 60, 100)
    norms = 9 + random.standard_normal(100) + 0.008 * lengths
    line = fit(lengths, norms)
    margin = line.t * line.covariance[1, 1] ** 0.5
    x, y = lengths.astype(float), norms
    assert (r_squared_interval(x, y).ends[0] > 0) is is_told_by_r_squared is not (line.slope - margin > 0)
    assert line.slope_interval == pytest.approx((min(line.slope - margin, 0), line.slope + margin))
    assert line.r_squared_interval == (0, r_squared_interval(x, y).ends[1])
    assert by_cutoff(lengths, lengths, norms, np.arange(100)).iloc[-1]["lower"] == 0
    counted = Census.of(lengths, norms).fit()
    assert counted.r_squared_interval[0] == 0
    assert counted.slope_interval[0] <= 0


def test_a_line_that_hangs_on_one_sentence_has_no_certain_slope() -> None:
    line = fit([5, 5, 5, 40], [7.0, 7.1, 7.3, 9.0])
    assert line.slope == pytest.approx((9.0 - 21.4 / 3) / 35)
    assert line.slope_interval == line.intercept_interval == (-np.inf, np.inf)
    assert np.isinf(line.band([5, 40])).all()
    for lengths in ([4, 4, 5], [4, 5, 4, 4], [3, 3, 3, 3, 4]):  # where that is exact, to the last bit
        assert fit(lengths, np.arange(len(lengths)) ** 2).slope_interval == (-np.inf, np.inf)


@pytest.mark.parametrize("spread", [1e-4, 1e-2, 1.0])
def test_the_line_keeps_its_digits_where_the_norm_hardly_varies(spread: float) -> None:
    """As in the first layers: norms near 8 that vary by 5e-5. Compared with exact arithmetic on fractions."""
    lengths, norms = sample(60)
    norms = 8 + spread * (norms - norms.mean(dtype=float))
    x, y = ([Fraction(float(value)) for value in values] for values in (lengths, norms))
    mean_x, mean_y = sum(x) / 60, sum(y) / 60
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    xx, yy = sum((a - mean_x) ** 2 for a in x), sum((b - mean_y) ** 2 for b in y)
    line = fit(lengths, norms)
    assert line.slope == pytest.approx(float(xy / xx), rel=1e-11)
    assert line.intercept == pytest.approx(float(mean_y - xy / xx * mean_x), rel=1e-13)
    assert line.r_squared == pytest.approx(float(xy**2 / xx / yy), rel=1e-10)
    assert r_squared(lengths, norms) == pytest.approx(float(xy**2 / xx / yy), rel=1e-10)


def test_each_cutoff_has_the_line_of_its_sentences() -> None:
    lengths, norms = sample(900)
    clusters = np.random.default_rng(0).integers(0, 500, 900)
    table = by_cutoff(lengths, 2 * lengths, norms, clusters)
    assert table["length_cutoff"].tolist() == [10, 15, 20, 25, 30, 40, 50, 60, 80]  # no sentence has 80 tokens or more
    for row in table.itertuples():
        under = lengths < row.length_cutoff
        line = fit(2 * lengths[under], norms[under], clusters[under])
        assert row.n == line.n
        assert row.slope == pytest.approx(line.slope)
        assert row.r_squared == pytest.approx(line.r_squared)
        assert (row.lower, row.upper) == pytest.approx(line.r_squared_interval)
    assert by_cutoff(lengths, lengths, norms, cutoffs=[3]).empty


def test_lengths_weighted_alike_are_as_if_drawn_alike() -> None:
    random = np.random.default_rng(0)
    few, many = np.repeat(np.arange(4, 40), 200), np.repeat(np.arange(4, 40), np.r_[4:40] ** 2)
    lines = []
    for lengths in (few, many, np.append(many, random.integers(40, 500, 5000))):
        norms = lengths / 20 + random.normal(size=len(lengths))
        lines.append(flat(lengths, norms))
    assert all(line.absent == () for line in lines)
    truth = 1 / (1 + 1 / (np.var(np.arange(4, 40)) / 400))
    assert [line.r_squared for line in lines] == pytest.approx([truth] * 3, abs=0.03)
    norms = few / 20 + random.normal(size=len(few))
    assert flat(few, norms).r_squared == pytest.approx(stats.pearsonr(few, norms).statistic ** 2)  # all weigh the same


def test_lengths_that_are_absent_are_named() -> None:
    lengths, norms = sample(500)
    assert flat(lengths[lengths < 36], norms[lengths < 36]).absent == (36, 37, 38, 39)
    with pytest.raises(UndefinedFitError):
        flat(np.full(9, 50), np.arange(9))


def test_an_audit_compares_the_same_sentences() -> None:
    random = np.random.default_rng(5)
    lengths = random.integers(3, 80, 300)
    exact = 7 + 0.01 * lengths + random.normal(0, 0.3, 300)
    fast = exact + random.normal(0, 0.02, 300)
    found = audit(lengths, exact, fast)
    assert found.n == 300
    assert found.largest_error == pytest.approx(max(abs(a - b) for a, b in zip(exact, fast, strict=True)))
    assert found.mean_error == pytest.approx(np.mean(np.abs(exact - fast)))
    assert found.norm_sd == pytest.approx(np.std(exact))
    change = fit(lengths, fast).r_squared - fit(lengths, exact).r_squared
    assert found.r_squared_change == pytest.approx(change, abs=1e-12)
    assert found.is_measurable


@pytest.mark.parametrize(("spread", "error", "is_measurable"), [(0.1, 0.01, True), (0.01, 0.1, False), (0, 0, True)])
def test_what_varies_by_less_than_the_error_is_not_measurable(spread: float, error: float, is_measurable: bool) -> None:
    signs = np.array([1, -1] * 10)
    exact = 5 + spread * signs
    assert audit(np.arange(20), exact, exact - error * signs).is_measurable is is_measurable


def test_errors_that_follow_the_length_change_r_squared_though_the_norm_varies_by_far_more() -> None:
    """Beside the spread of the norm such errors look small."""
    random = np.random.default_rng(2)
    lengths = random.integers(3, 80, 256)
    exact = 7 + 3e-3 * lengths + random.normal(0, 0.25, 256)
    along = (lengths - lengths.mean()) / lengths.std()
    fast = exact + 0.02 * along
    found = audit(lengths, exact, fast)
    assert found.largest_error < found.norm_sd / 5
    assert found.r_squared_change == pytest.approx(fit(lengths, fast).r_squared - fit(lengths, exact).r_squared)
    assert found.r_squared_change > 0.02
    assert found.is_measurable
    assert not found.keeps_r_squared
    assert audit(lengths, exact, exact + 0.002 * along).keeps_r_squared
    assert not audit(lengths, exact, exact + along).keeps_r_squared  # nor where it is not even measurable


def test_an_audit_without_a_line_has_no_change_of_r_squared() -> None:
    assert audit([4, 4, 4], [1, 2, 3], [1, 2, 3]).r_squared_change is None
    assert audit([4], [1], [1.5]).largest_error == 0.5
