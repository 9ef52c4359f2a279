"""Which dimensions dominate the norm, and what gain and bias do to it, in a sentence each."""

from collections.abc import Sequence

from clsviz.statistics.dimensions import AS_IT_IS, WITHOUT_BIAS, WITHOUT_EITHER, WITHOUT_GAIN, Dimensions, NormOf
from clsviz.words.numbers import number
from clsviz.words.numbers import share as in_percent


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
        text += _and_of_variance(float(found.variance_shares[mine].sum()), share, not one)
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


def _and_of_variance(of_variance: float, share: float, is_plural: bool) -> str:
    """The share of the variance of the squared norm that goes with this share of its mean; it may be negative."""
    conjunction = "but" if of_variance < share / 2 else "and"
    if of_variance < -0.0005:
        return " but reduce its variance" if is_plural else " but reduces its variance"
    if of_variance < 0.0005:
        return f" {conjunction} none of its variance"
    return f" {conjunction} {in_percent(of_variance) if of_variance < 0.9995 else 'all'} of its variance"
