"""Results in plain words."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from clsviz import corpora, models
from clsviz.experiment import (
    CORPUS_PARAMETER,
    FINGERPRINT_DIGITS,
    MODEL_PARAMETER,
    Experiment,
    Lengths,
    Pooling,
    Precision,
    Segmentation,
    Unit,
    printable,
)
from clsviz.extraction import Cost, Found
from clsviz.measurements import MAX_LENGTH

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis import Audit, Fit
    from clsviz.view import View

STRENGTHS = [(0.05, "Hardly"), (0.25, "Weakly"), (0.6, "Partly"), (0.9, "Largely")]
FEW_SENTENCES = 100
_WIDE_INTERVAL = 0.5
SMALL_SPREAD = 0.001
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def vector_name(experiment: Experiment) -> str:
    """Which vector the norm is of, to stand after “the norm of”."""
    if experiment.pooling is Pooling.POOLER:
        return "its pooler output"
    vector = {Pooling.MEAN: "its mean vector", Pooling.MAX: "its maximum vector"}.get(experiment.pooling, "its [CLS]")
    if experiment.layer is None:
        return vector
    return f"{vector} after layer {experiment.layer}" if experiment.layer else f"{vector} at the embedding layer"


def question(experiment: Experiment) -> str:
    """What the page asks."""
    model = models.label(experiment.model)
    return f"Does {model} encode the length of a sentence in the norm of {vector_name(experiment)}?"


def axis_title(experiment: Experiment) -> str:
    """Title of the axis of norms; for the last layer, the original's."""
    if experiment.pooling is Pooling.POOLER:
        return "Norm of the pooler output"
    vector = {Pooling.MEAN: "mean vector", Pooling.MAX: "maximum vector"}.get(experiment.pooling, "[CLS] embedding")
    return f"Norm of the {vector}" + ("" if experiment.layer is None else f", layer {experiment.layer}")


def answer(fit: "Fit", experiment: Experiment, n_sampled: int) -> str:
    """What the regression says, in a sentence or two with the numbers in it.

    n_sampled: sentences measured, of which those under the length cutoff are in the fit.
    """
    strength = next((word for limit, word in STRENGTHS if fit.r_squared < limit), "Almost entirely")
    low, high = fit.r_squared_interval
    if high - low > _WIDE_INTERVAL:
        strength = "Too few sentences to say"
    text = (
        f"{strength}. Length explains {fit.r_squared:.1%} of the norm’s variance (R² {fit.r_squared:.3f}, 95% interval "
        f"{low:.3f} to {high:.3f}; {fit.n:,} of {n_sampled:,} sentences, "
        f"those under {experiment.length_cutoff} tokens)."
    )
    if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
        spread = number(fit.norm_sd, digits=2)
        text += f" But the norm hardly varies here: its standard deviation is {spread}, around {fit.norm_mean:.2f}."
    if fit.n < FEW_SENTENCES:
        remedy = "raise the length cutoff" if fit.n < n_sampled / 2 else "take more"
        text += f" These are only {fit.n} sentences: {remedy} for a firm answer."
    return text


def result(view: "View", experiment: Experiment, n_sampled: int) -> str:
    """The answer, or why there is none, with what the precision costs it."""
    text = answer(view.fit, experiment, n_sampled) if view.fit else view.problem
    is_constant = not view.fit and len(set(view.lengths.tolist())) > 1 and len(view.index) >= 3
    if is_constant and models.Name.parse(experiment.model).untrained:
        text += " That is what the last LayerNorm does before it is trained, in many models: see the pooler output."
    if experiment.lengths is Lengths.SHUFFLED:
        text += " The lengths are shuffled among the sentences, as a control: whatever is left is chance."
    return f"{text} {precision(view.audit)}" if view.fit and view.audit else text


def precision(audit: "Audit") -> str:
    """What the fast precision costs."""
    text = (
        f"Computed in {Precision.FAST.numbers}: on {audit.n:,} sentences measured again in {Precision.EXACT.numbers}, "
        f"the norm is off by {number(audit.mean_error)} on average and {number(audit.largest_error)} at most"
    )
    if audit.r_squared_change is None:
        return f"{text}."
    return f"{text}, and R² by {number(audit.r_squared_change, sign='+')}."


