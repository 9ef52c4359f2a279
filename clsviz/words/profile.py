"""What a profile of the layers says: an answer of two sentences, and the rest, that hold for any model."""

import numpy as np

from clsviz.experiment import Experiment
from clsviz.settings import Lengths, NearDuplicates, Pooling
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words.answer import HARDLY, SMALL_SPREAD
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import number, r_squared
from clsviz.words.readings import (
    FITTING,
    clause,
    counted,
    is_by_chance,
    is_few,
    known,
    off_by,
    place,
    r_squared_of,
    so_far,
    untested,
    where,
)

SIMILAR = 0.05
"""R² values closer than this are reported as the same: folds differ by that much."""


_CLEAR = 0.01
"""A difference of R² below this is none, however sure."""


_TELLS_THE_NORM = 0.5
"""From this R² on, a direction is said to tell the norm."""


_OTHERS = {
    pooling: labels.described for pooling, labels in POOLINGS.items() if labels.line and pooling is not Pooling.CLS
}
"""What is compared with [CLS], as it is called in a sentence."""


READOUTS = {
    Readout.VECTOR: "whole vector",
    Readout.DIRECTION: "direction alone",
    Readout.NORM: "norm alone",
}
"""What length is read from."""

LINES = {(Pooling.CLS, readout): name for readout, name in READOUTS.items()} | {
    (pooling, Readout.VECTOR): labels.line for pooling, labels in POOLINGS.items() if labels.line
}
"""The lines of the chart of R² by layer, in the order of their colours."""


def answer(profile: Profile | None, experiment: Experiment) -> str:
    """The answer in full, or what stands in its place, with the controls that are on named first."""
    if profile is None:
        return FITTING
    return _with_controls(in_brief(profile, models.label(experiment.model), experiment.unit), experiment)


def in_full(profile: Profile, experiment: Experiment) -> list[str]:
    """All that the probes say, a paragraph each."""
    return [answer(profile, experiment), *details(profile, experiment.unit)]


def _with_controls(text: str, experiment: Experiment) -> str:
    controls = [
        *(["lengths shuffled across sentences"] if experiment.lengths is Lengths.SHUFFLED else []),
        *(["random weights"] if models.Name.parse(experiment.model).untrained else []),
    ]
    if controls:
        text = f"Control, with {' and '.join(controls)}: {text[0].lower()}{text[1:]}"
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        text += " Near-duplicates are not grouped, so probes may be tested on copies of what they were trained on."
    return text


def in_brief(profile: Profile, model: str, unit: str = "tokens") -> str:
    """How far off a linear probe is after the best and the last layer: two sentences at most.

    model: its label. unit: what lengths are counted in.
    """
    best = profile.best
    if not_tested := untested(profile.n, profile.n_different, "whether a linear probe predicts the length"):
        return not_tested
    if best is None:
        return _nothing_fitted(profile, model)
    if known(best) < HARDLY:
        return f"{_hardly(profile, best, model)} {_norm_at_most(profile)}".strip()
    return f"{_whole(profile, best, model, unit)} {_last(profile, best, unit)}".strip()


def details(profile: Profile, unit: str = "tokens") -> list[str]:
    """What else the probes say, a paragraph each: norm and direction, other vectors, and what to keep in mind."""
    best = profile.best
    is_there = profile.n_different >= FEW_SENTENCES and best is not None and known(best) >= HARDLY
    found = [
        _norm_or_direction(profile, best, unit) if best and is_there else "",
        _poolings(profile) if profile.n_different >= FEW_SENTENCES else _untested(profile),
        _embedding(profile),
        _few(profile),
        _missing(profile),
    ]
    return [text for text in found if text]


def _read(profile: Profile, model: str) -> str:
    """What the probes read, with the model that it is of."""
    return f"the vectors {model}" if profile.is_of_one_vector else f"the [CLS] vector of {model}"


