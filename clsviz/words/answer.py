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
from clsviz.words.numbers import between, counted, number, r_squared, share

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.statistics.precision import Audit
    from clsviz.statistics.shape import Shape


HARDLY = 0.05
"""An R² below this explains hardly anything."""


NOT_TOLD = "not told apart from nothing"
"""Of what may be chance."""


PENDING = "Curve and spread follow in a moment."
"""Of what is still being computed."""


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
    """The answer, or why there is none, and what else to know.

    n_sampled: how many sentences were measured. shape: what there is beyond the line, as far as it is known.
    """
    text = answer(shown, experiment.unit, shape) if shown.fit else shown.problem
    return " ".join([text, *caveats(shown, experiment, n_sampled)])


def answer(shown: "ViewData", unit: Unit, shape: "Shape | None" = None) -> str:
    """What the line says, and what the shape adds, in one sentence of at most 25 words; there must be a line."""
    fit = shown.fit
    assert fit is not None  # the caller checked
    is_told = fit.r_squared_interval[0] > 0
    there = shown.distinct_lengths
    low, high = there[0], there[-1]
    are_two = len(there) <= 2
    lengths = f"{low:,}{' or ' if are_two else '–'}{high:,} {unit}"
    explained = f"{share(fit.r_squared)} of the differences between norms"
    if shown.clusters is None:
        return f"A straight line explains {explained} ({lengths})."
    if is_told:
        text = f"A line {'rising' if fit.slope > 0 else 'falling'} with length explains {explained} ({lengths})"
    else:
        text = f"A line explains {explained} ({lengths}), {NOT_TOLD}"
    if shape is None:
        return f"{text}."
    # a line goes through the means of two lengths, and so does every curve; where norms hardly vary none is tested
    if are_two or math.isnan(shape.curve_r_squared + shape.curve_null):
        return f"{text}{_spread(shape, shown)}."
    if shape.curve_r_squared > max(shape.curve_null, 0):
        text += f"{',' if is_told else ';'} a curve {_of_curve(shape.curve_r_squared, fit.r_squared)}"
    elif is_told:
        text += "; no curve is told apart"
    else:
        text = f"Neither a line ({explained}, {lengths}) nor a curve is {NOT_TOLD.removeprefix('not ')}"
    return f"{text}{_spread(shape, shown)}."


def _of_curve(curve: float, line: float) -> str:
    """What a curve explains; a line is one of the curves, so less on held-out sentences is no finding."""
    return share(curve) if curve > line else "no more"


def _spread(shape: "Shape", of: "ViewData") -> str:
    """Whose norms are spread wider, if anybody's, and if it is not for the slope among the shortest or the longest."""
    low, high = shape.spread_ratio_interval
    if not low <= high:
        return ""  # it is undefined
    if slope_within_ends(of.lengths, of.norms) > _MOSTLY_SLOPE:
        return ""  # the slope may hide a difference, or be all of it
    if low <= 1 <= high:
        return "; no difference in spread shows"
    wider = "short" if low > 1 else "long"
    if not shape.spread_ratio > 0:
        return "; among the shortest, the norm does not vary"
    times = max(shape.spread_ratio, 1 / shape.spread_ratio)
    shown = f"{times:.1f}" if times >= 1.05 else f"{times:.2f}"
    return f"; {wider} sentences spread {shown}× as wide"


def caveats(shown: "ViewData", experiment: Experiment, n_sampled: int) -> list[str]:
    """What else to know of the answer, a sentence or two each."""
    fit, texts = shown.fit, []
    if fit is None:
        is_constant = len(set(shown.lengths.tolist())) > 1 and len(shown.index) >= 3
        if is_constant and models.Name.parse(experiment.model).untrained and experiment.layer != 0:
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
        f"norm is off by {number(audit.mean_error)} on average and {number(audit.largest_error)} at most"
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
