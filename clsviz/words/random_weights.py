"""What untrained models give away beside the trained one, and what more sentences find."""

import math

from clsviz.analysis.random_weights import RandomWeights
from clsviz.settings import Pooling
from clsviz.statistics.probes import Profile, Reading, Readout
from clsviz.words.answer import HARDLY
from clsviz.words.numbers import duration, r_squared_in_short, share

_GIVES_AWAY = 0.5
"""From this held-out R² on, of every initialisation, an untrained model is said to give length away."""

ABOUT = (
    "The same architecture with random weights, drawn five times as training would start from them, reads the same "
    "sentences, and the same probes are fitted. The usual random weights are small, so attention is almost even and "
    "[CLS] is nearly an average of the tokens. One more is read with a single position vector for all tokens. That a "
    "probe finds less in the trained model does not mean that training takes length away: other differences between "
    "vectors may have grown more. Shares of variance are not parts of R²."
)

COLUMNS = {
    "layer": "Layer",
    "error": "Trained, misses by",
    "random_lowest": "Random, from",
    "random_highest": "Random, to",
    "without_positions": "Random, no positions",
    "linear_share": "Linear in length, trained",
    "random_linear_share": "Linear, random",
    "linear_over_mean": "Over squared mean, trained",
    "random_linear_over_mean": "Over squared mean, random",
}
"""What the columns of `analysis.random_weights.table` are called on the page."""


def title(found: RandomWeights | None, unit: str, *, is_asked: bool, vector: str = "") -> str:
    """The finding, or where it stands; vector: what is read, where the page shows another."""
    if found is None or not found.is_complete:
        return (
            f"Random weights: {'being measured…' if is_asked else 'what an untrained model gives away is not measured'}"
        )
    readings = found.at(None)
    if not readings:
        return "Random weights: no probe could be fitted"
    values = [reading.r_squared or 0.0 for reading in readings]
    misses = f"they miss by {_errors(readings)} {unit}{vector and f', read from {vector}'}"
    if min(values) >= _GIVES_AWAY:
        return f"Random weights give length away too: {misses}"
    lead = "give almost no length away" if max(values) < HARDLY else "give some length away"
    return f"Random weights {lead}: {misses}"


def cost(seconds: float) -> str:
    """What the button says."""
    return f"Measure six untrained models · about {duration(seconds)}"


def said(found: RandomWeights, profile: Profile, unit: str) -> str:
    """What untrained models give away after the last layer, what the trained one, and how much of it is linear."""
    last = profile.get(Pooling.CLS, None, Readout.VECTOR)
    there = found.at(None)
    values = [reading.r_squared or 0.0 for reading in there]
    if not there:
        texts = ["No probe could be fitted to the last layer of an untrained model."]
    elif min(values) >= _GIVES_AWAY:
        text = "An untrained model gives length away too: after its last layer a probe misses by"
        texts = [f"{text} {_errors(there)} {unit}."]
    elif max(values) < HARDLY:
        texts = ["A linear probe finds almost no length after the last layer of an untrained model."]
    else:
        text = "After the last layer of an untrained model, a linear probe misses length by"
        texts = [f"{text} {_errors(there)} {unit}, guessing by {profile.guess_error:.1f}."]
    without = found.without_positions[-1:] if len(found.without_positions) > found.n_layers else ()
    if without and without[0].r_squared is not None:
        texts.append(f"Without position vectors it misses by {without[0].error:.1f}.")
    if last is not None and last.r_squared is not None:
        texts.append(f"In the trained model a linear probe with this many sentences misses by {last.error:.1f}.")
        if there and not math.isnan(last.linear_share + there[0].linear_share):
            # Shares of a variance that is itself larger or smaller are compared by the mean vector.
            linear = f"Of the variance of its last layer {share(last.linear_share)} is linear in length, with random "
            linear += f"weights {share(there[0].linear_share)}"
            ratio = last.linear_over_mean / there[0].linear_over_mean if there[0].linear_over_mean else math.nan
            if 0 < ratio < math.inf:
                times = f"{ratio:.1f} times" if ratio >= 1 else f"{ratio:.2f} of"
                linear += f"; relative to the squared mean vector it is {times} what it is with random weights"
            texts.append(f"{linear}.")
    return " ".join(filter(None, [*texts, found.problem]))


def _errors(readings: list[Reading]) -> str:
    low, high = (f"{end(reading.error for reading in readings):.1f}" for end in (min, max))
    return low if low == high else f"{low}–{high}"


def curve_title(profile: Profile, pooling: Pooling = Pooling.CLS) -> str:
    """What more sentences find, of a vector after the last layer."""
    last = profile.get(pooling, None, Readout.VECTOR)
    curve = last.curve if last else ()
    if len(curve) < 2:
        return "Do more sentences find more? Too few here to tell"
    first, whole = curve[0], curve[-1]
    ends = ", ".join(f"{r_squared_in_short(point.r_squared)} with {point.n:,}" for point in (first, whole))
    if whole.interval[0] > first.interval[1]:
        return f"More sentences find more: R² {ends}"
    if whole.interval[1] < first.interval[0]:
        return f"More sentences find less: R² {ends}"
    return f"More sentences find no clearly different amount: R² {ends}"


ABOUT_CURVE = (
    "Held-out R² of linear probes after the last layer, fitted to the first 350, 600, 1,000 and 2,000 sentences and to "
    "all, each a part of the next. Bands are 95% intervals, by drawing other sentences (near-duplicates together) to "
    "test the same probes on. A curve that still rises says that the probe misses what more sentences would find."
)
