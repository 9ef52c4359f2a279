"""What a profile of the layers says of any model: one reading in a few words, a headline, an answer, and the rest."""

import numpy as np

from clsviz.experiment import Experiment
from clsviz.settings import Lengths, NearDuplicates, Pooling
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words import numbers
from clsviz.words.answer import HARDLY, SMALL_SPREAD, in_words
from clsviz.words.labels import POOLINGS, cutoff_unit, pooled
from clsviz.words.numbers import number, r_squared

SIMILAR = 0.05
"""R² values closer than this are reported as the same: folds differ by that much."""

_CLEAR = 0.01
"""A difference of R² below this is none, however sure."""

_TELLS_THE_NORM = 0.5
"""From this R² on, a direction is said to tell the norm."""

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

FITTING = "Fitting probes: the verdict comes when all are done."

_SENTENCES_PER_DIMENSION = 5
"""With fewer, a probe falls clearly short: for the built-in model's last layer R² is 0.57 with 5,000 sentences, and
about 0.35 with 1,000."""

_BEST_OF_LAYERS = 9.5
"""The 0.998 quantile of chi-square of one degree of freedom: what the largest of 25 stays below in 95 of 100 cases."""

_ALMOST_ALL, _MOST = 0.9, 0.75
"""R² of a probe from which on length can be read, and below which it fades if it could be before."""

_WHOLE = 0.5
"""An error below this is none, as lengths are whole numbers: no length that is read to the token has faded."""


def known(reading: Reading) -> float:
    """The R² of a reading that has one."""
    assert reading.r_squared is not None
    return reading.r_squared


def r_squared_of(reading: Reading) -> str:
    """R² to three decimals; how far below 0 it is says nothing, so that is left out."""
    value = round(known(reading), 3)
    return "R² below 0" if value < 0 else f"R² {value:.3f}"


def place(layer: int | None, n_layers: int) -> str:
    """After which layer, of so many."""
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer in (None, n_layers) else f"after layer {layer}"


def where(profile: Profile, layer: int | None) -> str:
    """The same after a space, or "" where there is one vector, from no known layer."""
    return "" if profile.is_of_one_vector else f" {place(layer, profile.n_layers)}"


def clause(problem: str) -> str:
    """A problem, to stand within a sentence."""
    return f"{problem[:1].lower()}{problem[1:].partition(', so')[0].removesuffix('.')}"


def is_few(n_different: int, width: int) -> bool:
    """Whether there are few different sentences for probes of that many dimensions."""
    return n_different < _SENTENCES_PER_DIMENSION * width


def counted(n: int, n_different: int) -> str:
    """How many sentences there are, and of how many that is if some are the same or nearly."""
    if n_different == n:
        return numbers.counted(n)
    return f"{numbers.counted(n_different, 'different sentence')} (of {n:,})"


def untested(n: int, n_different: int, what: str) -> str:
    """That there are too few different sentences to tell something, or "" if there are enough.

    what: would be told, as a clause.
    """
    if n_different >= FEW_SENTENCES:
        return ""
    if not n:
        return "Not tested: there are no sentences."
    are = "is" if n_different == 1 else "are"
    return f"Not tested: {counted(n, n_different)} {are} too few to tell {what}. It takes at least {FEW_SENTENCES}."


def is_by_chance(reading: Reading, n_different: int) -> bool:
    """Whether the R² of a line, which is not held out, may be the best of many layers’ by chance.

    Of a line on nothing R² times the number of sentences is about chi-square of one degree of freedom.
    """
    return known(reading) * n_different < _BEST_OF_LAYERS


def off_by(error: float, unit: str) -> str:
    """By how much lengths are off, in their unit."""
    return f"less than 0.1 {unit}" if error < 0.05 else f"{error:.1f} {unit}"


