"""What the pictures of every layer show."""

from clsviz.analysis.layers import EveryLayer
from clsviz.settings import Pooling, Unit
from clsviz.words.labels import POOLINGS
from clsviz.words.numbers import counted, r_squared

ABOUT_PLAYING = (
    "The same sentences after each layer in turn, with the norms of each in standard deviations from their mean. Press "
    "Play or move the slider; nothing moves by itself."
)


def said(found: EveryLayer, pooling: Pooling = Pooling.CLS) -> str:
    """After which layer a straight line explains most of the norm, in a sentence or two."""
    known = {after.layer: after.r_squared for after in found.layers if after.r_squared is not None}
    if not known:
        return "After no layer is there a line through these norms."
    most = max(known, key=known.__getitem__)
    last = found.layers[-1]
    text = f"Among these sentences, a straight line explains the norm of {_vector(pooling)} best {_after(most)}"
    text += f" (R² {r_squared(known[most])})"
    if last.layer in known and last.layer != most:
        return f"{text}; after the last layer, {last.layer}, R² is {r_squared(known[last.layer])}."
    return f"{text}{', the last' if most == last.layer else ''}."


def about_panels(found: EveryLayer, unit: Unit, pooling: Pooling = Pooling.CLS) -> str:
    """What is drawn."""
    n_drawn = len(found.index)
    sentences = counted(found.n)
    drawn = f"{n_drawn:,} of {sentences}" if n_drawn < found.n else f"all {sentences}" if found.n > 1 else sentences
    return (
        f"Each panel has length in {unit} across, and the norm of {_vector(pooling)} upwards on an axis of its own. "
        f"They draw {drawn}; R² and line use all of them."
    )


def _vector(pooling: Pooling) -> str:
    noun = POOLINGS[pooling].noun
    return noun if pooling is Pooling.CLS else f"the {noun}"


def _after(layer: int) -> str:
    return f"after layer {layer}" if layer else "at the embedding layer"
