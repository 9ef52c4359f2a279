"""The answer to the main page's question: in a sentence, in numbers on one line, by name, and for every layer."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clsviz import jobs
from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import ALL, Lengths, NearDuplicates, Pooling, Precision, Unit
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.line import FLAT_LENGTHS, slope_within_ends
from clsviz.words.numbers import between, counted, number, r_squared, runs, share, share_in_short

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.statistics.line import Audit, Flat
    from clsviz.statistics.shape import Shape

FEWEST = 10
"""With fewer different sentences a line comes near any norms, so that its R² is not told."""

HARDLY = 0.05
"""An R² below this explains hardly anything."""

PENDING = "Curve and spread follow in a moment."
"""Of what is still being computed."""

_LADDER = {HARDLY: "hardly", 0.25: "a little", 0.5: "partly", 0.9: "largely"}
"""How much an R² below each of these is called."""

_WIDER = 1.25
"""A ratio of spreads from which on one of them is called wider."""

_MOSTLY_SLOPE = 0.5
"""From this R² within the shortest or the longest fifth on, most of its spread is that of the lengths in it."""

SMALL_SPREAD = 0.001
"""A norm whose standard deviation is a smaller share of its mean barely varies."""

UNTRAINED_NORM = (
    "In many models the last LayerNorm gives every vector the same norm until it is trained. Look at the pooler "
    "output instead, if there is one."
)

NOT_GROUPED = "Near-duplicates are not grouped: if there are any, the intervals are too narrow."

SHUFFLED = "As a control, lengths are shuffled across sentences, so any R² that remains is chance."


def result(shown: "ViewData", experiment: Experiment, n_sampled: int, shape: "Shape | None" = None) -> str:
    """The headline, and what else to know.

    n_sampled: how many sentences were measured. shape: what there is beyond the line, as far as it is known.
    """
    return " ".join([answer(shown, experiment, shape), *caveats(shown, experiment, n_sampled)])


def answer(shown: "ViewData", experiment: Experiment, shape: "Shape | None" = None) -> str:
    """The headline: what the line says, and the shape as far as it is known, in at most 20 words.

    The first case that applies, from what forbids a verdict to what is told of line, curve and spread.
    """
    fit = shown.fit
    if fit is None:
        if shown.is_constant:
            return "No: every sentence has the same norm, up to rounding."
        reason = shown.problem.partition(". ")[0].partition(": ")[0].removesuffix(".")
        return f"Can’t tell: {reason[:1].lower()}{reason[1:]}."
    line, curve = share_in_short(fit.r_squared), shape.curve_r_squared if shape else math.nan
    is_line, is_curve = fit.r_squared_interval[0] > 0, bool(shape and curve > max(shape.curve_null, 0))
    if experiment.lengths is Lengths.SHUFFLED:
        if is_line or is_curve:
            what = f"line accounts for {line}" if is_line else f"smooth curve accounts for {share_in_short(curve)}"
            return f"Lengths shuffled: a {what}, by chance."
        return f"Lengths shuffled: {'nothing shows' if shape else 'no line stands out'}, as it should."
    if fit.n_clusters < FEWEST:
        return f"Too few sentences to say: with {fit.n_clusters}, a straight line comes near any norms."
    if fit.n_clusters < FEW_SENTENCES:
        return f"Too few sentences to say; a straight line accounts for {line} of these differences."
    if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
        return f"Only on paper: norms are nearly constant; a line accounts for {line} of what variation there is."
    if shown.census or shown.clusters is None:
        where = " in the whole corpus" if shown.census else ""
        return f"A straight line accounts for {line} of the differences between norms{where}."
    if fit.rests_on_few:
        return f"Uncertain: a line accounts for {line} of the differences, but few sentences decide it."
    if shape is None:
        if is_line:
            return f"By a straight line, {in_words(fit.r_squared)}: it accounts for {line} of the differences."
        return "No straight trend stands out; curves are still being checked."
    most = max(fit.r_squared if is_line else 0.0, curve if is_curve else 0.0)
    if most < HARDLY and (spread := _spread(shape, shown)):
        return f"On average, {'hardly' if is_line or is_curve else 'no trend stands out'}; but {spread}."
    how_much = in_words(most).capitalize()
    if is_curve and not is_line:
        return (
            f"{how_much}: no straight trend stands out, but a smooth curve accounts for {share_in_short(curve)} of the "
            "differences."
        )
    if is_curve and curve > fit.r_squared:
        return (
            f"{how_much}: a smooth curve in length accounts for {share_in_short(curve)} of the differences between "
            "norms."
        )
    if is_line:
        direction = "rising" if fit.slope > 0 else "falling"
        return (
            f"{how_much}: a straight line, {direction} with length, accounts for {line} of the differences between "
            "norms."
        )
    if shape.mutual_information > shape.mutual_information_null:
        return "No trend stands out, though another measure hints at a link."
    if math.isnan(curve + shape.curve_null):
        return "No sign of a trend: a straight line does not stand out from chance."
    return "No sign of a trend: neither a line nor a curve stands out from chance."


def answer_so_far(shown: "ViewData") -> str:
    """The headline while more sentences are measured: no verdict, which more of them, or a curve, might change."""
    fit = shown.fit
    if fit is None or fit.n_clusters < FEW_SENTENCES:
        return "Measuring: there are too few sentences so far to say."
    return "Measuring: the answer comes when all sentences are in."


def in_words(value: float) -> str:
    """How much an R² is."""
    return next((word for limit, word in _LADDER.items() if value < limit), "almost entirely")


def _spread(shape: "Shape", of: "ViewData") -> str:
    """Whose norms vary more, as a clause; "" where nobody's clearly do, or where it may be for the slope."""
    low, high = shape.spread_ratio_interval
    if not low <= high or low <= 1 <= high or 1 / _WIDER < shape.spread_ratio < _WIDER:
        return ""
    if slope_within_ends(of.lengths, of.norms) > _MOSTLY_SLOPE:
        return ""
    if not shape.spread_ratio > 0:
        return "the shortest sentences’ norms do not vary at all"
    times = max(shape.spread_ratio, 1 / shape.spread_ratio)
    more, less = ("short", "long") if shape.spread_ratio > 1 else ("long", "short")
    return f"{more} sentences’ norms vary {times:.{1 if times < 9.95 else 0}f}× as much as {less} ones’"


