"""The answer about the layers in one sentence, and the numbers below it."""

from clsviz.experiment import Experiment
from clsviz.settings import Lengths, NearDuplicates, Pooling
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words.answer import HARDLY
from clsviz.words.labels import cutoff_unit
from clsviz.words.profile import in_brief
from clsviz.words.readings import (
    FITTING,
    clause,
    counted,
    is_by_chance,
    is_few,
    known,
    r_squared_of,
    so_far,
    vector,
    where,
)


def answer(profile: Profile | None, experiment: Experiment) -> str:
    """The answer in at most 25 words, or what stands in its place, with the controls that are on named first."""
    if profile is None:
        return FITTING
    text, untrained = _in_short(profile, experiment.unit), models.Name.parse(experiment.model).untrained
    if experiment.lengths is Lengths.SHUFFLED:
        return f"{'Shuffled, untrained' if untrained else 'Lengths shuffled'}: {text[0].lower()}{text[1:]}"
    return f"Untrained: {text[0].lower()}{text[1:]}" if untrained else text


def _in_short(profile: Profile, unit: str) -> str:
    best, last = profile.best, profile.get(Pooling.CLS, None, Readout.VECTOR)
    if profile.n_different < FEW_SENTENCES:
        return in_brief(profile, "")
    if best is not None:
        return _errors(profile, best, unit) if known(best) >= HARDLY else _hardly_in_short(profile, best)
    if last is not None:
        after = "" if profile.is_of_one_vector else " after any layer"
        return f"No linear probe could be fitted to {vector(profile)}{after}: {clause(last.problem)}."
    return f"How well a linear probe predicts length from {vector(profile)} is not known yet."


def _errors(profile: Profile, best: Reading, unit: str) -> str:
    """By how much the best probe, a line on the norm after the last layer, and a guess are off."""
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    of_norm = "the norm" if profile.is_of_one_vector else "the last norm"
    text = f"A linear probe misses length by {_short(best.error)} {unit}{_short_place(profile, best.layer)}"
    text += so_far(profile)
    if norm is not None and norm.r_squared is not None:
        text += f", a line on {'the' if profile.is_of_one_vector else '[CLS]’s last'} norm by {_short(norm.error)}"
    text += f", guessing {_short(profile.guess_error)}"
    return f"{text}; {of_norm} does not vary." if norm is not None and norm.r_squared is None else f"{text}."


def _hardly_in_short(profile: Profile, best: Reading) -> str:
    """That no probe does well, and whether a line on a norm does, or that there are too few sentences to say."""
    text = (
        f"A linear probe hardly predicts length from {vector(profile)}: {r_squared_of(best)} at best{so_far(profile)}"
    )
    norms = [norm for norm in profile.line(Pooling.CLS, Readout.NORM) if norm and norm.r_squared is not None]
    most = max(norms, key=known, default=None)
    if most and known(most) >= HARDLY and not is_by_chance(most, profile.n_different):
        return f"{text}; a line on a norm reads {r_squared_of(most)}."
    n, n_different = profile.n, profile.n_different
    return f"{text}, but {counted(n, n_different)} are few." if is_few(n_different, profile.width) else f"{text}."


def _short(error: float) -> str:
    return "<0.1" if error < 0.05 else f"{error:.1f}"


def _short_place(profile: Profile, layer: int | None) -> str:
    if profile.is_of_one_vector:
        return ""
    return " at the embeddings" if layer == 0 else f" after layer {profile.n_layers if layer is None else layer}"


def in_numbers(profile: Profile | None, experiment: Experiment) -> str:
    """What stands below it: R² after the best and the last layer, and of how many sentences."""
    if profile is None:
        return ""
    used = f"{counted(profile.n, profile.n)} under {experiment.length_cutoff} {cutoff_unit(experiment)}"
    best, last = profile.best, profile.get(Pooling.CLS, None, Readout.VECTOR)
    if profile.n_different < FEW_SENTENCES or best is None:
        return used
    norm = profile.get(Pooling.CLS, None, Readout.NORM)
    of_norm = "the norm" if profile.is_of_one_vector else "the last norm"
    parts = [
        f"Held-out {r_squared_of(best)}{where(profile, best.layer)}",
        f"{r_squared_of(last)} after the last" if last and last.r_squared is not None and last is not best else "",
        f"a line on {of_norm} {r_squared_of(norm)}, not held out" if norm and norm.r_squared is not None else "",
        f"{used}, errors are means",
        "near-duplicates are not grouped" if experiment.near_duplicates is NearDuplicates.INDEPENDENT else "",
    ]
    return " · ".join(filter(None, parts))