def _nothing_fitted(profile: Profile, model: str) -> str:
    """The reason why no [CLS] vector gave an R², if there is one."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None:
        return f"How well a linear probe predicts length from {_read(profile, model)} is not known yet."
    after = "" if profile.is_of_one_vector else " after any layer"
    return f"No linear probe could be fitted to {_read(profile, model)}{after}. {last.problem}"


def _hardly(profile: Profile, best: Reading, model: str) -> str:
    """That no probe of [CLS] does well, as far as there are sentences enough to say so."""
    done = " done so far" if so_far(profile) else ""
    text = f"A linear probe hardly predicts the length of held-out sentences from {_read(profile, model)}"
    text += f"{'' if profile.is_of_one_vector else ', after any layer'}{done}: {r_squared_of(best)} at best"
    if is_few(profile.n_different, profile.width):
        of = counted(profile.n, profile.n_different)
        return f"{text}, but {of} are too few for {profile.width:,} dimensions to rule it out."
    return f"{text}."


def _whole(profile: Profile, best: Reading, model: str, unit: str) -> str:
    """The layer whose vector predicts length best, and how far off it is."""
    best_at = "" if profile.is_of_one_vector else f" best{so_far(profile)}{where(profile, best.layer)}"
    return (
        f"A linear probe of {_read(profile, model)} predicts the length of held-out sentences{best_at}: "
        f"it misses by {off_by(best.error, unit)} on average, where guessing the mean length "
        f"misses by {profile.guess_error:.1f} ({r_squared_of(best)})."
    )


def _last(profile: Profile, best: Reading, unit: str) -> str:
    """How far off the probe is after the last layer, and a line on the norm alone."""
    last, norm = (profile.get(Pooling.CLS, None, readout) for readout in (Readout.VECTOR, Readout.NORM))
    if last is None or norm is None:
        return ""
    of_norm = _no_line(norm)
    if norm.r_squared is not None:
        of_norm = f"a straight line on the norm alone misses by {off_by(norm.error, unit)} ({r_squared_of(norm)})"
    if best.layer == last.layer:
        return f"{of_norm[:1].upper()}{of_norm[1:]}." if profile.is_of_one_vector else f"There, {of_norm}."
    if last.r_squared is None:
        return f"After the last layer no probe could be fitted: {last.problem[:1].lower()}{last.problem[1:]}"
    return f"After the last layer it misses by {off_by(last.error, unit)} ({r_squared_of(last)}), and {of_norm}."


def _norm_or_direction(profile: Profile, best: Reading, unit: str) -> str:
    """What a line on the norm and a probe of the direction read after the best layer, and what that does not show."""
    norm = profile.get(Pooling.CLS, best.layer, Readout.NORM)
    direction = profile.get(Pooling.CLS, best.layer, Readout.DIRECTION)
    if profile.is_of_one_vector:
        return _direction(direction, best, unit)
    at = place(profile, best.layer).capitalize()
    if norm is None:
        return ""
    if direction is None:
        return f"{at}, {_line_on_norm(norm)}."
    if direction.r_squared is None:
        return f"{at}, {_line_on_norm(norm)}. Its direction gives no R²: {direction.problem}"
    text = (
        f"{at}, a linear probe of the direction alone reads {_amount(direction, best)}: it misses by "
        f"{off_by(direction.error, unit)} ({r_squared_of(direction)}). There, {_line_on_norm(norm)}."
    )
    return f"{text} {_norm_from_direction(direction)}".strip()


def _direction(direction: Reading | None, best: Reading, unit: str) -> str:
    """What a probe of the direction reads, where there is one vector and the line on its norm was told before."""
    if direction is None:
        return ""
    if direction.r_squared is None:
        return f"Its direction gives no R²: {direction.problem}"
    text = f"A linear probe of the direction alone reads {_amount(direction, best)}: it misses by "
    text += f"{off_by(direction.error, unit)} ({r_squared_of(direction)})."
    return f"{text} {_norm_from_direction(direction)}".strip()


def _amount(direction: Reading, best: Reading) -> str:
    """How much a probe of the direction reads: more or less only where other sentences would say so too."""
    way = clearly_beyond(direction, best)
    if way > 0:
        return "more than one of the whole vector"
    return "less than one of the whole vector" if way < 0 else "about as much as one of the whole vector"


def clearly_beyond(reading: Reading, cls: Reading) -> int:
    """1 if a reading is clearly better than that of the whole [CLS] vector after the same layer, −1 if worse, else 0.

    Where the interval of the difference is not known, R² have to be SIMILAR apart, or a quarter of a small one.
    """
    low, high = reading.beyond_cls or (np.nan, np.nan)
    if not low <= high:
        margin = min(SIMILAR, max(known(cls), 0) / 4)
        low, high = known(reading) - known(cls) - margin, known(reading) - known(cls) + margin
    is_clear = abs(known(reading) - known(cls)) >= _CLEAR
    return (1 if low > 0 else -1 if high < 0 else 0) if is_clear else 0


def _norm_from_direction(direction: Reading) -> str:
    """Whether dividing by the norm took the norm out, as far as a linear probe can tell."""
    value = direction.norm_r_squared
    if value != value:
        return ""
    if value < HARDLY:
        return f"A linear probe hardly reads the norm itself from the direction (R² {max(value, 0):.3f})."
    if value < _TELLS_THE_NORM:
        return f"A linear probe reads only some of the norm itself from the direction (R² {value:.3f})."
    return (
        f"That does not tell the two apart: a linear probe reads the norm itself from the direction as well (R² "
        f"{r_squared(value, 4)})."
    )


def _line_on_norm(norm: Reading) -> str:
    """What a line on the norm alone reads, and whether the norm varies at all, as a clause."""
    if norm.r_squared is None:
        return _no_line(norm)
    varies = (
        "" if norm.norm_sd >= SMALL_SPREAD * norm.norm_mean else f", though the norm barely varies ({_spread(norm)})"
    )
    return f"a straight line on the norm reads {r_squared_of(norm)}{varies}"


def _no_line(norm: Reading) -> str:
    """Why there is no line on the norm, as a clause."""
    return clause(norm.problem)


def _spread(norm: Reading) -> str:
    return f"standard deviation {number(norm.norm_sd, digits=2)}, around a mean of {number(norm.norm_mean, digits=2)}"


def _norm_at_most(profile: Profile) -> str:
    """The most that a line on a norm of [CLS] reads, if no whole vector gives much."""
    norms = [reading for reading in profile.line(Pooling.CLS, Readout.NORM) if reading]
    defined = [reading for reading in norms if reading.r_squared is not None]
    if not defined:
        return ""
    most = max(defined, key=known)
    if known(most) < HARDLY or is_by_chance(most, profile.n_different):
        return f"A straight line on its norm reads {r_squared_of(most)} at most."
    return f"But{where(profile, most.layer)} {_line_on_norm(most)}, which a linear probe of the whole vector misses."


def _poolings(profile: Profile) -> str:
    """How a probe does on mean pooling and the pooler output, compared with [CLS] after the last layer."""
    cls = profile.get(Pooling.CLS, None, Readout.VECTOR)
    others = [(name, profile.get(pooling, None, Readout.VECTOR)) for pooling, name in _OTHERS.items()]
    clauses = [f"{_compared(other, cls)} on {name} ({_said(other)})" for name, other in others if other and cls]
    if cls is None or all(other is None or other.r_squared is None for _, other in others):
        return ""
    return f"Compared with [CLS] after the last layer ({_said(cls)}), a linear probe does {' and '.join(clauses)}."


def _said(reading: Reading) -> str:
    return "no R²" if reading.r_squared is None else r_squared_of(reading)


def _compared(other: Reading, cls: Reading) -> str:
    """How well a probe does on another vector, compared with [CLS]."""
    if other.r_squared is None:
        return "nothing"
    if cls.r_squared is None:
        return "hardly better than guessing" if other.r_squared < HARDLY else "better"
    way = clearly_beyond(other, cls)
    if way == 0 and max(other.r_squared, cls.r_squared) < HARDLY:
        return "hardly better than guessing"
    return {1: "better", 0: "about as well", -1: "worse"}[way]


def _embedding(profile: Profile) -> str:
    """Why [CLS] predicts nothing at the embedding layer of models where nothing of the sentence has reached it yet."""
    vector = profile.get(Pooling.CLS, 0, Readout.VECTOR)
    norm = profile.get(Pooling.CLS, 0, Readout.NORM)
    if vector is None or norm is None or profile.n_different < FEW_SENTENCES or profile.is_of_one_vector:
        return ""
    if profile.guess_error == 0:  # all lengths are the same: that there is no R² says nothing of the vectors
        return ""
    if vector.r_squared is not None or not norm.norm_sd < SMALL_SPREAD * norm.norm_mean:
        return ""
    return (
        "At the embedding layer, [CLS] is the same for every sentence: only its own embedding, its position and its "
        "token type go into it."
    )


def _untested(profile: Profile) -> str:
    """Why a probe could not be fitted to these few sentences, or that its figures say nothing."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None:
        return ""
    return last.problem or f"The figures below are those of {counted(profile.n, profile.n_different)}, and say little."


def _few(profile: Profile) -> str:
    if profile.n_different < FEW_SENTENCES or profile.best is None:
        return ""
    if not is_few(profile.n_different, profile.width):
        return ""
    of = counted(profile.n, profile.n_different)
    return f"{of} are few for vectors of {profile.width:,} dimensions: a probe may miss what it would find with more."


def _missing(profile: Profile) -> str:
    """What is still to come."""
    if profile.is_complete:
        return ""
    return f"So far, {len(profile.readings)} of {len(profile.steps)} readings are done."