def caveats(shown: "ViewData", experiment: Experiment, n_sampled: int) -> list[str]:
    """What else to know of the answer, a sentence or two each."""
    fit, texts = shown.fit, []
    if fit is None:
        if shown.is_constant and models.Name.parse(experiment.model).untrained and experiment.layer != 0:
            texts.append(UNTRAINED_NORM)
    else:
        if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
            spread, mean = (number(value, digits=2) for value in (fit.norm_sd, fit.norm_mean))
            texts.append(f"But the norm barely varies: its standard deviation is {spread}, around a mean of {mean}.")
        if fit.n_clusters < FEW_SENTENCES:
            only = f"{fit.n_clusters} different sentences" if fit.n_clusters < fit.n else f"{fit.n} sentences"
            more = "the corpus has no more, and a firm answer takes a larger one"
            if shown.more.is_to_come:
                more = "not all of the sample is measured yet"
            elif shown.more.by_cutoff and (shown.n < n_sampled / 2 or not shown.more.by_sample):
                more = "raise the length cutoff for a firm answer"
            elif shown.more.by_sample:
                more = "take more for a firm answer"
            texts.append(f"With only {only}, curve and spread are not known; {more}.")
        elif fit.rests_on_few and shown.clusters is not None:
            texts.append(
                "The interval of R² rests on a few sentences, or groups of near-duplicates; it may be too narrow."
            )
    if fit and not shown.census and experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        texts.append(NOT_GROUPED)
    if fit and shown.census:
        texts.append(
            f"All {n_sampled:,} sentences of the corpus were measured, so no interval of drawing them is told; points, "
            f"curves and medians are of {len(shown.index):,} of them, drawn at random."
        )
    if experiment.lengths is Lengths.SHUFFLED:
        texts.append(SHUFFLED)
    if fit and shown.audit:
        texts.append(precision(shown.audit))
    return texts


def precision(audit: "Audit") -> str:
    """What the fast precision costs."""
    text = (
        f"Computed in {Precision.FAST.numbers}. Compared with {Precision.EXACT.numbers} on {audit.n:,} sentences, the "
        f"norm differs by {number(audit.mean_error)} on average and {number(audit.largest_error)} at most"
    )
    if audit.r_squared_change is None:
        return f"{text}."
    return f"{text}, and R² by {number(audit.r_squared_change, sign='+')}."


