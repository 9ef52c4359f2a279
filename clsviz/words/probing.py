"""What becomes of probes of the length if it is erased from the vectors, or if they are read on another corpus."""

import numpy as np

from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, MOST_SENTENCES, Erasure, Left
from clsviz.statistics.probes import Travel
from clsviz.words.readings import off_by, untested

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
    text = (
        f"Once the length is erased, a linear probe reads R² {_mean(after.linear)} (before: {_mean(before.linear)}), a "
        f"nonlinear one {_mean(after.nonlinear)} (before: {_mean(before.nonlinear)}), and a sentence’s length goes "
        f"with that of its 10 nearest neighbours at ρ {_mean(after.neighbours)} (before: {_mean(before.neighbours)}). "
        f"Erasing shuffled lengths leaves {_all(control)}."
    )
    if found.n_done < found.n_folds:
        text += f" So far, {found.n_done} of {found.n_folds} folds are done."
    return text


def _all(left: Left) -> str:
    """The means, each with the range over the folds, which have draws of their own."""
    texts = []
    for values in (left.linear, left.nonlinear, left.neighbours):
        low, high = _mean((min(values),)), _mean((max(values),))
        texts.append(_mean(values) + (f" ({low} to {high})" if low != high else ""))
    return f"{texts[0]}, {texts[1]} and {texts[2]}"


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
        f"{_after(leg.layer, found.n_layers)} it misses by {off_by(leg.across_error, unit)} there (on held-out "
        f"sentences of its own corpus: {leg.within_error:.1f}; trained there: {leg.there_error:.1f})"
        for leg in places
    ]
    text = f"Trained on {here} and read on {there}: {', and '.join(clauses)}."
    guess = f"Guessing the mean length of {here} misses by {found.guess_error_across:.1f} there"
    worse = [leg for leg in places if leg.across_error >= found.guess_error_across]
    if not worse:
        return f"{text} {guess}."
    which = "the probe does" if len(places) == 1 else f"{_after(worse[0].layer, found.n_layers)} the probe does"
    return f"{text} {guess}: {'the probe does' if len(worse) == len(places) else which} no better."


def _after(layer: int, n_layers: int) -> str:
    if layer == 0:
        return "at the embedding layer"
    return "after the last layer" if layer == n_layers else f"after layer {layer}"
