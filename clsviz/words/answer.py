"""The answer to the page's question."""

import math
from typing import TYPE_CHECKING

import numpy as np

from clsviz import jobs
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import ALL, Lengths, NearDuplicates, Precision, Unit
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.line import slope_within_ends
from clsviz.words.numbers import between, counted, number, r_squared, share_in_short

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.statistics.line import Audit
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
    " In many models the last LayerNorm gives every vector the same norm until it is trained. Look at the pooler "
    "output instead, if there is one."
)


NOT_GROUPED = "Near-duplicates are not grouped: if there are any, the intervals are too narrow."


SHUFFLED = " As a control, lengths are shuffled across sentences, so any R² that remains is chance."


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
        return "No: every sentence has the same norm, up to rounding." if shown.is_constant else _no_line(shown.problem)
    line, curve = share_in_short(fit.r_squared), shape.curve_r_squared if shape else math.nan
    is_line, is_curve = fit.r_squared_interval[0] > 0, bool(shape and curve > max(shape.curve_null, 0))
    if experiment.lengths is Lengths.SHUFFLED:
        return _of_shuffled(line if is_line else "", share_in_short(curve) if is_curve else "", is_tested=bool(shape))
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


def _no_line(problem: str) -> str:
    """That there is no line, and why: the first clause of the problem."""
    reason = problem.partition(". ")[0].partition(": ")[0].removesuffix(".")
    return f"Can’t tell: {reason[:1].lower()}{reason[1:]}."


def _of_shuffled(line: str, curve: str, *, is_tested: bool) -> str:
    """What shows of shuffled lengths. line, curve: what each accounts for, or "" where it may be nothing."""
    if line or curve:
        what = f"line accounts for {line}" if line else f"smooth curve accounts for {curve}"
        return f"Lengths shuffled: a {what}, by chance."
    return f"Lengths shuffled: {'nothing shows' if is_tested else 'no line stands out'}, as it should."


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
            texts.append(UNTRAINED_NORM.strip())
    else:
        if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
            spread, mean = (number(value, digits=2) for value in (fit.norm_sd, fit.norm_mean))
            texts.append(f"But the norm barely varies: its standard deviation is {spread}, around a mean of {mean}.")
        if fit.n_clusters < FEW_SENTENCES:
            only = f"{fit.n_clusters} different sentences" if fit.n_clusters < fit.n else f"{fit.n} sentences"
            texts.append(f"With only {only}, curve and spread are not known; {_for_a_firm_answer(shown, n_sampled)}.")
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
        texts.append(SHUFFLED.strip())
    if fit and shown.audit:
        texts.append(precision(shown.audit))
    return texts


def _for_a_firm_answer(shown: "ViewData", n_sampled: int) -> str:
    """What it takes where there are too few sentences."""
    more = shown.more
    if more.is_to_come:
        return "not all of the sample is measured yet"
    if more.by_cutoff and (shown.n < n_sampled / 2 or not more.by_sample):
        return "raise the length cutoff for a firm answer"
    if more.by_sample:
        return "take more for a firm answer"
    return "the corpus has no more, and a firm answer takes a larger one"


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