def notes(experiment: Experiment, found: Found) -> list[str]:
    """What the user should know about how the result came about."""
    found_notes = []
    if len(found.sentences) < experiment.sample_size != ALL:
        n = len(found.sentences)
        only = "one sentence; the sample is that one" if n == 1 else f"{n:,} sentences; the sample is all of them"
        found_notes.append(f"{found.corpus.label} has only {only}.")
    if found.sample.whole is not None:
        n = len(found.sentences)
        found_notes.append(f"Tables and downloads have {n:,} of the sentences, drawn at random; the store has all.")
    damaged_parts = found.damaged_parts + (found.audit.damaged_parts if found.audit else 0)
    if damaged_parts:
        if damaged_parts == 1:
            text = "A damaged part of the store was discarded; its sentences are measured again."
        else:
            text = f"{damaged_parts} damaged parts of the store were discarded; their sentences are measured again."
        found_notes.append(text)
    if found.weights.is_redrawn:
        found_notes.append(jobs.REDRAWN)
    return found_notes


def lengths_at_norms(slices: "pd.DataFrame", lengths: "NDArray[np.int32]", unit: Unit) -> str:
    """What the norm says about the length, from `lengths.slices`, beside the lengths of all sentences."""
    if len(lengths) and np.ptp(lengths) == 0:
        same = counted(int(lengths[0]), unit.singular)
        return f"The other way round, no norm goes with other lengths than another: all sentences have {same}."
    if len(slices) < 3:
        return "There are too few different norms to say which lengths go with which."
    lowest, highest = slices.iloc[0], slices.iloc[-1]
    low, high = number(lowest["highest"]), number(highest["lowest"])
    if low == high:
        return "The norms are too much alike to say which lengths go with which norm."
    at_middle = int((slices["from_share"] < 0.5).sum()) - 1

    def range_of(row: "pd.Series[float]") -> str:
        return between(row["lower"], row["upper"])

    text = (
        f"The other way round: of all sentences, nine in ten are {between(*np.quantile(lengths, (0.05, 0.95)))} {unit} "
        f"long. Of the {lowest['to_share']:.0%} with the lowest norms (up to {low}), nine in ten are "
        f"{range_of(lowest)}; of the {1 - highest['from_share']:.0%} with the highest ({high} and up), "
        f"{range_of(highest)}"
    )
    if not 0 < at_middle < len(slices) - 1:  # norms that are the same reach from one end to the middle
        return f"{text}."
    middle = slices.iloc[at_middle]
    inside = middle["to_share"] - middle["from_share"]
    return f"{text}; of the {'middle half' if inside == 0.5 else f'{inside:.0%} in the middle'}, {range_of(middle)}."


def by_cutoff(table: "pd.DataFrame", unit: Unit = Unit.TOKENS) -> str:
    """What the cutoff changes, from `line.by_cutoff`; unit: what the cutoff is in."""
    if table.empty:
        return "At no cutoff is there a line."
    by_r_squared = table.sort_values("r_squared")
    least, most = by_r_squared.iloc[0], by_r_squared.iloc[-1]
    told = table[table["lower"] > 0]
    signs = set(np.sign(told["slope"]).tolist())

    def with_ends(row: "pd.Series[float]") -> str:
        value, lower, upper = (r_squared(row[name]) for name in ("r_squared", "lower", "upper"))
        return f"{value} ({lower} to {upper}) under {row['length_cutoff']:.0f} {unit}"

    said = r_squared(most["r_squared"])
    if most["n"] != least["n"] and said == r_squared(least["r_squared"]):
        text = f"R² and slope are those of all sentences under the cutoff: R² is {said} at each."
    elif most["n"] == least["n"]:  # of all cutoffs that say something, none leaves more sentences than another
        text = f"R² and slope are those of all sentences under the cutoff: R² is {with_ends(most)}."
    else:
        text = (
            "R² and slope are those of all sentences under the cutoff, and change with it: R² is "
            f"{with_ends(most)} and {with_ends(least)}."
        )
    if len(signs) > 1:
        return f"{text} Even the slope changes its sign."
    if signs:
        direction = "rises" if 1 in signs else "falls"
        return f"{text} Wherever the line is told apart from nothing, it {direction} with length."
    return f"{text} At no cutoff is the line told apart from nothing."


