"""Numbers in words, and as JSON has them."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from clsviz.settings import SETTINGS

DASH = "–"  # an undefined number

SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """A number with three significant digits: 7.64, −0.00513, 12,300."""
    if not math.isfinite(value):
        return DASH if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    if decimals > 6:
        significand, exponent = f"{value:.1e}".split("e")
        power = str(int(exponent)).translate(SUPERSCRIPTS)
        return f"{significand} × 10{power}".replace("-", "−")
    return f"{rounded:,.{max(decimals, 0)}f}".replace("-", "−")


def rounded(value: float) -> str:
    """A number with two significant digits, at most: 3.8, 2, 120."""
    return f"{float(f'{value:.2g}'):g}".replace("-", "−")


def percent(share: float) -> str:
    """A share with two significant digits: 1.8%, 25%; never 0% or 100% unless it is."""
    if not math.isfinite(share):
        return DASH
    if 0 < share < 0.0005:
        return "under 0.1%"
    if share < -1:
        return "below −100%"
    if 0.995 <= share < 1 - 1e-9:
        return "over 99%"
    return f"{rounded(100 * share)}%"


def times(ratio: float) -> str:
    """A ratio: 3.8×."""
    if not math.isfinite(ratio):
        return DASH
    if not 0.01 <= ratio <= 100:
        return "0×" if ratio == 0 else "over 100×" if ratio > 1 else "under 0.01×"
    return f"{number(ratio) if ratio < 0.1 else f'{ratio:.1f}'}×"


def points(difference: float) -> str:
    """A difference of shares: 4.3 points, where 4.3% might be a share of a share."""
    if not math.isfinite(difference):
        return DASH
    return f"{rounded(100 * difference)} points"


def count(value: float) -> str:
    """A whole number: 4,993."""
    return f"{value:,.0f}"


def counted(n: int, noun: str = "sentence") -> str:
    """A number of things with a regular plural: 1 sentence, 4,993 sentences."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def seconds(value: float) -> str:
    """A time to wait, rounded, because it is an estimate."""
    if value < 90:
        return f"{max(1, round(value))} s"
    return f"{round(value / 60)} min" if value < 5400 else f"{value / 3600:.1f} h"


def length(value: float, unit: str) -> str:
    """A difference of lengths: 4.3 tokens, 17 characters."""
    if not math.isfinite(value):
        return DASH
    amount = "under 0.1" if value < 0.05 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"
    return f"{amount} {unit}"


FORMS: Final[dict[str, Callable[[float], str]]] = {
    "number": number,
    "percent": percent,
    "points": points,
    "times": times,
    "count": count,
    **{unit: functools.partial(length, unit=unit) for unit in SETTINGS["unit"].values},
}
"""Ways to write the value of a fact."""


def lowered(sentence: str) -> str:
    """A sentence as it continues another one."""
    return f"{sentence[:1].lower()}{sentence[1:]}"


def folded(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a table as JSON has it: intervals as pairs, null where undefined."""
    import pandas as pd

    values = {str(name): None if pd.isna(value) else value for name, value in row.items()}
    for low in [name for name in values if name.endswith("_low")]:
        name = low.removesuffix("_low")
        ends = [values.pop(low), values.pop(f"{name}_high")]
        values[f"{name}_interval"] = None if None in ends else ends
    return values
