import math

import pytest

from clsviz.results.numbers import counted, length, number, percent, seconds, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.6412, "7.64"),
        (-0.005134, "−0.00513"),
        (12345.6, "12,300"),
        (0.0, "0"),
        (-3.2e-6, "−3.2 × 10⁻⁶"),
        (99.96, "100"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.01849, "1.8%"),
        (0.254, "25%"),
        (0.0, "0%"),
        (1.0, "100%"),
        (0.9999, "over 99%"),
        (0.0001, "under 0.1%"),
        (-0.02, "−2%"),
        (math.nan, "–"),
    ],
)
def test_shares_are_never_rounded_to_none_or_all(share: float, text: str) -> None:
    assert percent(share) == text


def test_other_forms() -> None:
    assert [times(3.84), times(0.05), counted(1), counted(4993)] == [
        "3.8×",
        "0.0500×",
        "1 sentence",
        "4,993 sentences",
    ]
    assert [seconds(0.2), seconds(600), seconds(9000)] == ["1 s", "10 min", "2.5 h"]
    assert [length(0.03, "tokens"), length(4.31, "tokens"), length(9.96, "words")] == [
        "under 0.1 tokens",
        "4.3 tokens",
        "10 words",
    ]
