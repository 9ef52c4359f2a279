"""What probes find where length is erased, on another corpus, in two dimensions, and where they may get it from."""

from dataclasses import dataclass

import numpy as np

from clsviz.analysis.probes import Origin
from clsviz.settings import Alteration
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, MOST_SENTENCES, Erasure
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import MOST_PROJECTED, Projection, Reading, Travel
from clsviz.words.answer import HARDLY
from clsviz.words.numbers import duration, r_squared_in_short
from clsviz.words.profile import clause, counted, is_few, known, off_by, place, untested

ABOUT_ERASING = (
    "LEACE (Belrose et al. 2023) changes the vectors as little as it can so that no linear map predicts the length "
    f"from them. It is fitted on four fifths of the sentences, of the first {MOST_SENTENCES:,} at most, and everything "
    "is read on the held-out fifth. The control erases the lengths of other sentences, drawn anew for each fifth. What "
    "stays is not linear in the length."
)

ASK_TO_ERASE = "Erase the length"

ABOUT_TRAVELLING = (
    "A probe is trained on the sentences of one corpus and read on those of another, as they are. If it does worse "
    "there than one trained there, then what it uses goes along with more than the length in its own corpus."
)

MEASURES = {"linear": "Linear probe, R²", "nonlinear": "Nonlinear probe, R²", "neighbours": "10 nearest, ρ of lengths"}
"""What is measured of each version of the vectors, by its name in `Left`."""

TRAVEL_LINES = ("own corpus, held out", "other corpus", "trained there", "guessing there")
"""What the lines of the errors of a travelling probe are called."""

VERSIONS = {BEFORE: "before", AFTER: "length erased", CONTROL: "shuffled lengths erased"}


def erased(found: Erasure | None) -> str:
    """What erasing the length leaves, in two sentences."""
    if found is None or not found.n_done:
        return "Erasing the length…"
    n_different = found.n if found.n_clusters is None else found.n_clusters
    if not_tested := untested(found.n, n_different, "what erasing the length leaves"):
        return not_tested
    before, after, control = (found.left[name] for name in (BEFORE, AFTER, CONTROL))
    left = []
    for values in (control.linear, control.nonlinear, control.neighbours):
        low, high = _mean((min(values),)), _mean((max(values),))  # of folds, which have draws of their own
        left.append(_mean(values) + (f" ({low} to {high})" if low != high else ""))
    text = (
        f"Once the length is erased, a linear probe reads R² {_mean(after.linear)} (before: {_mean(before.linear)}), a "
        f"nonlinear one {_mean(after.nonlinear)} (before: {_mean(before.nonlinear)}), and a sentence’s length goes "
        f"with that of its 10 nearest neighbours at ρ {_mean(after.neighbours)} (before: {_mean(before.neighbours)}). "
        f"Erasing shuffled lengths leaves {left[0]}, {left[1]} and {left[2]}."
    )
    if found.n_done < found.n_folds:
        text += f" So far, {found.n_done} of {found.n_folds} folds are done."
    return text


def _mean(values: tuple[float, ...]) -> str:
    """The mean over the folds; how far below 0 an R² is says nothing, but a correlation's sign does."""
    value = round(float(np.mean(values)), 2)
    if np.isnan(value):
        return "undefined"
    return "below 0" if value < -1 else f"{abs(value) if value == 0 else value:.2f}".replace("-", "−")


def travelled(found: Travel | None, here: str, there: str, unit: str = "tokens") -> str:
    """How far off the probe is on the other corpus, in two sentences; here, there: what the corpora are called."""
    if found is None or not found.legs:
        return "Fitting probes…"
    done = [leg for leg in found.legs if np.isfinite(leg.across_error)]
    if not done:
        so_far = "" if found.is_complete else " so far"
        return (
            f"No probe of {here} could be read on {there}{so_far}: it takes at least 10 sentences of each, not all of "
            f"one length. There are {found.n:,} and {found.n_there:,}, without those of {there} that are in both."
        )
    for n, n_clusters in ((found.n, found.n_clusters), (found.n_there, found.n_clusters_there)):
        if not_tested := untested(n, n if n_clusters is None else n_clusters, f"how a probe of {here} does on {there}"):
            return not_tested
    best = min(done, key=lambda leg: leg.within_error)
    last = found.legs[-1]
    places = [best] if best is last or not found.is_complete or last not in done else [best, last]
    clauses = [
        f"{place(leg.layer, found.n_layers)} it misses by {off_by(leg.across_error, unit)} there (on held-out "
        f"sentences of its own corpus: {leg.within_error:.1f}; trained there: {leg.there_error:.1f})"
        for leg in places
    ]
    text = f"Trained on {here} and read on {there}: {', and '.join(clauses)}."
    guess = f"Guessing the mean length of {here} misses by {found.guess_error_across:.1f} there"
    worse = [leg for leg in places if leg.across_error >= found.guess_error_across]
    if not worse:
        return f"{text} {guess}."
    which = "the probe does" if len(places) == 1 else f"{place(worse[0].layer, found.n_layers)} the probe does"
    return f"{text} {guess}: {'the probe does' if len(worse) == len(places) else which} no better."


ABOUT_PROJECTING = (
    "Principal components are the directions along which the vectors vary most; the picture has the first two, of the "
    f"first {MOST_PROJECTED:,} sentences at most. They are found without the lengths. The rest of the vector is not in "
    "the picture, so what it does not show may still be there."
)

