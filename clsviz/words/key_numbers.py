"""The result in numbers: on one line, and by name."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from clsviz.experiment import Experiment
from clsviz.settings import Unit
from clsviz.statistics.line import FLAT_LENGTHS
from clsviz.words.answer import FEWEST
from clsviz.words.numbers import number, r_squared, runs, share

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.statistics.line import Flat
    from clsviz.statistics.shape import Shape


def in_numbers(shown: "ViewData", experiment: Experiment, n_sampled: int, shape: "Shape | None" = None) -> str:
    """The numbers behind the headline on one line, or why there is no line."""
    fit = shown.fit
    if fit is None:
        return "" if shown.is_constant else shown.problem
    direction = ""
    if fit.r_squared_interval[0] > 0:
        direction = ", rising" if fit.slope > 0 else ", falling"
    lengths = f"{shown.distinct_lengths[0]:,}–{shown.distinct_lengths[-1]:,} {experiment.unit}"
    line = f"Straight line{direction}: {_shares(fit.r_squared, fit.r_squared_interval, shown)}"
    parts = [line] if fit.n_clusters >= FEWEST else []
    if shape is not None and shape.curve_r_squared > max(shape.curve_null, 0):
        parts.append(f"smooth curve: {share(shape.curve_r_squared)}")
    if shape is not None and not math.isnan(shape.spread_ratio):
        times = f"{shape.spread_ratio:.{1 if shape.spread_ratio >= 1 else 2}f}"
        parts.append(f"spread, shortest against longest fifth: {times}×")
    return " · ".join([*parts, f"{fit.n:,} of {n_sampled:,} sentences, {lengths}"])


def _shares(value: float, ends: tuple[float, float], shown: "ViewData") -> str:
    """A share in percent, with its interval where near-duplicates were looked for."""
    if shown.clusters is None:
        return share(value)
    low, high = (share(end) for end in ends)
    return f"{share(value)} (95% interval {low.removesuffix('%') if '<' not in low else low}–{high})"


def _with_interval(
    value: float, ends: tuple[float, float], written: Callable[[float], str] = number, *, is_known: bool
) -> str:
    interval = f" (95% interval {written(ends[0])} to {written(ends[1])})" if is_known else ""
    return f"{written(value)}{interval}"


def _r_squared(value: float) -> str:
    return r_squared(value, 4) if value >= 0.5 else number(value)


def key_numbers(
    shown: "ViewData", unit: Unit, flat: "Flat | None" = None, shape: "Shape | None" = None
) -> dict[str, str]:
    """The result, by name. flat, shape: as far as they are known."""
    if shown.fit is None:
        return {"Result": shown.problem}
    fit = shown.fit
    is_known = shown.clusters is not None

    groups = f", in {fit.n_clusters:,} groups of near-duplicates" if fit.n_clusters < fit.n else ""
    return {
        "R²": _with_interval(fit.r_squared, fit.r_squared_interval, _r_squared, is_known=is_known),
        **(_flat(flat) if flat else {}),
        f"Slope per {unit.singular}": _with_interval(fit.slope, fit.slope_interval, is_known=is_known),
        "Intercept": _with_interval(fit.intercept, fit.intercept_interval, is_known=is_known),
        "Spearman’s ρ": number(fit.spearman),
        **(_shape_numbers(shape, unit) if shape else {}),
        "Norm": f"mean {number(fit.norm_mean)}, standard deviation {number(fit.norm_sd)}",
        "Sentences": f"{fit.n:,}{groups}",
    }


def _flat(flat: "Flat") -> dict[str, str]:
    lengths = FLAT_LENGTHS
    text = _r_squared(flat.r_squared)
    if absent := flat.absent:
        text += f" (no sentence is {runs(absent)} long)"
    return {f"R² if each length from {lengths.start} to {lengths.stop - 1} counted alike": text}


def _curve(shape: "Shape") -> str:
    """R² of a curve, where there is one to test: not if no held-out norms vary."""
    if math.isnan(shape.curve_r_squared):
        return "–"
    null = "" if math.isnan(shape.curve_null) else f" (norms shuffled: below {number(shape.curve_null)})"
    return f"{_r_squared(shape.curve_r_squared)}{null}"


def _shape_numbers(shape: "Shape", unit: Unit) -> dict[str, str]:
    ends = shape.spread_ratio_interval
    spread = _with_interval(shape.spread_ratio, ends, partial(number, digits=2), is_known=ends[0] <= ends[1])
    lowest, median, highest = (number(slope * math.log(2), sign="+") for slope in shape.quantile_slopes.values())
    extremes = shape.extreme_norms
    numbers = {
        "R² of a curve": _curve(shape),
        "Spread, shortest over longest fifth": spread,
        f"Per doubling of {unit}": f"5% quantile {lowest}, median {median}, 95% quantile {highest}",
    }
    if extremes.among_all > 0:  # else the median is the shortest length, and no sentence is under it
        numbers["Most extreme norms"] = (
            f"{extremes.among_extreme:.0%} of the {extremes.n:,} are of sentences under {extremes.length:.0f} {unit}, "
            f"as are {extremes.among_all:.0%} of all"
        )
    if not math.isnan(shape.mutual_information):
        null = number(shape.mutual_information_null)
        numbers["Mutual information"] = f"{number(shape.mutual_information)} nats (lengths shuffled: below {null})"
    return numbers
