import numpy as np
import pytest

from clsviz.statistics.line import audit, fit


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