def notes(experiment: Experiment, found: Found) -> list[str]:
    """What the user should know of how the result came about."""
    found_notes = []
    if len(found.sentences) < experiment.sample_size:
        n = len(found.sentences)
        only = "one sentence; it is measured" if n == 1 else f"{n:,} sentences; all of them are measured"
        found_notes.append(f"{found.corpus.label} has only {only}.")
    damaged_parts = found.damaged_parts + (found.audit.damaged_parts if found.audit else 0)
    if damaged_parts:
        parts = "A damaged part of the store was" if damaged_parts == 1 else f"{damaged_parts} damaged parts were"
        found_notes.append(f"{parts} dropped: those sentences are measured again.")
    return found_notes


def differences(made_with: Mapping[str, str], found: Found) -> list[str]:
    """Which part of a link cannot be reproduced here: its fingerprints against what was found."""
    texts = []
    if (model := made_with.get(MODEL_PARAMETER)) and not found.weights.fingerprint.startswith(model):
        texts.append(
            f"This is not the model that the link was made with: {found.weights.label} has the fingerprint "
            f"{found.weights.fingerprint[:FINGERPRINT_DIGITS]} here, and had {printable(model[:64])} there."
        )
    if (corpus := made_with.get(CORPUS_PARAMETER)) and not found.corpus.fingerprint.startswith(corpus):
        why = (
            " It depends on the Python that is installed." if corpora.is_built_in(found.corpus.selection.corpus) else ""
        )
        texts.append(
            f"These are not the sentences that the link was made with: {found.corpus.label} has the fingerprint "
            f"{found.corpus.fingerprint[:FINGERPRINT_DIGITS]} here, and had {printable(corpus[:64])} there.{why}"
        )
    return texts


def lengths_at_norms(slices: "pd.DataFrame", unit: Unit) -> str:
    """What the norm says about the length, from `analysis.slices`."""
    if len(slices) < 3:
        return "There are too few sentences to say which lengths go with which norm."
    lowest, highest = slices.iloc[0], slices.iloc[-1]
    middle = slices[slices["from_share"] <= 0.5].iloc[-1]

    def range_of(row: "pd.Series[float]") -> str:
        return f"{row['lower']:.0f} to {row['upper']:.0f}"

    return (
        f"Read the other way round: of the {lowest['to_share']:.0%} of sentences with the lowest norms (up to "
        f"{number(lowest['highest'])}), nine in ten have {range_of(lowest)} {unit}; of the "
        f"{1 - highest['from_share']:.0%} with the highest (from {number(highest['lowest'])}), {range_of(highest)}; "
        f"of the middle half, {range_of(middle)}."
    )


def numbers(view: "View", unit: Unit) -> dict[str, str]:
    """The result, by name."""
    if view.fit is None:
        return {"Result": view.problem}
    fit = view.fit

    def with_interval(value: float, ends: tuple[float, float]) -> str:
        return f"{number(value)} (95% interval {number(ends[0])} to {number(ends[1])})"

    return {
        "R²": with_interval(fit.r_squared, fit.r_squared_interval),
        f"Slope per {unit.singular}": with_interval(fit.slope, fit.slope_interval),
        "Intercept": with_interval(fit.intercept, fit.intercept_interval),
        "Spearman’s ρ": number(fit.spearman),
        "Norm": f"{number(fit.norm_mean)} on average, standard deviation {number(fit.norm_sd)}",
        "Sentences": f"{fit.n:,}",
    }


def origin(found: Found) -> dict[str, str]:
    """What was measured, by name, so that somebody else can get it too."""
    selection = found.corpus.selection
    corpus = [found.corpus.pinned]
    corpus += [
        f"{name} {value}" for name in ("configuration", "split", "column") if (value := getattr(selection, name))
    ]
    if found.corpus.n_sentences is not None:
        corpus.append(f"{found.corpus.n_sentences:,} sentences")
    if selection.segmentation is Segmentation.SENTENCES:
        corpus.append("its texts cut into sentences")
    return {
        "Model": f"{found.weights.label} ({found.weights.pinned}), fingerprint {found.weights.fingerprint[:16]}",
        "Corpus": f"{found.corpus.label} ({', '.join(corpus)}), fingerprint {found.corpus.fingerprint[:16]}",
        "Sample": f"{len(found.measurements):,} sentences, {found.sample.drawn}",
    }


