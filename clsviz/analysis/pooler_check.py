"""One sentence on its way through a model: [CLS] as it enters, after the last layer, and after the pooler."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clsviz.encoder import Anatomy, Encoder


TOLERANCE = 1e-5
"""Largest error of a pooler output, whose values lie between −1 and 1, that float32 rounding explains."""


@dataclass(frozen=True, eq=False)
class Check:
    """One sentence as the model reads it: its tokens with their ids, and its vectors, float32 (width,).

    cls: after the last layer. pooler: the model's pooler output, empty if it has none.
    embedded_norm: L2 norm of [CLS] after layer 0.
    """

    sentence: str
    tokens: list[tuple[str, int]]
    cls: NDArray[np.float32]
    pooler: NDArray[np.float32]
    embedded_norm: float


def measure(encoder: "Encoder", sentence: str) -> Check:
    """Measure the sentence; raises ModelError where the encoder cannot."""
    cls, pooler = encoder.cls_and_pooler([sentence])
    # Not by `vectors`, which fails for models whose layers differ in shape.
    norm = float(encoder.measure([sentence]).cls_norms[0, 0])
    return Check(sentence, encoder.framed_tokens(sentence), cls[0], pooler[0], norm)


def largest_error(anatomy: "Anatomy", check: Check) -> float | None:
    """By how much the model's pooler output is off at most; None if the pooler is not built like BERT's."""
    if anatomy.pooler is None:
        return None
    return float(np.abs(anatomy.pooler.output(check.cls[None])[0] - check.pooler).max())


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
