import math

import pytest

from clsviz.words import duration, number


@pytest.mark.parametrize(
    ("value", "digits", "sign", "said"),
    [
        (7.53164, 4, "-", "7.5316"),
        (0.2549, 2, "+", "+0.25"),
        (-0.0049, 4, "+", "−0.0049"),
        (0.0, 4, "-", "0.0000"),
        (12345.678, 2, "-", "12345.68"),
        (999_999_999.0, 1, "-", "999999999.0"),
        (1e30, 4, "-", "1.0000 × 10³⁰"),
        (-2.5e12, 2, "-", "−2.50 × 10¹²"),
        (0.00049, 4, "-", "4.9 × 10⁻⁴"),
        (-1.234e-12, 4, "-", "−1.2 × 10⁻¹²"),
        (math.inf, 4, "-", "∞"),
        (-math.inf, 4, "-", "−∞"),
        (math.nan, 4, "-", "–"),
    ],
)
def test_numbers_have_the_digits_that_matter(value: float, digits: int, sign: str, said: str) -> None:
    assert number(value, digits, sign=sign) == said


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (8.4, "8 s"),
        (89, "89 s"),
        (95, "2 min"),
        (3600, "60 min"),
        (9000, "2.5 h"),
        (8.64e6, "100.0 days"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