def settings(experiment: Experiment, found: Found, view: "View") -> dict[str, str]:
    """How the result came about, by name, so that somebody else can get it too."""
    n_layers = found.measurements.n_layers
    vector = f"[CLS] after layer {n_layers if experiment.layer is None else experiment.layer} of {n_layers}"
    if experiment.pooling is Pooling.POOLER:
        vector = "the pooler output"
    if experiment.pooling in (Pooling.MEAN, Pooling.MAX):
        vector = vector.replace("[CLS]", f"the {experiment.pooling} of all tokens")
    return {
        **origin(found),
        "Shown": used(experiment, len(view.index), view.n_truncated),
        "Length": f"in {experiment.unit}" + (", shuffled" if experiment.lengths is Lengths.SHUFFLED else ""),
        "Vector": f"L2 norm of {vector}; sentences are read up to {MAX_LENGTH} tokens",
        "Precision": precision(view.audit) if view.audit else Precision.EXACT.numbers,
        **({"Speed": f"not measured in the fastest way: {found.slower_because}"} if found.slower_because else {}),
        "Line": "ordinary least squares; intervals robust to unequal spread (HC3), that of R² by bootstrap (BCa), as "
        "of independent sentences",
    }


def probe_settings(experiment: Experiment, found: Found, n_used: int, n_truncated: int) -> dict[str, str]:
    """How the profile of the layers came about, by name."""
    return {
        **origin(found),
        "Used": used(experiment, n_used, n_truncated),
        "Length": f"in {experiment.unit}" + (", shuffled" if experiment.lengths is Lengths.SHUFFLED else ""),
        "Vectors": f"measured in {Precision.EXACT.numbers}; the components are kept in 16 bits as distances from their "
        "means, the norms as they are. The mean and the maximum are over all tokens, [CLS] and [SEP] included",
        "Norm alone": "R² of the straight line of norm on length over all sentences, as on the main page; its band is "
        "of the folds, each by itself",
        "Probe": "ridge regression of the length on the components, each scaled to a variance of 1, fitted on four "
        "fifths of the sentences and tried on the rest, five times; the strength of the ridge by generalised "
        "cross-validation within the four fifths. Sentences that are the same but for case, accents or white space "
        "stay together. R² is the mean of the five, the band from the lowest to the highest",
        "Direction alone": "the same probe of the vector divided by its norm",
    }


def used(experiment: Experiment, n: int, n_truncated: int) -> str:
    """Which of the measured sentences are in the result, and how many were left out for being read in part."""
    text = f"{n:,} sentences of fewer than {experiment.length_cutoff} tokens, without [CLS] and [SEP]"
    if n_truncated:
        text += f"; left out: {n_truncated:,}, of which the model reads only the beginning"
    return text


def pinned(experiment: Experiment, found: Found) -> Experiment:
    """The experiment with the commits of what was found."""
    return replace(experiment, model=found.weights.pinned, corpus=found.corpus.pinned)


def command(experiment: Experiment, found: Found, name: str = "measure") -> str:
    """The command line that measures the same, by one of its commands."""
    query = pinned(experiment, found).to_query()
    flags = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in query.items()]
    return " ".join([f"python -m clsviz {name}", *flags])


HOW_TO_READ_LAYERS = """\
R² says how much of the differences in length can be read, from 0, nothing, to 1, all; below 0 the mean length would \
have been the better guess. The whole vector is read by a linear probe, which is tried on sentences that it was not \
trained on; the direction is the same vector divided by its norm, so that nothing of the norm is left in it. A norm \
can have a high R² and still hardly vary: the chart of its spread shows by how much of itself it does. In the table of \
vectors a click on a cell opens its scatter below."""

HOW_TO_READ = """\
Every point is a sentence: its length to the right, the norm of its vector upwards. The red line is the \
straight line that predicts the norm best from the length, with its 95% band. R² is the share of the norm’s variance \
that it explains: 0 is nothing, 1 is all. The short bars are the median norm of the sentences of about one length, \
with lines from the lower to the upper quartile: they also show what a straight line cannot, such as a spread that \
changes with length. “Lengths at a norm” turns the question round: for sentences of about one norm, the middle \
length, and the range in which nine in ten lie."""


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """A number to so many decimals, or to two significant digits where that would leave little of it.

    With the sign “+” also positive numbers show theirs.
    """
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if value == 0 or abs(value) >= 10 ** (1 - digits):
        text = f"{value:{sign}.{digits}f}"
    else:
        significand, exponent = f"{value:{sign}.1e}".split("e-")
        text = f"{significand} × 10⁻{exponent.lstrip('0').translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def cost(cost: Cost) -> str:
    """What a run takes, to stand after its name."""
    if not cost.seconds:
        return "is measured already"
    takes = f"takes about {duration(cost.seconds)}"
    return f"downloads {cost.megabytes:,} MB and {takes}" if cost.megabytes else takes


def duration(seconds: float) -> str:
    """A time to wait, roughly: it is an estimate."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
