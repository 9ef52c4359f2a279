"""Vectors as cosine similarity sees them: mean cosines of groups of sentences, and nearest neighbours."""

import functools
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from clsviz.errors import UndefinedFitError
from clsviz.statistics.ridge import unit

Floats = NDArray[np.float64]


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
    def of_sparse(cls, vectors: sparse.csr_matrix) -> Self:
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
    search = NearestNeighbors(n_neighbors=n, metric="euclidean", algorithm="brute").fit(_to_search(deviations))
    asked = None if queries is None else _to_search(queries)
    nearest: NDArray[np.intp] = search.kneighbors(asked, return_distance=False)
    return nearest


def _to_search(deviations: Any) -> Any:
    """Half the digits are enough to tell distances from the centre apart, and take half the time."""
    return deviations if sparse.issparse(deviations) else deviations.astype(np.float32)
