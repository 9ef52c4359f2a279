import math

import pytest

from clsviz.numbers import counted, folded, length, number, percent, points, seconds, times

CASES = [
    (number, [(7.6412, "7.64"), (-0.005134, "−0.00513"), (12345.6, "12,300"), (0.0, "0")]),
    (number, [(-3.2e-6, "−3.2 × 10⁻⁶"), (99.96, "100"), (math.inf, "∞"), (math.nan, "–")]),
    (percent, [(0.01849, "1.8%"), (0.254, "25%"), (0.0, "0%"), (1.0, "100%"), (-0.02, "−2%")]),
    (percent, [(0.9999, "over 99%"), (0.0001, "under 0.1%"), (math.nan, "–")]),
    (points, [(0.0433, "4.3 points"), (-0.1, "−10 points"), (math.nan, "–")]),
    (times, [(3.84, "3.8×"), (0.05, "0.0500×"), (math.inf, "–")]),
    (counted, [(1, "1 sentence"), (4993, "4,993 sentences")]),
    (seconds, [(0.2, "1 s"), (600, "10 min"), (9000, "2.5 h")]),
]


@pytest.mark.parametrize(("write", "texts"), CASES)
def test_numbers_are_rounded_and_shares_never_to_none_or_all(write, texts) -> None:
    assert [(value, write(value)) for value, _ in texts] == texts


def test_lengths_have_their_unit() -> None:
    texts = [length(0.03, "tokens"), length(4.31, "tokens"), length(9.96, "words")]
    assert texts == ["under 0.1 tokens", "4.3 tokens", "10 words"]


def test_a_row_in_json_has_pairs_and_null() -> None:
    row = {"r": 0.5, "r_low": 0.25, "r_high": 1.0, "s_low": math.nan, "s_high": math.nan}
    assert folded(row) == {"r": 0.5, "r_interval": [0.25, 1.0], "s_interval": None}
