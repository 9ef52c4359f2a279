"""The answer about the layers in one sentence, and the numbers below it."""

from clsviz.experiment import Experiment
from clsviz.settings import Lengths, NearDuplicates, Pooling
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words.answer import HARDLY, in_words
from clsviz.words.labels import cutoff_unit
from clsviz.words.readings import FITTING, clause, counted, is_by_chance, is_few, known, stands_out, vector

_ALMOST_ALL, _MOST = 0.9, 0.75
"""R² of a probe from which on length can be read, and below which it fades if it could be before."""

_WHOLE = 0.5
"""An error below this is none, as lengths are whole numbers: no length that is read to the token has faded."""


def answer(profile: Profile | None, experiment: Experiment) -> str:
    """The headline in at most 20 words: the first case that applies, with the controls that are on named first.

    There is no verdict before the vector is read after all of its layers.
    """
    if profile is None or (profile.n_different >= FEW_SENTENCES and not profile.is_read(experiment.pooling)):
        return FITTING
    untrained = models.Name.parse(experiment.model).untrained
    controls = [
        *(["lengths shuffled"] if experiment.lengths is Lengths.SHUFFLED else []),
        *(["random weights"] if untrained else []),
    ]
    text = _verdict(profile, experiment, is_control=bool(controls))
    if not controls:
        return text
    lead = ", ".join(controls)
    return f"{lead[:1].upper()}{lead[1:]}: {text[:1].lower()}{text[1:]}"


def _verdict(profile: Profile, experiment: Experiment, *, is_control: bool) -> str:
    pooling, unit = experiment.pooling, experiment.unit
    best, last = profile.best_of(pooling), profile.get(pooling, None, Readout.VECTOR)
    if profile.n_different < FEW_SENTENCES:
        few = f"{counted(profile.n, profile.n_different)} {'is' if profile.n_different == 1 else 'are'} too few"
        return f"Can’t tell: {few}." if profile.n else "Can’t tell: there are no sentences."
    assert last is not None  # or there would be no verdict yet
    if best is None:
        return f"Can’t tell: {clause(last.problem)}."
    is_found = known(best) >= HARDLY and stands_out(best)
    misses = f"misses length by {_short(best.error)} {unit}"
    is_of_one = profile.is_of_one_vector or pooling is Pooling.POOLER
    if is_found and is_of_one:
        lead = "Yes" if known(best) >= _ALMOST_ALL else in_words(known(best)).capitalize()
        return f"{lead}: a linear probe {misses}."
    if is_found and known(best) >= _ALMOST_ALL:
        if _fades(best, last):
            return (
                f"Yes, but it fades:{_place(best)}, a linear probe misses length by only {_short(best.error)} {unit}."
            )
        return f"Yes, to the last layer: there a linear probe misses length by {_short(last.error)} {unit}."
    if is_found and known(best) >= 0.25:
        return f"{in_words(known(best)).capitalize()}: a linear probe {misses}{_place(best)}."
    if is_found:
        return f"A little:{_place(best)}, a linear probe beats guessing somewhat."
    norms = [norm for norm in profile.line(pooling, Readout.NORM) if norm and norm.r_squared is not None]
    if any(known(norm) >= HARDLY and not is_by_chance(norm, profile.n_different) for norm in norms):
        return "A linear probe hardly finds it; a line on a norm does."
    if is_few(profile.n_different, profile.width):
        return f"Can’t tell: {counted(profile.n, profile.n_different)} are few for {profile.width:,} dimensions."
    found = f"a linear probe finds almost no length in {vector(profile, pooling)}"
    after = "" if is_of_one else ", after any layer"
    return f"Hardly: {found}{after}." if is_control else f"Hardly: with this many sentences, {found}{after}."


def _fades(best: Reading, last: Reading) -> bool:
    """Whether length can be read less well after the last layer than after the best."""
    if last.r_squared is None:
        return True
    return known(last) < _MOST or last.error >= max(2 * best.error, _WHOLE)


def _short(error: float) -> str:
    return "<0.1" if error < 0.05 else f"{error:.1f}"


def _place(reading: Reading) -> str:
    """After which layer, after a space."""
    return " at the embeddings" if reading.layer == 0 else f" after layer {reading.layer}"


def in_numbers(profile: Profile | None, experiment: Experiment) -> str:
    """What stands below it: errors after the last layer and of a guess, R², and of how many sentences."""
    if profile is None:
        return ""
    used = f"{counted(profile.n, profile.n_different)} under {experiment.length_cutoff} {cutoff_unit(experiment)}"
    pooling = experiment.pooling
    last = profile.get(pooling, None, Readout.VECTOR)
    if profile.n_different < FEW_SENTENCES or profile.best_of(pooling) is None:
        return used
    norm = profile.get(pooling, None, Readout.NORM)
    is_one = profile.is_of_one_vector or pooling is Pooling.POOLER
    is_last, is_norm = last is not None and last.r_squared is not None, norm is not None and norm.r_squared is not None
    parts = [
        f"{_short(last.error)} {experiment.unit} after the last layer" if last and is_last and not is_one else "",
        f"guessing {_short(profile.guess_error)}",
        f"a line on the {'' if is_one else 'last '}norm {_short(norm.error)}" if norm and is_norm else "",
        used,
        "near-duplicates are not grouped" if experiment.near_duplicates is NearDuplicates.INDEPENDENT else "",
    ]
    return " · ".join(filter(None, parts))
