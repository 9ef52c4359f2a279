"""What the small pictures of every layer show."""

from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.settings import Pooling
from clsviz.words.numbers import r_squared


def said(found: EveryLayer) -> str:
    """After which layer a straight line accounts for most of the norm of [CLS], in a sentence."""
    layers = [after for after in found.layers if after.pooling is Pooling.CLS]
    known = {after.layer: after.r_squared for after in layers if after.r_squared is not None}
    if not known:
        return "After no layer is there a line through these norms."
    most = max(known, key=known.__getitem__)
    last = layers[-1]
    text = (
        f"A straight line in length accounts for most of the norm of [CLS] {_after(most)} (R² {r_squared(known[most])})"
    )
    if last.layer in known and last.layer != most:
        return f"{text}; after the last layer, {last.layer}, R² is {r_squared(known[last.layer])}."
    return f"{text}{', the last' if most == last.layer else ''}."


def name(after: AfterLayer) -> str:
    """What stands under the picture of one layer."""
    if after.pooling is Pooling.MEAN:
        return "Mean-pooled"
    return f"Layer {after.layer}" if after.layer else "Embeddings"


def result(after: AfterLayer) -> str:
    """R² of the line through its points, or why there is none."""
    return after.problem if after.r_squared is None else f"R² {after.r_squared:.2f}"


def _after(layer: int) -> str:
    return f"after layer {layer}" if layer else "at the embedding layer"
