"""What a profile of the layers says: an answer of two sentences, and the rest, that hold for any model."""

from clsviz import models
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, Pooling
from clsviz.statistics import Profile, Reading, Readout, steps
from clsviz.words.answer import FEW_SENTENCES, HARDLY, SMALL_SPREAD
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import number

_SIMILAR = 0.05
"""R² values closer than this are reported as the same: folds differ by that much."""


_SENTENCES_PER_DIMENSION = 5
"""With fewer, a probe falls clearly short: for the built-in model's last layer R² is 0.57 with 5,000 sentences, and
about 0.35 with 1,000."""


_TELLS_THE_NORM = 0.5
"""From this R² on, a direction is said to tell the norm."""


_OTHERS = {
    pooling: labels.described for pooling, labels in POOLINGS.items() if labels.line and pooling is not Pooling.CLS
}
"""What is compared with [CLS], as it is called in a sentence."""


_READOUTS = {
    Readout.VECTOR: "whole vector",
    Readout.DIRECTION: "direction alone",
    Readout.NORM: "norm alone",
}

LINES = {(Pooling.CLS, readout): name for readout, name in _READOUTS.items()} | {
    (pooling, Readout.VECTOR): labels.line for pooling, labels in POOLINGS.items() if labels.line
}
"""The lines of the chart of R² by layer, in the order of their colours."""


FITTING = "Fitting probes…"


def headline(profile: Profile | None, experiment: Experiment) -> str:
    """The answer in at most 25 words, or what stands in its place, with the controls that are on named first."""
    if profile is None:
        return FITTING
    text, untrained = _in_short(profile, experiment.unit), models.Name.parse(experiment.model).untrained
    if experiment.lengths is Lengths.SHUFFLED:
        return f"{'Shuffled, untrained' if untrained else 'Lengths shuffled'}: {text[0].lower()}{text[1:]}"
    return f"Untrained: {text[0].lower()}{text[1:]}" if untrained else text


def _in_short(profile: Profile, unit: str) -> str:
    best, last = profile.best, profile.get(Pooling.CLS, None, Readout.VECTOR)
    if profile.n < FEW_SENTENCES:
        return in_brief(profile, "")
    if best is not None:
        return _errors(profile, best, unit) if _known(best) >= HARDLY else _hardly_in_short(profile, best)
    if last is not None:
        return f"No linear probe could be fitted to [CLS] after any layer: {_clause(last.problem)}."
    return "How well a linear probe predicts length from [CLS] is not known yet."


def _errors(profile: Profile, best: Reading, unit: str) -> str:
    """By how much the best probe, a line on the norm after the last layer, and a guess are off."""
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    text = f"A linear probe misses length by {_short(best.error)} {unit} {_short_place(profile, best.layer)}"
    text += _so_far(profile)
    if norm is not None and norm.r_squared is not None:
        text += f", a line on [CLS]’s last norm by {_short(norm.error)}"
    text += f", guessing {_short(profile.guess_error)}"
    return f"{text}; the last norm does not vary." if norm is not None and norm.r_squared is None else f"{text}."


def _hardly_in_short(profile: Profile, best: Reading) -> str:
    """That no probe does well, and whether a line on a norm does, or that there are too few sentences to say."""
    text = f"A linear probe hardly predicts length from [CLS]: {_r_squared(best)} at best{_so_far(profile)}"
    norms = [norm.r_squared for norm in profile.line(Pooling.CLS, Readout.NORM) if norm and norm.r_squared is not None]
    if max(norms, default=0.0) >= HARDLY:
        return f"{text}; a line on a norm reads R² {max(norms):.3f}."
    return f"{text}, but {profile.n:,} sentences are few." if _is_few(profile) else f"{text}."


def _so_far(profile: Profile) -> str:
    return " so far" if None in profile.line(Pooling.CLS, Readout.VECTOR) else ""


def _short(error: float) -> str:
    return "<0.1" if error < 0.05 else f"{error:.1f}"


def _short_place(profile: Profile, layer: int | None) -> str:
    return "at the embeddings" if layer == 0 else f"after layer {profile.n_layers if layer is None else layer}"


def in_numbers(profile: Profile | None, experiment: Experiment) -> str:
    """What stands below it: R² after the best and the last layer, and of how many sentences."""
    if profile is None:
        return ""
    best, last = profile.best, profile.get(Pooling.CLS, None, Readout.VECTOR)
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    parts = [
        f"held-out {_r_squared(best)} {_place(profile, best.layer)}" if best else "",
        f"{_r_squared(last)} after the last" if last and last.r_squared is not None and last is not best else "",
        f"the last norm alone {_r_squared(norm)}" if norm and norm.r_squared is not None else "",
        f"{profile.n:,} sentences under {experiment.length_cutoff} tokens, errors are means",
    ]
    return " · ".join(filter(None, parts))


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
    return f"Control, with {' and '.join(controls)}: {text[0].lower()}{text[1:]}" if controls else text