def headline(profile: Profile | None, experiment: Experiment) -> str:
    """The headline in at most 20 words: the first case that applies, with the controls that are on named first.

    There is no verdict before the vector is read after all of its layers.
    """
    if profile is None or (profile.n_different >= FEW_SENTENCES and not profile.is_read(experiment.pooling)):
        return FITTING
    controls = [
        *(["lengths shuffled"] if experiment.lengths is Lengths.SHUFFLED else []),
        *(["random weights"] if models.Name.parse(experiment.model).untrained else []),
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
    # A probe stands out unless other sentences might leave nothing of its R², as far as its interval is known.
    is_found = known(best) >= HARDLY and (best.interval is None or best.interval[0] > 0)
    at_best = "at the embeddings" if best.layer == 0 else f"after layer {best.layer}"
    misses = f"misses length by {_short(best.error)} {unit}"
    is_of_one = profile.is_of_one_vector or pooling is Pooling.POOLER
    if is_found and is_of_one:
        lead = "Yes" if known(best) >= _ALMOST_ALL else in_words(known(best)).capitalize()
        return f"{lead}: a linear probe {misses}."
    if is_found and known(best) >= _ALMOST_ALL:
        if last.r_squared is None or known(last) < _MOST or last.error >= max(2 * best.error, _WHOLE):
            return f"Yes, but it fades: {at_best}, a linear probe misses length by only {_short(best.error)} {unit}."
        return f"Yes, to the last layer: there a linear probe misses length by {_short(last.error)} {unit}."
    if is_found and known(best) >= 0.25:
        return f"{in_words(known(best)).capitalize()}: a linear probe {misses} {at_best}."
    if is_found:
        return f"A little: {at_best}, a linear probe beats guessing somewhat."
    norms = [norm for norm in profile.line(pooling, Readout.NORM) if norm and norm.r_squared is not None]
    if any(known(norm) >= HARDLY and not is_by_chance(norm, profile.n_different) for norm in norms):
        return "A linear probe hardly finds it; a line on a norm does."
    if is_few(profile.n_different, profile.width):
        return f"Can’t tell: {counted(profile.n, profile.n_different)} are few for {profile.width:,} dimensions."
    lead = "Hardly:" if is_control else "Hardly: with this many sentences,"
    read = "the vectors" if profile.is_of_one_vector else f"the {pooled(pooling)}"
    after = "" if is_of_one else ", after any layer"
    return f"{lead} a linear probe finds almost no length in {read}{after}."


def _short(error: float) -> str:
    return "<0.1" if error < 0.05 else f"{error:.1f}"


def in_numbers(profile: Profile | None, experiment: Experiment) -> str:
    """What stands below it: errors after the last layer and of a guess, R², and of how many sentences."""
    if profile is None:
        return ""
    used = f"{counted(profile.n, profile.n_different)} under {experiment.length_cutoff} {cutoff_unit(experiment)}"
    pooling = experiment.pooling
    if profile.n_different < FEW_SENTENCES or profile.best_of(pooling) is None:
        return used
    last, norm = (profile.get(pooling, None, readout) for readout in (Readout.VECTOR, Readout.NORM))
    is_one = profile.is_of_one_vector or pooling is Pooling.POOLER
    parts = [f"guessing {_short(profile.guess_error)}"]
    if last and last.r_squared is not None and not is_one:
        parts.insert(0, f"{_short(last.error)} {experiment.unit} after the last layer")
    if norm and norm.r_squared is not None:
        parts.append(f"a line on the {'' if is_one else 'last '}norm {_short(norm.error)}")
    parts.append(used)
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        parts.append("near-duplicates are not grouped")
    return " · ".join(parts)


def answer(profile: Profile | None, experiment: Experiment) -> str:
    """The answer in full, or what stands in its place, with the controls that are on named first."""
    if profile is None:
        return FITTING
    text = _in_brief(profile, models.label(experiment.model), experiment.unit)
    controls = [
        *(["lengths shuffled across sentences"] if experiment.lengths is Lengths.SHUFFLED else []),
        *(["random weights"] if models.Name.parse(experiment.model).untrained else []),
    ]
    if controls:
        text = f"Control, with {' and '.join(controls)}: {text[0].lower()}{text[1:]}"
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        text += " Near-duplicates are not grouped, so probes may be tested on copies of what they were trained on."
    return text


def _in_brief(profile: Profile, model: str, unit: str) -> str:
    """How far off a linear probe is after the best and the last layer: two sentences at most; model: its label."""
    best = profile.best
    if not_tested := untested(profile.n, profile.n_different, "whether a linear probe predicts the length"):
        return not_tested
    read = f"the vectors {model}" if profile.is_of_one_vector else f"the [CLS] vector of {model}"
    after = "" if profile.is_of_one_vector else "after any layer"
    if best is None:
        last = profile.get(Pooling.CLS, None, Readout.VECTOR)
        if last is None:
            return f"How well a linear probe predicts length from {read} is not known yet."
        return f"No linear probe could be fitted to {read}{after and f' {after}'}. {last.problem}"
    so_far = " so far" if None in profile.line(Pooling.CLS, Readout.VECTOR) else ""
    if known(best) < HARDLY:
        text = f"A linear probe hardly predicts the length of held-out sentences from {read}{after and f', {after}'}"
        text += f"{so_far and f' done{so_far}'}: {r_squared_of(best)} at best"
        if is_few(profile.n_different, profile.width):
            of = counted(profile.n, profile.n_different)
            text += f", but {of} are too few for {profile.width:,} dimensions to rule it out"
        return f"{text}. {_norm_at_most(profile)}".strip()
    best_at = "" if profile.is_of_one_vector else f" best{so_far}{where(profile, best.layer)}"
    text = (
        f"A linear probe of {read} predicts the length of held-out sentences{best_at}: it misses by "
        f"{off_by(best.error, unit)} on average, where guessing the mean length misses by "
        f"{profile.guess_error:.1f} ({r_squared_of(best)})."
    )
    return f"{text} {_last(profile, best, unit)}".strip()


def in_full(profile: Profile, experiment: Experiment) -> list[str]:
    """All that the probes say, a paragraph each."""
    return [answer(profile, experiment), *details(profile, experiment.unit)]


def details(profile: Profile, unit: str = "tokens") -> list[str]:
    """What else the probes say, a paragraph each: norm and direction, other vectors, and what to keep in mind."""
    best, last = profile.best, profile.get(Pooling.CLS, None, Readout.VECTOR)
    of = counted(profile.n, profile.n_different)
    texts = []
    if profile.n_different >= FEW_SENTENCES:
        if best is not None and known(best) >= HARDLY:
            texts.append(_norm_or_direction(profile, best, unit))
        texts.append(_poolings(profile))
    elif last is not None:
        texts.append(last.problem or f"The figures below are those of {of}, and say little.")
    vector, norm = (profile.get(Pooling.CLS, 0, readout) for readout in (Readout.VECTOR, Readout.NORM))
    # If all lengths are the same, that there is no R² says nothing of the vectors.
    is_tested = profile.n_different >= FEW_SENTENCES and not profile.is_of_one_vector and profile.guess_error != 0
    if is_tested and vector and norm and vector.r_squared is None and norm.norm_sd < SMALL_SPREAD * norm.norm_mean:
        texts.append(
            "At the embedding layer, [CLS] is the same for every sentence: only its own embedding, its position and "
            "its token type go into it."
        )
    if profile.n_different >= FEW_SENTENCES and best is not None and is_few(profile.n_different, profile.width):
        texts.append(
            f"{of} are few for vectors of {profile.width:,} dimensions: a probe may miss what it would find with more."
        )
    if not profile.is_complete:
        texts.append(f"So far, {len(profile.readings)} of {len(profile.steps)} readings are done.")
    return [text for text in texts if text]


def _last(profile: Profile, best: Reading, unit: str) -> str:
    """How far off the probe is after the last layer, and a line on the norm alone."""
    last, norm = (profile.get(Pooling.CLS, None, readout) for readout in (Readout.VECTOR, Readout.NORM))
    if last is None or norm is None:
        return ""
    of_norm = clause(norm.problem)
    if norm.r_squared is not None:
        of_norm = f"a straight line on the norm alone misses by {off_by(norm.error, unit)} ({r_squared_of(norm)})"
    if best.layer == last.layer:
        return f"{of_norm[:1].upper()}{of_norm[1:]}." if profile.is_of_one_vector else f"There, {of_norm}."
    if last.r_squared is None:
        return f"After the last layer no probe could be fitted: {last.problem[:1].lower()}{last.problem[1:]}"
    return f"After the last layer it misses by {off_by(last.error, unit)} ({r_squared_of(last)}), and {of_norm}."


def _norm_or_direction(profile: Profile, best: Reading, unit: str) -> str:
    """What a line on the norm and a probe of the direction read after the best layer, and what that does not show.

    Of one vector the line on its norm was told before.
    """
    norm, direction = (profile.get(Pooling.CLS, best.layer, readout) for readout in (Readout.NORM, Readout.DIRECTION))
    is_one, at = profile.is_of_one_vector, place(best.layer, profile.n_layers).capitalize()
    if norm is None and not is_one:
        return ""
    of_norm = "" if is_one or norm is None else _line_on_norm(norm)
    if direction is None or direction.r_squared is None:
        lead = f"{at}, {of_norm}." if of_norm else ""
        return f"{lead} Its direction gives no R²: {direction.problem}".strip() if direction else lead
    how_much = {1: "more than one", 0: "about as much as one", -1: "less than one"}[clearly_beyond(direction, best)]
    text = "A linear probe" if is_one else f"{at}, a linear probe"
    text += f" of the direction alone reads {how_much} of the whole vector: it misses by "
    text += f"{off_by(direction.error, unit)} ({r_squared_of(direction)})."
    text += of_norm and f" There, {of_norm}."
    value = direction.norm_r_squared
    if np.isnan(value):
        return text
    if value < HARDLY:
        return f"{text} A linear probe hardly reads the norm itself from the direction (R² {max(value, 0):.3f})."
    if value < _TELLS_THE_NORM:
        return f"{text} A linear probe reads only some of the norm itself from the direction (R² {value:.3f})."
    return (
        f"{text} That does not tell the two apart: a linear probe reads the norm itself from the direction as well (R² "
        f"{r_squared(value, 4)})."
    )


def _poolings(profile: Profile) -> str:
    """How a probe does on mean pooling and the pooler output, compared with [CLS] after the last layer."""
    cls = profile.get(Pooling.CLS, None, Readout.VECTOR)
    if cls is None:
        return ""
    clauses, is_any = [], False
    for pooling, labels in POOLINGS.items():
        other = profile.get(pooling, None, Readout.VECTOR) if labels.line and pooling is not Pooling.CLS else None
        if other is None:
            continue
        how = "nothing"
        if other.r_squared is not None:
            is_any = True
            way = None if cls.r_squared is None else clearly_beyond(other, cls)
            how = {1: "better", 0: "about as well", -1: "worse", None: "better"}[way]
            if not way and max(other.r_squared, cls.r_squared or 0.0) < HARDLY:
                how = "hardly better than guessing"
        clauses.append(f"{how} on {labels.described} ({_said(other)})")
    if not is_any:
        return ""
    return f"Compared with [CLS] after the last layer ({_said(cls)}), a linear probe does {' and '.join(clauses)}."


def _said(reading: Reading) -> str:
    return "no R²" if reading.r_squared is None else r_squared_of(reading)


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


def _line_on_norm(norm: Reading) -> str:
    """What a line on the norm alone reads, and whether the norm varies at all, as a clause."""
    if norm.r_squared is None:
        return clause(norm.problem)
    text = f"a straight line on the norm reads {r_squared_of(norm)}"
    if norm.norm_sd >= SMALL_SPREAD * norm.norm_mean:
        return text
    sd, mean = (number(value, digits=2) for value in (norm.norm_sd, norm.norm_mean))
    return f"{text}, though the norm barely varies (standard deviation {sd}, around a mean of {mean})"


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
