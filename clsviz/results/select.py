"""Sentences of a view: which ones enter the answer, their lengths and their norms."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import SettingError
from clsviz.experiment import Experiment, Unit
from clsviz.jobs.measure import Measured
from clsviz.measurements import Kind, Means, Norms
from clsviz.results.numbers import counted
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.sources.sampling import Sample
from clsviz.statistics.intervals import LARGER
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1  # changes when near-duplicates are computed in another way

POOLINGS: Final = {"cls": "[CLS]", "mean": "mean-pooled vector", "pooler": "pooler output"}
"""Vectors as sentences name them."""

AFTER_LAST: Final = {
    "mean": "probes of mean-pooled vectors take the last one",
    "pooler": "the pooler stands after the last one",
}
"""Reasons why a vector comes after no earlier layer; norms of means come after all of them."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of near-duplicates: intp (n,), equal where sentences belong together."""

    numbers: NDArray[np.intp]


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
    columns: dict[str, Any] = {
        "n_tokens": norms.n_tokens,
        "truncated": norms.truncated,
        "is_used": (norms.n_tokens < experiment.length_cutoff) & ~norms.truncated,
        "length": lengths(table["sentence"], norms.n_tokens, experiment.unit),
        "norm": norms_of(norms, experiment, measured.weights.label),
        **{f"cls_{layer}": norms.cls[:, layer] for layer in range(norms.n_layers + 1)},
    }
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
    if unit == "words":
        return np.fromiter((len(text.split()) for text in sentences), np.int32, len(sentences))
    if unit == "characters":
        return np.fromiter(map(len, sentences), np.int32, len(sentences))
    return n_tokens


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
    if layer > n_layers:
        reason = f"layer is {layer}, and {label} has layers 0 to {n_layers}."
        raise SettingError(reason, "Choose one of them.")
    if layer < n_layers and experiment.pooling in last:
        reason = f"layer is {layer}, and {AFTER_LAST[experiment.pooling]}."
        raise SettingError(reason, "Choose the last layer, or cls as pooling.")
    if experiment.pooling == "pooler" and not has_pooler:
        raise SettingError(f"{label} has no pooler.", "Choose cls or mean as pooling.")
    return layer


def left_out(
    experiment: Experiment, sample: Sample, n_long: int, n_truncated: int, n_models: int = 1
) -> list[str]:
    """Caveats on sentences over the cutoff, on truncated ones, and on a corpus that is too small.

    n_truncated: of the others, those that not all of the models read as a whole.
    """
    n, size = len(sample), experiment.sample_size
    reader, by = ("the model", "") if n_models == 1 else ("a model", " by a model")
    long = f"{experiment.length_cutoff:,} tokens or more{by}"
    cases = {
        f"Left out: {counted(n_long)} of {long}.": n_long,
        f"Left out: {counted(n_truncated)} longer than {reader} reads.": n_truncated,
        f"The corpus has {counted(n)}: the sample is all of them.": size != "all" and n < size,
    }
    return [caveat for caveat, holds in cases.items() if holds]


def remedy_of(
    remedy: str, experiment: Experiment, sample: Sample, n_long: int, n_read: int | None = None
) -> str:
    """A remedy of statistics, which do not know where more sentences, or other lengths, may be.

    n_long: sentences that a higher cutoff lets in. n_read: of the sample, None for all.
    """
    if remedy != LARGER:
        return remedy
    n, size, corpus = len(sample), experiment.sample_size, sample.corpus
    is_all = size == "all" or n < size
    if not corpus.reading.revision:  # of the Hub, no more is read than the sample
        is_all = is_all or n == corpus.table.num_rows
    retrievers = ["raise the length cutoff"] * (n_long > 0)
    if n_read is None or n_read == n:
        retrievers.append(f"take a larger {'corpus' if is_all else 'sample'}")
    else:
        retrievers.append("raise probe_size")
    return f"{', or '.join(retrievers)}.".capitalize()