def in_brief(profile: Profile, model: str, unit: str = "tokens") -> str:
    """How far off a linear probe is after the best and the last layer: two sentences at most.

    model: its label. unit: what lengths are counted in.
    """
    best = profile.best
    if profile.n < FEW_SENTENCES:
        return (
            f"Not tested: {profile.n} sentences are too few to tell whether a linear probe predicts their length. Take "
            f"at least {FEW_SENTENCES}."
        )
    if best is None:
        return _nothing_fitted(profile, model)
    if _known(best) < HARDLY:
        return f"{_hardly(profile, best, model)} {_norm_at_most(profile)}".strip()
    return f"{_whole(profile, best, model, unit)} {_last(profile, best, unit)}".strip()


def details(profile: Profile, unit: str = "tokens") -> list[str]:
    """What else the probes say, a paragraph each: norm and direction, other vectors, and what to keep in mind."""
    best = profile.best
    is_there = profile.n >= FEW_SENTENCES and best is not None and _known(best) >= HARDLY
    found = [
        _norm_or_direction(profile, best, unit) if best and is_there else "",
        _poolings(profile) if profile.n >= FEW_SENTENCES else _untested(profile),
        _embedding(profile),
        _few(profile),
        _missing(profile),
    ]
    return [text for text in found if text]


def off_by(error: float, unit: str) -> str:
    """By how much lengths are off, in their unit."""
    return f"less than 0.1 {unit}" if error < 0.05 else f"{error:.1f} {unit}"


def _known(reading: Reading) -> float:
    """The R² of a reading that has one."""
    assert reading.r_squared is not None
    return reading.r_squared


def _r_squared(reading: Reading) -> str:
    """R² to three decimals; how far below 0 it is says nothing, so that is left out."""
    value = round(_known(reading), 3)
    return "R² below 0" if value < 0 else f"R² {value:.3f}"


def _place(profile: Profile, layer: int | None) -> str:
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer in (None, profile.n_layers) else f"after layer {layer}"


