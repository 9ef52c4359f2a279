"""Cosine similarity of vectors: of pairs, of groups of sentences, and of nearest neighbours."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import SettingError, UndefinedFitError
from clsviz.statistics.intervals import Floats
from clsviz.statistics.ridge import unit

if TYPE_CHECKING:
    from scipy import sparse


def similarities(vectors: NDArray[np.float32]) -> Floats:
    """Cosine similarities of all pairs of n vectors (n, width): float64 (n, n), exactly 1 on the diagonal.

    NaN where one of the two is zero, because a zero vector has no direction.
    """
    from sklearn.metrics.pairwise import cosine_similarity

    exact = np.asarray(vectors, np.float64)
    table: Floats = np.clip(cosine_similarity(exact), -1, 1)
    np.fill_diagonal(table, 1)
    is_zero = ~exact.any(axis=1)
    table[is_zero] = table[:, is_zero] = np.nan
    return table


def typical_similarity(vectors: NDArray[np.float32]) -> float:
    """Mean cosine similarity over all pairs of n vectors (n, width); NaN if fewer than 2 of them are not zero.

    The sum over all ordered pairs is the squared norm of the sum of all directions.
    """
    exact = np.asarray(vectors, np.float64)
    norms = np.linalg.norm(exact, axis=1)
    directions = exact[norms > 0] / norms[norms > 0, None]
    n = len(directions)
    if n < 2:
        return float("nan")
    return float(((directions.sum(axis=0) ** 2).sum() - n) / (n * (n - 1)))


def percentiles_among_pairs(values: Floats, vectors: NDArray[np.float32]) -> Floats:
    """For each of m similarities, the percentage of pairs of n vectors (n, width) that are less alike: float64 (m,).

    NaN where the similarity is, and everywhere if fewer than 2 of the vectors have a direction.
    """
    table = similarities(vectors)
    pairs = table[np.triu_indices(len(table), 1)]
    pairs = np.sort(pairs[np.isfinite(pairs)])
    if not len(pairs):
        return np.full(len(values), np.nan)
    percentages = 100 * np.searchsorted(pairs, values, side="left") / len(pairs)
    return np.where(np.isfinite(values), percentages, np.nan)


def nearest(
    vector: NDArray[np.float32], vectors: NDArray[np.float32], sentences: Sequence[str], n: int = 10
) -> pd.DataFrame:
    """The n sentences whose vectors (n_sentences, width) are nearest by cosine: sentence, similarity, times.

    A sentence that occurs several times is listed once, with its count. Zero vectors are near nothing.
    Raises SettingError if `vector`, (width,), is zero.
    """
    from sklearn.metrics.pairwise import cosine_similarity

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


N_NEIGHBOURS = 10

_CONSTANT = 1e-6
"""Directions that differ by less than this, of their norm of 1, differ by rounding: they were stored as float32."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Vectors of n sentences as cosine similarity sees them: divided by their norms, then taken from a centre.

    The cosine of i and j is offset + along[i] + along[j] + deviations[i] · deviations[j]. Told apart like this, cosines
    that are all near 1 lose no digits.

    deviations: float64 (n, width), dense or sparse. along: float64 (n,), their products with the centre.
    offset: the squared norm of the centre.
    """

    deviations: Any
    along: Floats
    offset: float

    @classmethod
    def of_sparse(cls, vectors: "sparse.csr_matrix") -> Self:
        """Those of sparse vectors of norm 1 or 0, around 0, so that they stay sparse."""
        return cls(vectors, np.zeros(vectors.shape[0]), 0.0)

    @functools.cached_property
    def own(self) -> Floats:
        """The cosine of each sentence with itself, less the offset: float64 (n,)."""
        squares = self.deviations.multiply(self.deviations) if self.is_sparse else self.deviations**2
        own: Floats = 2 * self.along + np.asarray(squares.sum(axis=1)).ravel()
        return own

    @functools.cached_property
    def squares(self) -> float:
        """The sum of the squared products of all deviations, each with each: from their smaller Gram matrix."""
        gram = self.deviations.T @ self.deviations
        return float((gram.data**2).sum() if self.is_sparse else (gram**2).sum())

    @property
    def is_sparse(self) -> bool:
        """Whether the deviations are."""
        from scipy import sparse

        return bool(sparse.issparse(self.deviations))


def directions_of(vectors: ArrayLike) -> Directions:
    """The directions of vectors (n, width); a zero vector has a cosine of 0 with all.

    Raises UndefinedFitError where they are not finite, or all the same.
    """
    if not np.isfinite(vectors).all():
        raise UndefinedFitError("The vectors hold numbers that are not finite, so none is nearer than another.")
    of_norm_one = unit(vectors)
    centre = of_norm_one.mean(axis=0)
    deviations = of_norm_one - centre
    if (deviations**2).sum(axis=1).mean() <= _CONSTANT**2:
        raise UndefinedFitError("The vectors of all sentences have the same direction, so none is nearer than another.")
    return Directions(deviations, deviations @ centre, float(centre @ centre))


def mean_cosines(of: Directions, groups: NDArray[np.intp]) -> tuple[Floats, float]:
    """The mean cosine of two different sentences, one from each group: float64 (groups, groups); and the groups' share.

    The share is the R² of the cosines of all pairs on their two groups: the variance of the means of the cells, each
    weighted by its pairs, over the variance of the cosines. Both are exact, without looking at a single pair, since
    sums over pairs are products of sums. groups: intp (n,), from 0, none of which is empty.
    """
    from scipy import sparse

    n, own, counts = len(groups), of.own, np.bincount(groups)
    along = np.bincount(groups, of.along)
    sums: Any = sparse.csr_matrix((np.ones(n), (groups, np.arange(n)))) @ of.deviations
    products: Any = sums @ sums.T
    if of.is_sparse:
        products = products.toarray()
    totals = np.outer(counts, along) + np.outer(along, counts) + products - np.diag(np.bincount(groups, own))
    pairs = np.outer(counts, counts) - np.diag(counts)
    cells: Floats = np.divide(totals, pairs, out=np.zeros_like(totals), where=pairs > 0)
    n_pairs = n * (n - 1)
    mean = totals.sum() / n_pairs
    # Σ(along[i] + along[j] + product)² over all i and j; the mixed terms are 0, because Σ deviations or along are.
    squares = 2 * n * (of.along @ of.along) + of.squares - own @ own
    variance = squares / n_pairs - mean**2
    between = (pairs * (cells - mean) ** 2).sum() / n_pairs
    return cells + of.offset, float(between / variance) if variance > 0 else 0.0


def neighbours(of: Directions, n: int = N_NEIGHBOURS) -> NDArray[np.intp]:
    """The n nearest other sentences of each by cosine, the nearest first: intp (n_sentences, n), exact.

    Between vectors of one norm, Euclidean distances have the order of cosines, wherever the origin lies.
    """
    return _nearest(of.deviations, n)


def nearest_among(queries: Any, vectors: Any, n: int = N_NEIGHBOURS) -> NDArray[np.intp]:
    """The n vectors (n_vectors, width) that are nearest to each query (n_queries, width): intp (n_queries, n)."""
    directions = unit(vectors)
    centre = directions.mean(axis=0)
    return _nearest(directions - centre, n, unit(queries) - centre)


def _nearest(deviations: Any, n: int, queries: Any = None) -> NDArray[np.intp]:
    """The n nearest deviations to each query; by default to each of themselves, which then is not counted."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=n, metric="euclidean", algorithm="brute").fit(_to_search(deviations))
    asked = None if queries is None else _to_search(queries)
    nearest: NDArray[np.intp] = search.kneighbors(asked, return_distance=False)
    return nearest


def _to_search(deviations: Any) -> Any:
    """Half the digits are enough to tell distances from the centre apart, and take half the time."""
    from scipy import sparse

    return deviations if sparse.issparse(deviations) else deviations.astype(np.float32)
