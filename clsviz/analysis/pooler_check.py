"""One sentence on its way through a model: [CLS] as it enters, after every layer, and after the pooler."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.vectors import without_gain

if TYPE_CHECKING:
    from clsviz.encoder import Anatomy, AnyEncoder


EXAMPLE = "Sinan loves a beautiful day"
"""Measured for visitors who have typed nothing."""


TOLERANCE = 1e-5
"""Largest error of a pooler output, whose values lie between −1 and 1, that float32 rounding explains."""


DIRECTION_TOLERANCE = 1e-5
"""Largest relative error of a norm recomputed from the direction of a float32 vector."""


@dataclass(frozen=True)
class OfLayer:
    """The norm of [CLS] after a layer, as measured, and recomputed from its direction alone.

    from_direction: NaN where the layer does not end with a LayerNorm that has gain and bias. n_gainless: how many
    dimensions have no gain, so that the direction misses what they held.
    """

    layer: int
    norm: float
    from_direction: float
    n_gainless: int

    @property
    def error(self) -> float:
        """By how much the recomputed norm is off, relative to the measured one."""
        return abs(self.from_direction / self.norm - 1) if self.norm else np.nan


@dataclass(frozen=True, eq=False)
class Check:
    """One sentence as the model reads it: its tokens with their ids, and its vectors, float32 (width,).

    cls: after the last layer. pooler: the model's pooler output, empty if it has none.
    layers: its norm after every layer from 0 on.
    """

    sentence: str
    tokens: list[tuple[str, int]]
    cls: NDArray[np.float32]
    pooler: NDArray[np.float32]
    layers: list[OfLayer]


def measure(encoder: "AnyEncoder", sentence: str) -> Check:
    """Measure the sentence; raises ModelError where the encoder cannot."""
    cls, pooler = encoder.cls_and_pooler([sentence])
    layers = [
        _of_layer(layer, vectors[0], encoder.layer_norms[layer])
        for layer, vectors in enumerate(encoder.cls_by_layer([sentence]))
    ]
    return Check(sentence, encoder.framed_tokens(sentence), cls[0], pooler[0], layers)


def _of_layer(layer: int, vector: NDArray[np.float32], layer_norm: NDArray[np.float32]) -> OfLayer:
    norm, (gain, bias) = float(np.linalg.norm(vector)), layer_norm
    if np.isnan(layer_norm).any() or len(gain) != len(vector):
        return OfLayer(layer, norm, np.nan, 0)
    n_gainless = int(np.count_nonzero(without_gain(gain)))
    return OfLayer(layer, norm, float(statistics.norms_of_directions(vector[None], gain, bias)[0]), n_gainless)


def largest_error(anatomy: "Anatomy", check: Check) -> float | None:
    """By how much the model's pooler output is off at most; None if the pooler is not built like BERT's."""
    if anatomy.pooler is None:
        return None
    return float(np.abs(anatomy.pooler.output(check.cls[None])[0] - check.pooler).max())


def norm_table(check: Check) -> pd.DataFrame:
    """One row per layer: layer, norm, from_direction (recomputed; NaN where that cannot be) and difference."""
    rows = [(of.layer, of.norm, of.from_direction, of.from_direction - of.norm) for of in check.layers]
    return pd.DataFrame(rows, columns=["layer", "norm", "from_direction", "difference"])


def dimension_table(anatomy: "Anatomy", check: Check) -> pd.DataFrame:
    """One row per dimension: component, input_embedding, cls (last layer), expected and pooler (the pooler's output).

    expected: recomputed from cls, where the pooler is built like BERT's. Without pooler, where the model has none.
    """
    columns: dict[str, Any] = {"input_embedding": anatomy.cls_embedding, "cls": check.cls}
    if anatomy.pooler is not None:
        columns["expected"] = anatomy.pooler.output(check.cls[None])[0]
    if anatomy.has_pooler:
        columns["pooler"] = check.pooler
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})  # widths may differ
    table.insert(0, "component", np.arange(len(table)))
    return table