def _nothing_fitted(profile: Profile, model: str) -> str:
    """The reason why no [CLS] vector gave an R², if there is one."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if last is None:
        return f"How well a linear probe predicts length from the [CLS] vector of {model} is not known yet."
    return f"No linear probe could be fitted to the [CLS] vector of {model} after any layer. {last.problem}"


def _hardly(profile: Profile, best: Reading, model: str) -> str:
    """That no probe of [CLS] does well, as far as there are sentences enough to say so."""
    done = " done so far" if _so_far(profile) else ""
    text = f"A linear probe hardly predicts the length of held-out sentences from the [CLS] vector of {model}, after "
    text += f"any layer{done}: {_r_squared(best)} at best"
    if _is_few(profile):
        return f"{text}, but {profile.n:,} sentences are too few for {profile.width:,} dimensions to rule it out."
    return f"{text}."


def _whole(profile: Profile, best: Reading, model: str, unit: str) -> str:
    """The layer whose vector predicts length best, and how far off it is."""
    return (
        f"A linear probe of the [CLS] vector of {model} predicts the length of held-out sentences best"
        f"{_so_far(profile)} "
        f"{_place(profile, best.layer)}: off by {off_by(best.error, unit)} on average, where guessing the mean length "
        f"is off by {profile.guess_error:.1f} ({_r_squared(best)})."
    )


def _last(profile: Profile, best: Reading, unit: str) -> str:
    """How far off the probe is after the last layer, and a line on the norm alone."""
    last, norm = (profile.get(Pooling.CLS, None, readout) for readout in (Readout.VECTOR, Readout.NORM))
    if last is None or norm is None:
        return ""
    of_norm = _no_line(norm)
    if norm.r_squared is not None:
        of_norm = f"a straight line on the norm alone is off by {off_by(norm.error, unit)} ({_r_squared(norm)})"
    if best.layer == last.layer:
        return f"There, {of_norm}."
    if last.r_squared is None:
        return f"After the last layer no probe could be fitted: {last.problem[:1].lower()}{last.problem[1:]}"
    return f"After the last layer it is off by {off_by(last.error, unit)} ({_r_squared(last)}), and {of_norm}."


def _norm_or_direction(profile: Profile, best: Reading, unit: str) -> str:
    """What a line on the norm and a probe of the direction read after the best layer, and what that does not show."""
    norm = profile.get(Pooling.CLS, best.layer, Readout.NORM)
    direction = profile.get(Pooling.CLS, best.layer, Readout.DIRECTION)
    place = _place(profile, best.layer).capitalize()
    if norm is None:
        return ""
    if direction is None:
        return f"{place}, {_line_on_norm(norm)}."
    if direction.r_squared is None:
        return f"{place}, {_line_on_norm(norm)}. Its direction gives no R²: {direction.problem}"
    enough = _known(best) - min(_SIMILAR, _known(best) / 4)  # a small part of a small R² is not as good
    amount = (
        "as much as one of the whole vector" if direction.r_squared > enough else "less than one of the whole vector"
    )
    text = (
        f"{place}, a linear probe of the direction alone reads {amount}: it is off by {off_by(direction.error, unit)} "
        f"({_r_squared(direction)}). There, {_line_on_norm(norm)}."
    )
    return f"{text} {_norm_from_direction(direction)}".strip()


def _norm_from_direction(direction: Reading) -> str:
    """Whether dividing by the norm took the norm out, as far as a linear probe can tell."""
    value = direction.norm_r_squared
    if not value >= _TELLS_THE_NORM:
        return (
            ""
            if value != value
            else f"A linear probe does not read the norm itself from the direction (R² {max(value, 0):.3f})."
        )
    return (
        f"That does not tell the two apart: a linear probe reads the norm itself from the direction as well (R² "
        f"{value:.4f})."
    )


def _line_on_norm(norm: Reading) -> str:
    """What a line on the norm alone reads, and whether the norm varies at all, as a clause."""
    if norm.r_squared is None:
        return _no_line(norm)
    varies = (
        "" if norm.norm_sd >= SMALL_SPREAD * norm.norm_mean else f", though the norm barely varies ({_spread(norm)})"
    )
    return f"a straight line on the norm reads {_r_squared(norm)}{varies}"


def _no_line(norm: Reading) -> str:
    """Why there is no line on the norm, as a clause."""
    return _clause(norm.problem)


def _clause(problem: str) -> str:
    return f"{problem[:1].lower()}{problem[1:].partition(', so')[0].removesuffix('.')}"


def _spread(norm: Reading) -> str:
    return f"standard deviation {number(norm.norm_sd, digits=2)}, around a mean of {norm.norm_mean:.2f}"


def _norm_at_most(profile: Profile) -> str:
    """The most that a line on a norm of [CLS] reads, if no whole vector gives much."""
    norms = [reading for reading in profile.line(Pooling.CLS, Readout.NORM) if reading]
    known = [reading for reading in norms if reading.r_squared is not None]
    if not known:
        return ""
    most = max(known, key=_known)
    if _known(most) < HARDLY:
        return f"A straight line on its norm reads {_r_squared(most)} at most."
    return f"But {_place(profile, most.layer)} {_line_on_norm(most)}, which a linear probe of the whole vector misses."


def _poolings(profile: Profile) -> str:
    """How a probe does on mean pooling and the pooler output, compared with [CLS] after the last layer."""
    cls = profile.get(Pooling.CLS, None, Readout.VECTOR)
    others = [(name, profile.get(pooling, None, Readout.VECTOR)) for pooling, name in _OTHERS.items()]
    clauses = [f"{_compared(other, cls)} on {name} ({_said(other)})" for name, other in others if other and cls]
    if cls is None or all(other is None or other.r_squared is None for _, other in others):
        return ""
    return f"Compared with [CLS] after the last layer ({_said(cls)}), a linear probe does {' and '.join(clauses)}."


def _said(reading: Reading) -> str:
    return "no R²" if reading.r_squared is None else _r_squared(reading)


def _compared(other: Reading, cls: Reading) -> str:
    """How well a probe does on another vector, compared with [CLS]."""
    if other.r_squared is None:
        return "nothing"
    if max(other.r_squared, cls.r_squared or 0.0) < HARDLY:
        return "hardly better than a guess" if cls.r_squared is None else "no better"
    more = other.r_squared - (cls.r_squared or 0.0)
    return "about as well" if abs(more) < _SIMILAR else "better" if more > 0 else "worse"


def _embedding(profile: Profile) -> str:
    """Why [CLS] predicts nothing at the embedding layer of models where nothing of the sentence has reached it yet."""
    vector = profile.get(Pooling.CLS, 0, Readout.VECTOR)
    norm = profile.get(Pooling.CLS, 0, Readout.NORM)
    if vector is None or norm is None or profile.n < FEW_SENTENCES:
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
    return last.problem or f"The figures below are those of {profile.n} sentences, and say little."


def _is_few(profile: Profile) -> bool:
    return profile.n < _SENTENCES_PER_DIMENSION * profile.width


def _few(profile: Profile) -> str:
    if profile.n < FEW_SENTENCES or not _is_few(profile):
        return ""
    return (
        f"{profile.n:,} sentences are few for vectors of {profile.width:,} dimensions: a probe may miss what it would "
        "find with more."
    )


def _missing(profile: Profile) -> str:
    """What is still to come."""
    if profile.is_complete:
        return ""
    n = len(steps(profile.n_layers, profile.has_pooler))
    return f"So far, {len(profile.readings)} of {n} readings are done."
