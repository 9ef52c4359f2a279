import numpy as np
import pytest
from support.lines import sample

from clsviz.statistics import fit


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


def test_three_points_off_a_line_leave_r_squared_open() -> None:
    assert fit([1, 2, 3], [1, 3, 2]).r_squared_interval == (0, 1)
    assert fit([1, 2, 3], [1, 2, 3]).r_squared_interval == pytest.approx((1, 1))
