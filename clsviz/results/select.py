"""Sentences of a view: which ones enter the answer, their lengths and their norms."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import SettingError
from clsviz.experiment import Experiment, Unit
from clsviz.jobs.measure import Measured
from clsviz.measurements import Kind, Means, Norms

if TYPE_CHECKING:
    import pandas as pd

POOLINGS = {"cls": "[CLS]", "mean": "mean-pooled vector", "pooler": "pooler output"}
"""Vectors as sentences name them."""


def kind_of(experiment: Experiment) -> Kind:
    """The kind of measurement that an experiment's norms are in."""
    return "means" if experiment.pooling == "mean" else "norms"


def select(measured: Measured, experiment: Experiment) -> "pd.DataFrame":
    """Every measured sentence, a row each, in the order drawn.

    Columns: those of the corpus (`sentence` first), n_tokens, truncated, is_used (True under the
    length cutoff where the model reads all of it), length in the unit, norm of the layer and the
    vector; cls_0 … and pooler, the norms that were measured.
    Raises SettingError where the model lacks the layer or the vector.
    """
    norms = measured.norms
    table: pd.DataFrame = measured.sample.rows(0, len(norms)).to_pandas()
    sentences = table["sentence"]
    table["n_tokens"] = norms.n_tokens
    table["truncated"] = norms.truncated
    table["is_used"] = (norms.n_tokens < experiment.length_cutoff) & ~norms.truncated
    table["length"] = lengths(sentences, norms.n_tokens, experiment.unit)
    table["norm"] = norms_of(norms, experiment, measured.weights.label)
    for layer in range(norms.n_layers + 1):
        table[f"cls_{layer}"] = norms.cls[:, layer]
    if norms.pooler.shape[1]:
        table["pooler"] = norms.pooler[:, 0]
    return table


def lengths(sentences: Collection[str], n_tokens: NDArray[np.int32], unit: Unit) -> NDArray[Any]:
    """Lengths of n sentences, int32 (n,): tokens without special ones, words, or characters."""
    if unit == "words":
        return np.fromiter((len(text.split()) for text in sentences), np.int32, len(sentences))
    if unit == "characters":
        return np.fromiter(map(len, sentences), np.int32, len(sentences))
    return n_tokens


def norms_of(norms: Norms, experiment: Experiment, label: str) -> NDArray[np.float32]:
    """Norms of the layer and vector of an experiment, float32 (n,); raises SettingError.

    label: of the model, for the message.
    """
    layer = norms.n_layers if experiment.layer is None else experiment.layer
    is_mean = experiment.pooling == "mean"
    if layer > norms.n_layers:
        reason = f"layer is {layer}, and {label} has layers 0 to {norms.n_layers}."
        raise SettingError(reason, "Choose one of them.")
    if experiment.pooling == "pooler":
        if layer < norms.n_layers:
            reason = f"layer is {layer}, and the pooler stands after the last one."
            raise SettingError(reason, "Choose the last layer, or another vector.")
        if not norms.pooler.shape[1]:
            raise SettingError(f"{label} has no pooler.", "Choose cls or mean as pooling.")
        return norms.pooler[:, 0]
    matrix = norms.mean if isinstance(norms, Means) and is_mean else norms.cls
    return matrix[:, layer]
