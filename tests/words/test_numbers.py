import pytest

from clsviz.words import number


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (12345.678, 2, "12345.68"),
        (-0.25, 4, "−0.2500"),
        (1e30, 4, "1.0000 × 10³⁰"),
        (-2.5e12, 2, "−2.50 × 10¹²"),
        (999_999_999.0, 1, "999999999.0"),
        (3.4e-30, 4, "3.4 × 10⁻³⁰"),
        (0.00056, 4, "5.6 × 10⁻⁴"),
        (0.0, 4, "0.0000"),
        (float("inf"), 4, "∞"),
    ],
)
def test_a_number_that_is_large_or_small_is_written_in_powers_of_ten(value: float, digits: int, said: str) -> None:
    assert number(value, digits) == said
