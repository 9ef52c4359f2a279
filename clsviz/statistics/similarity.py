"""Cosine similarity of vectors."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics.pairwise import cosine_similarity

from clsviz.errors import SettingError
from clsviz.measurements import POOLED
from clsviz.vectors import Vectors

Floats = NDArray[np.float64]


def similarities(vectors: NDArray[np.float32]) -> Floats:
    """Cosine similarity of all pairs of vectors (n, width), float64 (n, n); NaN if either is zero and has no direction.

    The similarity of a vector to itself is exactly 1.
    """
    exact = np.asarray(vectors, np.float64)
    table: Floats = np.clip(cosine_similarity(exact), -1, 1)
    np.fill_diagonal(table, 1)
    is_zero = ~exact.any(axis=1)
    table[is_zero] = table[:, is_zero] = np.nan
    return table


def mean_similarities(vectors: Vectors) -> Floats:
    """Mean cosine similarity of all pairs of sentences, by pooling and layer: float64 (len(POOLED), n_layers + 1).

    NaN where fewer than two vectors have a direction.
    """
    return np.array(
        [
            [typical_similarity(vectors.of(pooling, layer)) for layer in range(vectors.n_layers + 1)]
            for pooling in POOLED
        ]
    )


def typical_similarity(vectors: NDArray[np.float32]) -> float:
    """Mean cosine similarity over the pairs of n vectors (n, width); NaN if fewer than 2 of them are nonzero.

    The sum over all ordered pairs is the squared norm of the sum of all directions.
    """
    exact = np.asarray(vectors, np.float64)
    norms = np.linalg.norm(exact, axis=1)
    directions = exact[norms > 0] / norms[norms > 0, None]
    n = len(directions)
    if n < 2:
        return float("nan")
    return float(((directions.sum(axis=0) ** 2).sum() - n) / (n * (n - 1)))


def nearest(
    vector: NDArray[np.float32], vectors: NDArray[np.float32], sentences: Sequence[str], n: int = 10
) -> pd.DataFrame:
    """The n sentences whose vectors (n_sentences, width) are nearest by cosine, nearest first.

    Columns: sentence, similarity, and times (how often the sentence occurs; it is listed once). Zero vectors are left
    out. Raises SettingError if `vector`, (width,), is zero.
    """
    if not np.any(vector):
        raise SettingError(
            "The vector of this sentence is zero, so it has no direction. Choose another layer or vector."
        )
    if not len(vectors):
        return pd.DataFrame({"sentence": [], "similarity": [], "times": []})
    similarity = np.clip(cosine_similarity(vector[None], vectors)[0], -1, 1).astype(np.float64)
    has_direction = np.flatnonzero(np.asarray(vectors).any(axis=1))
    near = [sentences[index] for index in has_direction.tolist()]
    table = pd.DataFrame({"sentence": near, "similarity": similarity[has_direction]})
    table["times"] = table.groupby("sentence")["sentence"].transform("size")
    ordered = table.sort_values("similarity", ascending=False, kind="stable")
    return ordered.drop_duplicates("sentence").head(n).reset_index(drop=True)