def in_numbers(shown: "ViewData", experiment: Experiment, n_sampled: int, shape: "Shape | None" = None) -> str:
    """The numbers behind the headline on one line, or why there is no line."""
    fit = shown.fit
    if fit is None:
        return "" if shown.is_constant else shown.problem
    lengths = f"{shown.distinct_lengths[0]:,}–{shown.distinct_lengths[-1]:,} {experiment.unit}"
    parts = []
    if fit.n_clusters >= FEWEST:
        direction = ", rising" if fit.slope > 0 else ", falling"
        line = f"Straight line{direction if fit.r_squared_interval[0] > 0 else ''}: {share(fit.r_squared)}"
        if shown.clusters is not None:  # or near-duplicates were not looked for
            low, high = (share(end) for end in fit.r_squared_interval)
            line += f" (95% interval {low.removesuffix('%') if '<' not in low else low}–{high})"
        parts.append(line)
    if shape is not None and shape.curve_r_squared > max(shape.curve_null, 0):
        parts.append(f"smooth curve: {share(shape.curve_r_squared)}")
    if shape is not None and not math.isnan(shape.spread_ratio):
        times = f"{shape.spread_ratio:.{1 if shape.spread_ratio >= 1 else 2}f}"
        parts.append(f"spread, shortest against longest fifth: {times}×")
    return " · ".join([*parts, f"{fit.n:,} of {n_sampled:,} sentences, {lengths}"])


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
    of_flat, of_shape = {}, {}
    if flat:
        name = f"R² if each length from {FLAT_LENGTHS.start} to {FLAT_LENGTHS.stop - 1} counted alike"
        absent = f" (no sentence is {runs(flat.absent)} long)" if flat.absent else ""
        of_flat = {name: f"{_r_squared(flat.r_squared)}{absent}"}
    if shape:
        ends = shape.spread_ratio_interval
        curve = "–"  # where no held-out norms vary
        if not math.isnan(shape.curve_r_squared):
            null = "" if math.isnan(shape.curve_null) else f" (norms shuffled: below {number(shape.curve_null)})"
            curve = f"{_r_squared(shape.curve_r_squared)}{null}"
        lowest, median, highest = (number(slope * math.log(2), sign="+") for slope in shape.quantile_slopes.values())
        of_shape = {
            "R² of a curve": curve,
            "Spread, shortest over longest fifth": _with_interval(
                shape.spread_ratio, ends, partial(number, digits=2), is_known=ends[0] <= ends[1]
            ),
            f"Per doubling of {unit}": f"5% quantile {lowest}, median {median}, 95% quantile {highest}",
        }
        extremes = shape.extreme_norms
        if extremes.among_all > 0:  # else the median is the shortest length, and no sentence is under it
            of_shape["Most extreme norms"] = (
                f"{extremes.among_extreme:.0%} of the {extremes.n:,} are of sentences under {extremes.length:.0f} "
                f"{unit}, as are {extremes.among_all:.0%} of all"
            )
        if not math.isnan(shape.mutual_information):
            of_shape["Mutual information"] = (
                f"{number(shape.mutual_information)} nats (lengths shuffled: below "
                f"{number(shape.mutual_information_null)})"
            )
    groups = f", in {fit.n_clusters:,} groups of near-duplicates" if fit.n_clusters < fit.n else ""
    return {
        "R²": _with_interval(fit.r_squared, fit.r_squared_interval, _r_squared, is_known=is_known),
        **of_flat,
        f"Slope per {unit.singular}": _with_interval(fit.slope, fit.slope_interval, is_known=is_known),
        "Intercept": _with_interval(fit.intercept, fit.intercept_interval, is_known=is_known),
        "Spearman’s ρ": number(fit.spearman),
        **of_shape,
        "Norm": f"mean {number(fit.norm_mean)}, standard deviation {number(fit.norm_sd)}",
        "Sentences": f"{fit.n:,}{groups}",
    }


def every_layer(found: EveryLayer) -> str:
    """After which layer a straight line accounts for most of the norm of [CLS], in a sentence."""
    layers = [after for after in found.layers if after.pooling is Pooling.CLS]
    known = {after.layer: after.r_squared for after in layers if after.r_squared is not None}
    if not known:
        return "After no layer is there a line through these norms."
    most = max(known, key=known.__getitem__)
    last = layers[-1]
    place = f"after layer {most}" if most else "at the embedding layer"
    text = f"A straight line in length accounts for most of the norm of [CLS] {place} (R² {r_squared(known[most])})"
    if last.layer in known and last.layer != most:
        return f"{text}; after the last layer, {last.layer}, R² is {r_squared(known[last.layer])}."
    return f"{text}{', the last' if most == last.layer else ''}."


def layer_name(after: AfterLayer) -> str:
    """What stands under the picture of one layer."""
    if after.pooling is Pooling.MEAN:
        return "Mean-pooled"
    return f"Layer {after.layer}" if after.layer else "Embeddings"


def layer_result(after: AfterLayer) -> str:
    """R² of the line through its points, or why there is none."""
    return after.problem if after.r_squared is None else f"R² {after.r_squared:.2f}"
