"""The cards of the page “Where length lives”: each title is a finding, or says that there is none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clsviz.settings import Lengths, Pooling
from clsviz.statistics.dimensions import AS_IT_IS, WITHOUT_BIAS, WITHOUT_EITHER, WITHOUT_GAIN, Dimensions, NormOf
from clsviz.statistics.erasure import AFTER, BEFORE, Erasure
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.probes import Profile, Projection, Reading, Readout, Travel
from clsviz.statistics.sentlen import CHANCE
from clsviz.words import sentlen as task
from clsviz.words.answer import HARDLY
from clsviz.words.numbers import counted, number, r_squared_in_short, share_in_short
from clsviz.words.numbers import share as in_percent
from clsviz.words.probing import ALTERATIONS
from clsviz.words.profile import SIMILAR, clause, clearly_beyond, known, off_by, where

if TYPE_CHECKING:
    from clsviz.analysis.layers import NormBreakdown, SentLen
    from clsviz.analysis.probes import Origin

ALT = "By how much length is missed after every layer."

EXAMPLE = "An example, MiniLM-L6 on Python’s documentation, until there is a result."

GUESSING, BANDS = "guessing", {Lengths.TRUE: "random weights", Lengths.SHUFFLED: "five shuffles"}
"""What the line of guesses and the band of draws are called in the picture."""

NAMES = {
    "in_full": "Norm or direction",
    "random_weights_box": "Random weights",
    "learning_curve_box": "More sentences",
    "vectors_box": "Norms of other vectors",
    "scatter_box": "The norm against length",
    "breakdown_box": "What makes up the norm",
    "project_box": "Length in two dimensions",
    "origin_box": "Where length comes from",
    "travel_box": "The probe on another corpus",
    "erase_box": "Length erased",
    "sentlen_box": "Six length bins",
}
"""What cards are about whose finding is not known, by their keys on the page."""

NOT_ASKED, BEING_COMPUTED, IMPOSSIBLE = "not measured yet", "being computed…", "cannot be computed of these sentences"
"""Why, after a colon."""

WAITS = "This is computed once all vectors are measured."


def picture(band: Lengths | None) -> str:
    """What the picture shows; band: the lengths that its draws have, if there are any."""
    text = "How far a linear probe of the vector, and a line on its norm, miss for sentences they were not fitted to"
    bands = {Lengths.TRUE: "five models with random weights", Lengths.SHUFFLED: "five draws of shuffled lengths"}
    return f"{text}; the band is {bands[band]}." if band else f"{text}."


def so_far(n: int) -> str:
    """What stands below a picture of the first n sentences, while there is no verdict."""
    return f"So far, of the first {counted(n)}."


def axis(unit: str) -> str:
    """The title of the axis of errors."""
    return f"Misses length by ({unit})"


def direction(profile: Profile, unit: str) -> str:
    """What dividing [CLS], or the only vector that there is, by its norm changes."""
    best = profile.best
    if profile.n_different < FEW_SENTENCES:
        return "Norm or direction: too few sentences to tell"
    if not profile.is_read(Pooling.CLS):
        return f"{NAMES['in_full']}: {BEING_COMPUTED}"
    if best is None or known(best) < HARDLY:
        return "Norm or direction: a probe finds too little length to tell them apart"
    of_direction = profile.get(Pooling.CLS, best.layer, Readout.DIRECTION)
    if of_direction is None:
        return f"{NAMES['in_full']}: {BEING_COMPUTED}"
    if of_direction.r_squared is None:
        return "Without the norm nothing is left: all vectors point the same way"
    way = clearly_beyond(of_direction, best)
    change = {-1: "costs a probe something", 0: "changes little", 1: "helps a probe"}[way]
    alone = "the direction" if profile.is_of_one_vector else "the direction of [CLS]"
    misses = f"{alone} alone misses by {off_by(of_direction.error, unit)}{where(profile, best.layer)}"
    return f"Dividing by the norm {change}: {misses}"


def norms(profile: Profile, unit: str) -> str:
    """How a line on the norm of the mean-pooled vector does beside one on that of [CLS], after the last layer."""
    mean, cls = (profile.get(pooling, None, Readout.NORM) for pooling in (Pooling.MEAN, Pooling.CLS))
    if profile.n_different < FEW_SENTENCES:
        return "Norms of other vectors: too few sentences to tell"
    if mean is None or cls is None:
        return f"{NAMES['vectors_box']}: {BEING_COMPUTED}"
    if mean.r_squared is None:
        return f"The norm of the mean-pooled vector gives no line: {clause(mean.problem)}"
    text = f"a line on it misses by {off_by(mean.error, unit)}"
    if cls.r_squared is None:
        return f"The norm of the mean-pooled vector: {text}; that of [CLS] gives no line"
    text = f"{text}, on that of [CLS] by {cls.error:.1f}"
    ahead = known(mean) - known(cls)
    if max(known(mean), known(cls)) < HARDLY:
        return f"The norm of the mean-pooled vector hardly tells length either: {text}"
    how = "about as well as" if abs(ahead) < SIMILAR else "better than" if ahead > 0 else "less well than"
    return f"The norm of the mean-pooled vector tells length {how} that of [CLS]: {text}"


def norm(title: str, answer: str) -> str:
    """What the scatter of the norm shows; title: of its axis. answer: of the main page, which also seeks curves."""
    answer = answer.partition("; curves are still")[0]
    return f"{title}: {answer[:1].lower()}{answer[1:]}".removesuffix(".")


def breakdown(found: "NormBreakdown") -> str:
    """Whether few dimensions make up the norm."""
    shares = found.by_dimension
    if shares is None:
        return f"What makes up the norm cannot be told: {clause(found.by_dimension_problem)}"
    n, largest = len(shares.dominant), float(shares.shares.max())
    if not n:
        lead = "The" if largest >= 0.5 else "No dimension dominates the norm: the"  # of few, none has five equal shares
        return f"{lead} largest dimension accounts for {share_in_short(largest)} of the squared norm"
    of = f"{n} of {len(shares.shares):,} dimensions account" if n > 1 else "One dimension accounts"
    return f"{of} for {share_in_short(float(shares.shares[[*shares.dominant]].sum()))} of the squared norm"


def projected(found: Projection, whole: Reading | None, n_different: int) -> str:
    """What two components show of length."""
    if n_different < FEW_SENTENCES:
        return "Two dimensions: too few sentences to tell what they show"
    of_all = (
        f", from the whole vector {r_squared_in_short(known(whole))}" if whole and whole.r_squared is not None else ""
    )
    return f"From two dimensions a probe reads R² {r_squared_in_short(found.r_squared)}{of_all}"


def origin(found: "Origin") -> str:
    """Which alteration takes most away from the probe after the best layer."""
    best = found.best
    if found.n_clusters < FEW_SENTENCES:
        return "Where does length come from? Too few sentences to tell"
    if best is None or known(best) < HARDLY:
        return "Where does length come from? A probe finds too little of it to trace"
    layer = best.layer or 0
    after = {
        alteration: readings[layer].r_squared
        for alteration, readings in found.altered.items()
        if layer < len(readings) and readings[layer].r_squared is not None
    }
    if not after:
        return "Where does length come from? No change could be measured"
    most = min(after, key=lambda alteration: after[alteration] or 0.0)
    left = after[most] or 0.0
    if left > known(best) - SIMILAR:
        return "No change of the sentences keeps a probe from their length"
    values = f"R² {r_squared_in_short(left)}, of natural sentences {r_squared_in_short(known(best))}"
    return f"With {ALTERATIONS[most].clause} a probe reads least: {values}"


def travelled(found: Travel, there: str, unit: str) -> str:
    """How the probe does on the other corpus after its best layer; there: what that is called."""
    done = [leg for leg in found.legs if np.isfinite(leg.across_error)]
    n_different = min(
        found.n if found.n_clusters is None else found.n_clusters,
        found.n_there if found.n_clusters_there is None else found.n_clusters_there,
    )
    if not done or n_different < FEW_SENTENCES:
        return f"Does the probe hold on {there}? Too few sentences to tell"
    best = min(done, key=lambda leg: leg.within_error)
    if best.across_error >= found.guess_error_across:
        return f"On {there} the probe does no better than guessing: it misses by {off_by(best.across_error, unit)}"
    return (
        f"On {there} the probe misses by {off_by(best.across_error, unit)}, one trained there by {best.there_error:.1f}"
    )


def erased(found: Erasure) -> str:
    """What erasing the length leaves for probes."""
    if (found.n if found.n_clusters is None else found.n_clusters) < FEW_SENTENCES:
        return "Can length be removed? Too few sentences to tell"
    before, after = found.left[BEFORE], found.left[AFTER]
    linear, nonlinear = (float(np.mean(values)) for values in (after.linear, after.nonlinear))
    if np.mean(before.linear) < HARDLY and np.mean(before.nonlinear) < HARDLY:
        return "There is little to remove: probes hardly find length in this vector"
    if max(linear, nonlinear) < HARDLY:
        both = f"R² {r_squared_in_short(linear)}, nonlinear {r_squared_in_short(nonlinear)}"
        return f"Once erased, probes hardly find length: {both}"
    reader = "a linear probe" if linear >= HARDLY else "a nonlinear probe"
    return f"Once erased, {reader} still finds length: R² {r_squared_in_short(max(linear, nonlinear))}"


def sentlen(found: "SentLen") -> str:
    """How often the bin is told from the vector, beside guessing."""
    draws = found.vector_draws
    if found.vector is None or not draws:
        return "Six length bins cannot be predicted from these sentences"
    tells = f"the vector tells {share_in_short(float(np.mean(draws)))}, guessing {share_in_short(CHANCE)}"
    if task.caveat(found):
        return f"Six length bins: too few sentences in the rarest to say; {tells}"
    return f"Six length bins: {tells}" if min(draws) > CHANCE else f"Six length bins, no better than guessing: {tells}"


def dimensions_sentence(found: Dimensions) -> str:
    """Which dimensions dominate the norm, and whether length is in them, in one sentence."""
    width = len(found.shares)
    equal = f"an equal share would be {in_percent(1 / width)}"
    if not found.dominant:
        largest = int(found.order[0])
        share = float(found.shares[largest])
        # Of few dimensions none has five equal shares, even one with most of the norm.
        none = "" if share >= 0.5 else "No dimension dominates the norm. "
        return f"{none}The largest, dimension {largest}, accounts for {in_percent(share)} of the squared norm; {equal}."
    mine = list(found.dominant)
    numbers = " and ".join(filter(None, [", ".join(map(str, mine[:-1])), str(mine[-1])]))
    one, share = len(mine) == 1, float(found.shares[mine].sum())
    who = (
        f"Dimension {numbers} alone accounts for"
        if one
        else f"{len(mine)} of {width} dimensions ({numbers}) account for"
    )
    text = f"{who} {in_percent(share)} of the squared norm ({equal}{'' if one else ' each'})"
    if found.variance_shares is not None:
        of_variance = float(found.variance_shares[mine].sum())  # it may be negative
        conjunction = "but" if of_variance < share / 2 else "and"
        if of_variance < -0.0005:
            text += f" but {'reduces' if one else 'reduce'} its variance"
        elif of_variance < 0.0005:
            text += f" {conjunction} none of its variance"
        else:
            text += f" {conjunction} {in_percent(of_variance) if of_variance < 0.9995 else 'all'} of its variance"
    return (
        f"{text}. With {'it' if one else 'them'}, the R² of the norm on length is {_r_squared(found.r_squared)}; "
        f"without, {_r_squared(found.r_squared_without)}."
    )


def layer_norm_sentence(rows: Sequence[NormOf]) -> str:
    """What gain and bias do to the norm, in one sentence, from `without_layer_norm`."""
    by_name = {row.name: row for row in rows}
    whole, without, gain, bias = (by_name[name] for name in (AS_IT_IS, WITHOUT_EITHER, WITHOUT_BIAS, WITHOUT_GAIN))
    if not whole.varies and not without.varies:
        return "The norm varies by no more than rounding error, with or without the LayerNorm’s gain and bias."
    with_gain = f"{_spread(whole)} with both gain and bias, {_spread(gain)} with the gain alone"
    if without.left_out:
        n = without.left_out
        return (
            f"The LayerNorm’s gain all but erases {n} dimension{'s' * (n > 1)}. The norm’s standard deviation is "
            f"{with_gain}; over the remaining dimensions it is {_spread(bias)} with the bias alone and "
            f"{_spread(without)} with neither."
        )
    if without.varies:
        return (
            f"The norm already varies before the LayerNorm’s gain and bias are applied: its standard deviation is "
            f"{with_gain}, {_spread(bias)} with the bias alone and {_spread(without)} with neither."
        )
    mean = number(without.norm_mean, digits=2)
    return (
        f"Before gain and bias, the LayerNorm gives every sentence the same norm ({mean}), so without those two the "
        f"norm would not vary: its standard deviation is {with_gain} and {_spread(bias)} with the bias alone."
    )


def _spread(row: NormOf) -> str:
    return f"{number(row.norm_sd, digits=3)} (R² {_r_squared(row.r_squared)})"


def _r_squared(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
