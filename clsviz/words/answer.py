"""The answer to the page's question."""

from typing import TYPE_CHECKING

from clsviz import models
from clsviz.experiment import Experiment
from clsviz.measuring import Found
from clsviz.settings import Lengths, Precision, Unit
from clsviz.words.numbers import number

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis import Shown
    from clsviz.statistics import Audit, Fit


STRENGTHS = [(0.05, "Hardly"), (0.25, "Weakly"), (0.6, "Partly"), (0.9, "Largely")]
"""Words for an R² below each limit."""


AS_A_LINE = "as far as a straight line can tell"
"""Norms that are a curve of the length, such as a U, have an R² near 0."""


FEW_SENTENCES = 100
"""With fewer, no answer is firm."""


_WIDE_INTERVAL = 0.5
"""An interval of R² wider than this says nothing."""


SMALL_SPREAD = 0.001
"""A norm whose standard deviation is a smaller share of its mean barely varies."""


UNTRAINED_NORM = (
    " In many models the last LayerNorm gives every vector the same norm until it is trained. Look at the pooler "
    "output instead."
)


SHUFFLED = " As a control, lengths are shuffled across sentences, so any R² that remains is chance."


def answer(fit: "Fit", experiment: Experiment, n_sampled: int) -> str:
    """What the regression says, in a sentence or two that contain the numbers.

    n_sampled: how many sentences were measured; those under the length cutoff are in the fit.
    """
    low, high = fit.r_squared_interval
    if high - low > _WIDE_INTERVAL:
        verdict = "Too few sentences to say"
    elif low == 0:
        verdict = "A straight line here cannot be told apart from chance"
    else:
        strength = next((word for limit, word in STRENGTHS if fit.r_squared < limit), "Almost entirely")
        verdict = f"{strength}, {AS_A_LINE}"
    text = (
        f"{verdict}. Length explains {fit.r_squared:.1%} of the norm’s variance (R² {fit.r_squared:.3f}, 95% interval "
        f"{low:.3f} to {high:.3f}; {fit.n:,} of {n_sampled:,} sentences, "
        f"those under {experiment.length_cutoff} tokens)."
    )
    if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
        spread = number(fit.norm_sd, digits=2)
        text += (
            f" But the norm barely varies: its standard deviation is {spread}, around a mean of {fit.norm_mean:.2f}."
        )
    if fit.n < FEW_SENTENCES:
        remedy = "raise the length cutoff" if fit.n < n_sampled / 2 else "take more"
        text += f" That is only {fit.n} sentences; {remedy} for a firm answer."
    return text


def result(shown: "Shown", experiment: Experiment, n_sampled: int) -> str:
    """The answer, or why there is none, and what the precision costs."""
    text = answer(shown.fit, experiment, n_sampled) if shown.fit else shown.problem
    is_constant = not shown.fit and len(set(shown.lengths.tolist())) > 1 and len(shown.index) >= 3
    if is_constant and models.Name.parse(experiment.model).untrained:
        text += UNTRAINED_NORM
    if experiment.lengths is Lengths.SHUFFLED:
        text += SHUFFLED
    return f"{text} {precision(shown.audit)}" if shown.fit and shown.audit else text


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
    if len(found.sentences) < experiment.sample_size:
        n = len(found.sentences)
        only = "one sentence; the sample is that one" if n == 1 else f"{n:,} sentences; the sample is all of them"
        found_notes.append(f"{found.corpus.label} has only {only}.")
    damaged_parts = found.damaged_parts + (found.audit.damaged_parts if found.audit else 0)
    if damaged_parts:
        if damaged_parts == 1:
            text = "A damaged part of the store was discarded; its sentences are measured again."
        else:
            text = f"{damaged_parts} damaged parts of the store were discarded; their sentences are measured again."
        found_notes.append(text)
    if found.withdrawn:
        found_notes.append(
            f"The first points were taken back: the check against {found.weights.label}’s own code gave other numbers. "
            "All sentences are measured by that code."
        )
    return found_notes


def lengths_at_norms(slices: "pd.DataFrame", unit: Unit) -> str:
    """What the norm says about the length, from `statistics.slices`."""
    if len(slices) < 3:
        return "There are too few sentences to say which lengths go with which norm."
    lowest, highest = slices.iloc[0], slices.iloc[-1]
    middle = slices[slices["from_share"] <= 0.5].iloc[-1]

    def range_of(row: "pd.Series[float]") -> str:
        return f"{row['lower']:.0f} to {row['upper']:.0f}"

    return (
        f"The other way round: of the {lowest['to_share']:.0%} of sentences with the lowest norms (up to "
        f"{number(lowest['highest'])}), nine in ten are {range_of(lowest)} {unit} long; of the "
        f"{1 - highest['from_share']:.0%} with the highest ({number(highest['lowest'])} and up), {range_of(highest)}; "
        f"of the middle half, {range_of(middle)}."
    )


def key_numbers(shown: "Shown", unit: Unit) -> dict[str, str]:
    """The result, by name."""
    if shown.fit is None:
        return {"Result": shown.problem}
    fit = shown.fit

    def with_interval(value: float, ends: tuple[float, float]) -> str:
        return f"{number(value)} (95% interval {number(ends[0])} to {number(ends[1])})"

    return {
        "R²": with_interval(fit.r_squared, fit.r_squared_interval),
        f"Slope per {unit.singular}": with_interval(fit.slope, fit.slope_interval),
        "Intercept": with_interval(fit.intercept, fit.intercept_interval),
        "Spearman’s ρ": number(fit.spearman),
        "Norm": f"mean {number(fit.norm_mean)}, standard deviation {number(fit.norm_sd)}",
        "Sentences": f"{fit.n:,}",
    }
