"""Numbers, durations and costs in words."""

import math
from collections.abc import Sequence

from clsviz.jobs import Cost

_ROUNDING = 1e-9
"""What a share of 1 may be off by, by rounding."""

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

_LARGE = 1e9
"""From here on, a number is not written in full."""

_DAY = 24 * 3600


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """A number to that many decimals, or in scientific notation if it is large, or too small for these.

    With sign “+”, positive numbers show theirs too. What is undefined is a dash.
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if value == 0 or 10 ** (1 - digits) <= abs(value) < _LARGE:
        text = f"{value:{sign}.{digits}f}"
    else:
        significand, exponent = f"{value:{sign}.{digits if abs(value) >= _LARGE else 1}e}".split("e")
        text = f"{significand} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def share(value: float) -> str:
    """A share in percent; one that is not none is never 0.0%, and one that is not the whole never 100.0%."""
    if 0 < value < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= value < 1 - _ROUNDING else f"{value:.1%}"


def share_in_short(value: float) -> str:
    """A share in percent to two digits; never 0% or 100% unless it is."""
    if 0.0995 <= value < 1 - _ROUNDING:
        return ">99%" if value >= 0.995 else f"{value:.0%}"
    return "100%" if value >= 0.0995 else "0%" if value <= 0 else share(value)


def r_squared(value: float, digits: int = 3) -> str:
    """R² to that many decimals; one that is not 1 is never 1.000."""
    text = f"{value:.{digits}f}"
    return f">{1 - 10**-digits:.{digits}f}" if float(text) == 1 and value < 1 - _ROUNDING else text


def r_squared_in_short(value: float) -> str:
    """R² to two decimals; how far below 0 it is says nothing."""
    return "below 0" if round(value, 2) < 0 else f"{abs(value):.2f}"


def counted(n: int, what: str = "sentence") -> str:
    """How many there are of what has a regular plural."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def between(low: float, high: float) -> str:
    """Whole numbers from one to the other, or the one that they are."""
    return f"{low:,.0f}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:,.0f} to {high:,.0f}"


def runs(values: Sequence[int]) -> str:
    """Ascending whole numbers, those that follow each other as ranges."""
    ends = [index for index, value in enumerate(values) if index + 1 == len(values) or values[index + 1] != value + 1]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return ", ".join(between(values[start], values[end]) for start, end in zip(starts, ends, strict=True))


def cost(cost: Cost) -> str:
    """What a run takes, to follow its name."""
    if not cost.seconds:
        return "is already measured"
    takes = f"takes about {duration(cost.seconds)}"
    return f"downloads {cost.megabytes:,} MB and {takes}" if cost.megabytes else takes


def duration(seconds: float) -> str:
    """A time to wait, rounded, because it is an estimate."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:,.1f} days"
