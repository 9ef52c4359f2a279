"""What is said of a sentence that the visitor typed, beside those of the corpus."""

import math
from typing import TYPE_CHECKING

from clsviz.settings import Unit
from clsviz.statistics.lengths import percentile_at_length
from clsviz.words.numbers import between, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData

_MOST_TOKENS = 80

_CUT = ":orange[cut short: the model reads only the beginning]"


def facts(length: int, norm: float, unit: Unit, shown: "ViewData | None", *, is_truncated: bool) -> str:
    """Its length and norm against the regression line and the corpus where these are known, as Markdown."""
    facts = [f"**{length:,} {unit.singular if length == 1 else unit}**", f"norm **{number(norm)}**"]
    if shown is None:
        return " · ".join([*facts, *([_CUT] if is_truncated else [])])
    there = shown.distinct_lengths
    is_inside = len(there) > 0 and there[0] <= length <= there[-1]
    if shown.fit and is_inside:
        line = float(shown.fit.predict(length))
        facts.append(f"the line predicts {number(line)} for this length (residual {number(norm - line, sign='+')})")
    compared = among(length, norm, shown.lengths, shown.norms)
    facts.append(compared or "too few corpus sentences about as long for a comparison")
    if len(there) and not is_inside:
        range_of_line = f"{between(there[0], there[-1])} {unit}"
        facts.append(f":orange[outside the lengths of the picture ({range_of_line}), so nothing is predicted]")
    if is_truncated:
        facts.append(_CUT)
    return " · ".join(facts)


def among(length: int, norm: float, lengths: "NDArray[np.int32]", norms: "NDArray[np.float32]") -> str:
    """Where the norm lies among those (n,) of corpus sentences of about its length, or "" if these are too few."""
    found = percentile_at_length(length, norm, lengths, norms)
    if found is None:
        return ""
    percent, n = found
    sentences = f"{n:,} corpus sentences about as long"
    if math.isnan(percent):
        return f"the same as that of all {sentences}, up to rounding"
    return f"tops {percentage(percent)} of {sentences}"


def percentage(percent: float) -> str:
    """A percentage as a whole number; 0% and 100% only where it is neither more nor less."""
    shown = f"{percent:.0f}"
    if shown in ("0", "100") and 0 < percent < 100:
        shown = f"{min(max(percent, 0.1), 99.9):.1f}"
    return f"{shown}%"


def tokens(tokens: list[str]) -> str:
    """The tokens of a sentence, as far as there is room."""
    rest = len(tokens) - _MOST_TOKENS
    return "  ".join(tokens[:_MOST_TOKENS]) + (f"  … and {rest:,} more" if rest > 0 else "")
