"""Results in plain words."""

from clsviz import models
from clsviz.analysis import Fit
from clsviz.experiment import Experiment, Pooling
from clsviz.extraction import Found

_STRENGTHS = [(0.05, "Hardly"), (0.25, "Weakly"), (0.6, "Partly"), (0.9, "Largely")]
_FEW_SENTENCES = 100
_SMALL_SPREAD = 0.001


def vector_name(experiment: Experiment) -> str:
    """Which vector the norm is of, to stand after “the norm of”."""
    if experiment.pooling is Pooling.POOLER:
        return "its pooler output"
    if experiment.layer is None:
        return "its [CLS]"
    return f"its [CLS] after layer {experiment.layer}" if experiment.layer else "its [CLS] at the embedding layer"


def question(experiment: Experiment) -> str:
    """What the page asks."""
    model = models.label(experiment.model)
    return f"Does {model} encode the length of a sentence in the norm of {vector_name(experiment)}?"


def axis_title(experiment: Experiment) -> str:
    """Title of the axis of norms; for the last layer, the original's."""
    if experiment.pooling is Pooling.POOLER:
        return "Norm of the pooler output"
    return "Norm of the [CLS] embedding" + ("" if experiment.layer is None else f", layer {experiment.layer}")


def answer(fit: Fit, experiment: Experiment, n_sampled: int) -> str:
    """What the regression says, in a sentence or two with the numbers in it."""
    strength = next((word for limit, word in _STRENGTHS if fit.r_squared < limit), "Almost entirely")
    low, high = fit.r_squared_interval
    text = (
        f"{strength}. Length explains {fit.r_squared:.1%} of the norm's variance (R² {fit.r_squared:.3f}, 95% interval "
        f"{low:.3f} to {high:.3f}; {fit.n:,} of {n_sampled:,} sentences, those under {experiment.length_cutoff} tokens)."
    )
    if fit.norm_sd < _SMALL_SPREAD * fit.norm_mean:
        text += (
            f" But the norm hardly varies here: its standard deviation is {fit.norm_sd:.2g}, around {fit.norm_mean:.2f}."
        )
    if fit.n < _FEW_SENTENCES:
        text += f" These are only {fit.n} sentences: take more for a firm answer."
    return text


def notes(experiment: Experiment, found: Found) -> list[str]:
    """What the user should know of how the result came about."""
    found_notes = []
    if len(found.sentences) < experiment.sample_size:
        found_notes.append(f"{found.corpus.label} has only {len(found.sentences):,} sentences; all of them are used.")
    if found.damaged_parts:
        found_notes.append(f"{found.damaged_parts} damaged part(s) of the store were dropped and measured again.")
    return found_notes


def duration(seconds: float) -> str:
    """A time to wait, roughly: it is an estimate."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
