import numpy as np
import pytest
from scipy import stats

from clsviz.errors import UndefinedFitError
from clsviz.statistics import audit, bins, fit, percentile_at_length, slices


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, and norms that fall a little with them and spread most among short sentences, as real ones do."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 80, n)
    norms = 7.6 - 0.005 * lengths + random.normal(size=n) * 0.3 * (1 + 10 / lengths)
    return lengths, norms.astype(np.float32)


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


@pytest.mark.parametrize("n", [200, 20_000])
def test_the_interval_of_r_squared_is_that_of_drawing_sentences(n: int) -> None:
    lengths, norms = sample(n)
    random = np.random.default_rng(1)
    draws = []
    for _ in range(1000):
        drawn = random.integers(0, n, n)
        draws.append(np.corrcoef(lengths[drawn], norms[drawn])[0, 1] ** 2)
    line = fit(lengths, norms)
    low, high = line.r_squared_interval
    assert low < line.r_squared < high
    width = np.subtract(*np.quantile(draws, [0.975, 0.025]))
    assert low == pytest.approx(np.quantile(draws, 0.025), abs=0.15 * width)
    assert high == pytest.approx(np.quantile(draws, 0.975), abs=0.15 * width)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    lengths, norms = sample(200_000, seed=9)
    truth = np.corrcoef(lengths, norms)[0, 1] ** 2
    covered = 0
    for start in range(0, 200_000, 2000):
        low, high = fit(lengths[start : start + 2000], norms[start : start + 2000]).r_squared_interval
        covered += low <= truth <= high
    assert 88 <= covered <= 100  # of 100; fewer than 88 has a probability of 0.2% at a true 95%


def test_a_perfect_line_has_no_width() -> None:
    line = fit([1, 2, 3, 5], [2, 4, 6, 10])
    assert line.r_squared == pytest.approx(1)
    assert line.r_squared_interval == (pytest.approx(1), pytest.approx(1))
    assert line.slope == pytest.approx(2)


def test_the_interval_of_r_squared_reaches_down_to_0_where_there_is_nothing() -> None:
    """And up to what the slope's interval allows."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 40, (100, 60))
    lines = [fit(row, random.normal(size=60)) for row in lengths]
    assert sum(line.r_squared_interval[0] == 0 for line in lines) >= 90
    least = min(lines, key=lambda line: line.r_squared)
    steepest = max(map(abs, least.slope_interval))
    assert least.r_squared_interval[1] > 0.5 * (steepest * lengths.std() / least.norm_sd) ** 2


def test_a_line_that_hangs_on_one_sentence_has_no_certain_slope() -> None:
    line = fit([5, 5, 5, 40], [7.0, 7.1, 7.3, 9.0])
    assert line.slope == pytest.approx((9.0 - 21.4 / 3) / 35)
    assert line.slope_interval == line.intercept_interval == (-np.inf, np.inf)
    assert np.isinf(line.band([5, 40])).all()
    for lengths in ([4, 4, 5], [4, 5, 4, 4], [3, 3, 3, 3, 4]):  # where that is exact, to the last bit
        assert fit(lengths, np.arange(len(lengths)) ** 2).slope_interval == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("lengths", "norms", "reason"),
    [
        ([], [], "shorter than the length cutoff"),
        ([5], [7.0], "1 sentence says"),
        ([5, 6], [7.0, 7.1], "2 sentences says"),
        ([5, 5, 5], [7.0, 7.1, 7.2], "All 3 sentences are 5 long"),
        ([5, 6, 7], [7.0, 7.0, 7.0], "same for all 3"),
        ([5, 6, 7], [0.0, 0.0, 0.0], "same for all 3"),
        ([5, 6, 7], [7.0, 7.000001, 7.0], "same for all 3"),
    ],
)
def test_what_determines_no_line_says_why(lengths: list[int], norms: list[float], reason: str) -> None:
    with pytest.raises(UndefinedFitError, match=reason):
        fit(lengths, norms)


def test_a_spread_above_rounding_is_one() -> None:
    lengths = np.arange(3, 60)
    norms = (9.714 + 5e-6 * lengths).astype(np.float32)
    assert fit(lengths, norms).r_squared > 0.99


def test_bins_hold_the_quartiles_of_their_lengths() -> None:
    lengths, norms = sample(3000)
    table = bins(lengths, norms)
    assert len(table) <= 16
    assert table["n"].sum() == 3000
    row = table[(table["first"] <= 22) & (table["last"] >= 22)].iloc[0]
    inside = norms[(lengths >= row["first"]) & (lengths <= row["last"])]
    np.testing.assert_allclose(
        [row["lower"], row["median"], row["upper"]], np.quantile(inside.astype(float), [0.25, 0.5, 0.75])
    )
    assert row["n"] == len(inside)
    assert row["length"] == pytest.approx(lengths[(lengths >= row["first"]) & (lengths <= row["last"])].mean())
    assert (table["first"].to_numpy()[1:] == table["last"].to_numpy()[:-1] + 1).all()


def test_bins_with_too_few_sentences_are_left_out() -> None:
    table = bins([3] * 10 + [4] * 2, [7.0] * 12)
    assert table["first"].tolist() == [3]
    assert bins([], []).empty


def test_slices_hold_the_lengths_at_their_norms() -> None:
    lengths, norms = sample(10_000)
    table = slices(lengths, norms)
    assert table["n"].tolist() == [100, 400, 2000, 5000, 2000, 400, 100]
    lowest = lengths[np.argsort(norms)[:100]]
    first = table.iloc[0]
    np.testing.assert_allclose(
        [first["lower"], first["median"], first["upper"]], np.quantile(lowest, [0.05, 0.5, 0.95])
    )
    assert first["highest"] == np.sort(norms)[99]
    assert (table["highest"].to_numpy()[:-1] <= table["lowest"].to_numpy()[1:]).all()


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (39, 1), (60, 3), (500, 5), (1000, 7)])
def test_small_tails_join_their_neighbours(n: int, rows: int) -> None:
    table = slices(*sample(n))
    assert len(table) == rows
    assert table["n"].sum() == n


def test_extreme_norms_of_short_sentences_are_found_from_the_norm() -> None:
    """The original's finding: what is far out is short, what is in the middle can be of any length."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 80, 50_000)
    table = slices(lengths, 7 + random.normal(size=50_000) * (1 + 10 / lengths))
    middle, extremes = table.iloc[3], table.iloc[[0, -1]]
    assert (extremes["upper"] < middle["upper"] - 30).all()


def test_the_percentile_is_among_sentences_of_similar_length() -> None:
    lengths = np.repeat([10, 50, 100], 100)
    norms = np.concatenate([np.arange(100), np.arange(100) + 1000, np.arange(100) + 2000]).astype(float)
    assert percentile_at_length(50, 1024.5, lengths, norms) == (25.0, 100)
    assert percentile_at_length(10, 5000.0, lengths, norms) == (100.0, 100)
    assert percentile_at_length(95, 2049.5, lengths, norms) == (50.0, 100)
    assert percentile_at_length(30, 0.0, lengths, norms) is None


def test_three_points_off_a_line_leave_r_squared_open() -> None:
    assert fit([1, 2, 3], [1, 3, 2]).r_squared_interval == (0, 1)
    assert fit([1, 2, 3], [1, 2, 3]).r_squared_interval == pytest.approx((1, 1))


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


def test_an_audit_without_a_line_has_no_change_of_r_squared() -> None:
    assert audit([4, 4, 4], [1, 2, 3], [1, 2, 3]).r_squared_change is None
    assert audit([4], [1], [1.5]).largest_error == 0.5