ASK_TO_PROJECT = "Project the vectors"

NEEDS_VECTORS = (
    "This takes the vectors themselves, of which only the results came with clsviz: they are measured first."
)


def projected(found: Projection | None, vector: str, whole: float | None, n_different: int | None = None) -> str:
    """What the two components show.

    vector: what it is called. whole: R² of length from the whole vector, if known. n_different: different sentences, if
    that is not all of them.
    """
    if found is None:
        return "Projecting the vectors…"
    first, second = found.shares
    beside = "" if whole is None else f" (from the whole vector: {r_squared_in_short(whole)})"
    variance = (
        f"The two directions hold {_percent(first + second)} of the variance of {vector} ({_percent(first)} and "
        f"{_percent(second)})"
    )
    n_different = found.n if n_different is None else n_different
    if not_tested := untested(found.n, n_different, "whether these two numbers alone predict the length"):
        return f"{variance}. {not_tested}"
    return (
        f"{variance}; from these two numbers alone, a linear probe predicts the length of held-out sentences "
        f"at R² {r_squared_in_short(found.r_squared)}{beside}."
    )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


NATURAL = "natural"
"""What the line of unaltered sentences is called."""


@dataclass(frozen=True)
class Label:
    """title: of the picture. line: of the line in it. clause: what was done, in a sentence. catches: what it is for."""

    title: str
    line: str
    clause: str
    catches: str


ALTERATIONS = {
    Alteration.SHUFFLED: Label(
        "Tokens shuffled",
        "shuffled",
        "tokens shuffled",
        "The same tokens in random order. Catches a probe that needs word order.",
    ),
    Alteration.RANDOM: Label(
        "Random tokens",
        "random",
        "random tokens",
        "Every token replaced by a random one of the vocabulary. Catches a probe that needs long sentences to have "
        "other words than short ones.",
    ),
    Alteration.REPEATED: Label(
        "One token repeated",
        "repeated",
        "one token repeated",
        "One random token, another for each sentence, in place of all of its tokens. Catches a probe that needs "
        "different tokens.",
    ),
    Alteration.ONE_POSITION: Label(
        "One position",
        "one position",
        "one position for all",
        "All tokens get the position vector of the first. Catches a probe that needs the position vectors (Luo et al. "
        "2021).",
    ),
    Alteration.NO_SEPARATOR: Label(
        "Without [SEP]",
        "without [SEP]",
        "no [SEP]",
        "The [SEP] at the end is left out. Catches a probe that needs it, or the place where it stands (Mohebbi et al. "
        "2021).",
    ),
}

ABOUT_ORIGIN = (
    "Each picture changes one thing about the sentences, measures their vectors again, and fits new probes to them. "
    "Where the line falls below that of natural sentences, a probe reads less of the length without what was taken "
    "away. Where it does not, the length can be read without it, which does not show that the probe of natural "
    "sentences reads it that way. What is drawn at random is drawn five times, and its band is their range. Such "
    "sentences are unlike any that the model was trained on. Lengths are in tokens."
)


def origin_cost(seconds: float) -> str:
    """What the button says."""
    return f"Measure five changes · about {duration(seconds)}"


def origin(found: Origin | None) -> str:
    """R² of each alteration after the layer that is best for natural sentences and the last, as far as it is known."""
    if found is None or (found.best is None and not found.is_complete):
        return "Fitting probes…"
    if not_tested := untested(found.n, found.n_clusters, "where a probe gets the length from"):
        return not_tested
    if found.best is None:
        problem = next((clause(reading.problem) for reading in reversed(found.natural) if reading.problem), "")
        return f"No probe can be fitted to these sentences{f': {problem}' if problem else ''}."
    layers = [found.best.layer or 0, *([found.n_layers] if found.best.layer != found.n_layers else [])]
    sentences = []
    if known(found.best) < HARDLY:
        sentences.append("A probe hardly reads the length of the natural sentences, so there is little to trace.")
    for layer in layers:
        there = []
        for alteration, readings in found.altered.items():
            if layer < len(readings):
                text = f"{ALTERATIONS[alteration].clause} {_r_squared(readings[layer])}"
                if len(draws := found.draws(alteration, layer)) > 1:
                    low, high = (max(round(end, 2), 0) + 0 for end in (min(draws), max(draws)))
                    text += f" ({low:.2f}–{high:.2f} in {len(draws)} draws)"
                there.append(text)
        if layer < len(found.natural):
            where = "After the last layer" if layer == found.n_layers else f"After layer {layer}"
            others = f"; {', '.join(there)}" if there else ""
            sentences.append(f"{where}: natural sentences R² {_r_squared(found.natural[layer])}{others}.")
    return " ".join(sentences)


def origin_note(found: Origin) -> str:
    """How many sentences there are, and whether they are few for the width of the vectors."""
    text = counted(found.n, found.n_clusters)
    if found.n_clusters >= FEW_SENTENCES and is_few(found.n_clusters, found.width):
        return f"{text}, few for vectors of {found.width:,} dimensions: with more, all of these lines may be higher."
    return f"{text}."


def _r_squared(reading: Reading) -> str:
    return "undefined" if reading.r_squared is None else r_squared_in_short(reading.r_squared)
