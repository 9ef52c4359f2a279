"""Sentences of an experiment: which ones enter the answer, their lengths and their norms."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import SettingError, quote
from clsviz.measurements import Emitted, Kind, Means, Norms
from clsviz.settings import Experiment, Similarity, Unit
from clsviz.sources.models import Weights
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.sources.sampling import Measured, Sample
from clsviz.sources.sentences import lengths as lengths_in
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1  # changes when near-duplicates are computed in another way

AFTER_LAST: Final = {
    "mean": "probes of mean-pooled vectors take the last one",
    "pooler": "the pooler stands after the last one",
    "pipeline": "the model’s own pipeline ends after the last one",
}
"""Why a pooling exists only after the last layer; norms of means exist after all of them."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of near-duplicates: intp (n,), equal where sentences belong together."""

    numbers: NDArray[np.intp]


def resolve(experiment: Experiment, weights: Weights) -> Experiment:
    """The experiment by a vector that the model has: the mean where it has no pipeline.

    Prompts are the pipeline's where none are set. Raises SettingError for those of other vectors.
    """
    prompts: dict[str, Any] = dict.fromkeys(("query_prompt", "text_prompt"))
    if experiment.pooling == "pipeline" and weights.pipeline.steps:
        for name in prompts:
            own = weights.pipeline.prompt(name.removesuffix("_prompt"))
            prompts[name] = own if getattr(experiment, name) is None else getattr(experiment, name)
        return replace(experiment, **prompts)
    for name in prompts:
        if value := getattr(experiment, name):
            reason = f"{name} is {quote(value)}, and only a pipeline has prompts."
            raise SettingError(reason, "Leave it out, or choose pipeline as pooling.")
    prompts["pooling"] = "mean" if experiment.pooling == "pipeline" else experiment.pooling
    return replace(experiment, **prompts)


def similarity_of(
    similarity: Similarity, experiment: Experiment, weights: Weights | None
) -> Literal["cosine", "dot"]:
    """The similarity: of auto that for which the model was trained, else cosine."""
    if similarity != "auto":
        return similarity
    is_own = weights is not None and resolve(experiment, weights).pooling == "pipeline"
    return "dot" if is_own and weights and weights.pipeline.similarity == "dot" else "cosine"


def is_symmetric(experiment: Experiment, weights: Weights) -> bool:
    """True if a query has the vector that the same text has."""
    has_query_function = "encode_query" in weights.pipeline.steps
    return experiment.query_prompt == experiment.text_prompt and not has_query_function


def prompts_of(experiment: Experiment) -> tuple[str, ...]:
    """What a key says of the prompts: none of vectors that have none."""
    prompts = experiment.query_prompt, experiment.text_prompt
    return tuple(filter(None, prompts)) and tuple(prompt or "" for prompt in prompts)


def kind_of(experiment: Experiment) -> Kind:
    """The kind of measurement that an experiment's norms are in."""
    kinds: dict[str, Kind] = {"mean": "means", "pipeline": "text"}
    return kinds.get(experiment.pooling, "norms")


def layer_of(measured: Measured, experiment: Experiment) -> int:
    """The number of the layer that an experiment is about."""
    return measured.norms.n_layers if experiment.layer is None else experiment.layer


def select(measured: Measured, experiment: Experiment) -> "pd.DataFrame":
    """Every measured sentence, a row each, in the order drawn.

    Columns: those of the corpus (`sentence` first), n_tokens, truncated, is_long (True from the
    length cutoff on), is_used (True of others that the model reads as a whole), length in the unit,
    norm of the layer and the vector; cls_0 … and pooler, the norms that were measured.
    Raises SettingError where the model lacks the layer or the vector.
    """
    norms = measured.norms
    table: pd.DataFrame = measured.sample.rows(0, len(norms)).to_pandas()
    is_long = norms.n_tokens >= experiment.length_cutoff
    columns: dict[str, Any] = {
        "n_tokens": norms.n_tokens,
        "truncated": norms.truncated,
        "is_long": is_long,
        "is_used": ~is_long & ~norms.truncated,
        "length": lengths(table["sentence"], norms.n_tokens, experiment.unit),
        "norm": norms_of(norms, experiment, measured.weights.label),
    }
    if not isinstance(norms, Emitted):
        columns |= {f"cls_{layer}": norms.cls[:, layer] for layer in range(norms.n_layers + 1)}
    if norms.pooler.shape[1]:
        columns["pooler"] = norms.pooler[:, 0]
    return table.assign(**columns)


def used_of(table: "pd.DataFrame", sample: Sample, store: Results) -> "pd.DataFrame":
    """The rows of `select` that enter the answer, and cluster: equal for near-duplicates."""
    n, used = len(table), table[table["is_used"]]
    key = "near-duplicates", VERSION, sample.corpus.fingerprint, sample.seed, n
    clusters = store.get(key, Clusters, lambda: Clusters(near_duplicates(sample.sentences(0, n))))
    return used.assign(cluster=clusters.numbers[used.index])


def lengths(sentences: Collection[str], n_tokens: NDArray[np.int32], unit: Unit) -> NDArray[Any]:
    """Lengths of n sentences, int32 (n,): tokens without special ones, words, or characters."""
    return n_tokens if unit == "tokens" else lengths_in(sentences, unit)


def norms_of(norms: Norms, experiment: Experiment, label: str) -> NDArray[np.float32]:
    """Norms of the layer and vector of an experiment, float32 (n,); raises SettingError.

    label: of the model, for the message.
    """
    layer = check_vector(experiment, norms.n_layers, norms.pooler.shape[1] > 0, label, ["pooler"])
    match experiment.pooling:
        case "cls":
            return norms.cls[:, layer]
        case "pooler":
            return norms.pooler[:, 0]
        case "mean":
            assert isinstance(norms, Means)  # the kind of `kind_of`
            return norms.mean[:, layer]
        case "pipeline":
            if not isinstance(norms, Emitted):
                reason = "The vector of the model’s own pipeline is not followed word by word."
                raise SettingError(reason, "Choose cls, mean or pooler as pooling.")
            return norms.cls[:, 0]


def check_vector(
    experiment: Experiment,
    n_layers: int,
    has_pooler: bool,
    label: str,
    last: Collection[str] = tuple(AFTER_LAST),
) -> int:
    """The number of an experiment's layer; raises SettingError where the model lacks the vector.

    label: of the model, for the message. last: poolings that come after the last layer alone.
    """
    layer = n_layers if experiment.layer is None else experiment.layer
    if layer > n_layers and experiment.pooling != "pipeline":
        reason = f"layer is {layer}, and {label} has layers 0 to {n_layers}."
        raise SettingError(reason, "Choose one of them.")
    is_of_pipeline = experiment.pooling == "pipeline" and experiment.layer is not None
    if is_of_pipeline or (layer < n_layers and experiment.pooling in last):
        reason = f"layer is {layer}, and {AFTER_LAST[experiment.pooling]}."
        raise SettingError(reason, "Choose the last layer, or cls as pooling.")
    if experiment.pooling == "pooler" and not has_pooler:
        raise SettingError(f"{label} has no pooler.", "Choose cls or mean as pooling.")
    return layer
