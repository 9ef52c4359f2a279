"""Cosine similarity of vectors, nearest neighbours, and how far both, and with them a search, follow the lengths."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import SettingError, TooFewError, UndefinedFitError
from clsviz.sources.near_duplicates import canonical
from clsviz.statistics.intervals import FEW_SENTENCES, Floats
from clsviz.statistics.lengths import shuffled
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


@dataclass(frozen=True, eq=False)
class Nearest:
    """The sentences that are nearest to one by cosine.

    table: sentence, similarity, times (how often the sentence occurs), the nearest first. n_compared: sentences it was
    compared with. n_without: others, whose vectors are zero and so are near nothing. n_tied: different sentences that
    are not listed although they are as near as the last one listed.
    """

    table: pd.DataFrame
    n_compared: int
    n_without: int
    n_tied: int


def nearest(
    vector: NDArray[np.float32], vectors: NDArray[np.float32], sentences: Sequence[str], n: int = 10
) -> Nearest:
    """The n sentences whose vectors (n_sentences, width) are nearest by cosine.

    A sentence that occurs several times is listed once, with its count. Raises SettingError if `vector`, (width,), is
    zero.
    """
    from sklearn.metrics.pairwise import cosine_similarity

    if not np.any(vector):
        raise SettingError(
            "The vector of this sentence is zero, so it has no direction. Choose another layer or vector."
        )
    has_direction = np.flatnonzero(_has_direction(vectors))
    n_without = len(vectors) - len(has_direction)
    if not len(has_direction):
        return Nearest(pd.DataFrame({"sentence": [], "similarity": [], "times": []}), 0, n_without, 0)
    similarity = np.clip(cosine_similarity(vector[None], vectors[has_direction])[0], -1, 1).astype(np.float64)
    table = pd.DataFrame({"sentence": [sentences[i] for i in has_direction.tolist()], "similarity": similarity})
    table["times"] = table.groupby("sentence")["sentence"].transform("size")
    ordered = table.sort_values("similarity", ascending=False, kind="stable").drop_duplicates("sentence")
    listed, others = ordered.head(n).reset_index(drop=True), ordered.iloc[n:]
    n_tied = int((others["similarity"] >= listed["similarity"].iloc[-1] - _COSINE_ROUNDING).sum())
    return Nearest(listed, len(has_direction), n_without, n_tied)


_COSINE_ROUNDING = 1e-6
"""Cosines of float32 vectors that differ by less are the same."""

N_NEIGHBOURS = 10

_CONSTANT = 1e-6
"""Directions that differ by less than this, of their norm of 1, differ by rounding: they were stored as float32."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Vectors of n sentences as cosine similarity sees them: divided by their norms, then taken from a centre.

    The cosine of i and j is offset + along[i] + along[j] + deviations[i] · deviations[j]. Told apart like this, cosines
    that are all near 1 lose no digits.

    deviations: float64 (n, width), dense or sparse. along: float64 (n,), their products with the centre.
    offset: the squared norm of the centre. has_direction: bool (n,), False for zero vectors.
    """

    deviations: Any
    along: Floats
    offset: float
    has_direction: NDArray[np.bool_]

    @classmethod
    def of_sparse(cls, vectors: "sparse.csr_matrix") -> Self:
        """Those of sparse vectors of norm 1 or 0, around 0, so that they stay sparse."""
        return cls(vectors, np.zeros(vectors.shape[0]), 0.0, np.diff(vectors.indptr) > 0)

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
    return Directions(deviations, deviations @ centre, float(centre @ centre), _has_direction(of_norm_one))


def _has_direction(vectors: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which of vectors (n, width) are not zero: bool (n,)."""
    found: NDArray[np.bool_] = np.linalg.norm(vectors, axis=1) > 0
    return found


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


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest by cosine of each of n sentences, exact.

    index: intp (n, k), the nearest first; -1 throughout for a zero vector, which has no neighbours and is nobody's.
    is_tied: bool (n,), whether one more sentence is as near as the last, so that which of them is listed is arbitrary.
    """

    index: NDArray[np.intp]
    is_tied: NDArray[np.bool_]


def neighbours(of: Directions, n: int = N_NEIGHBOURS) -> Neighbours:
    """The n nearest other sentences of each; raises UndefinedFitError where no more than n have a direction.

    Between vectors of norm 1 Euclidean distances have the order of cosines, wherever the origin lies.
    """
    return _nearest(of.deviations, of.has_direction, n)


def nearest_among(queries: ArrayLike, vectors: ArrayLike, n: int = N_NEIGHBOURS) -> Neighbours:
    """The n vectors (n_vectors, width) that are nearest to each query (n_queries, width), as `neighbours`."""
    directions, asked = unit(vectors), unit(queries)
    centre = directions.mean(axis=0)
    return _nearest(directions - centre, _has_direction(directions), n, asked - centre, _has_direction(asked))


_DISTANCE_ROUNDING = 2e-7
"""Squared distances that differ by a smaller share are the same: deviations are searched in float32."""


def _nearest(
    deviations: Any,
    has_direction: NDArray[np.bool_],
    n: int,
    queries: Any = None,
    asks: NDArray[np.bool_] | None = None,
) -> Neighbours:
    """The n nearest deviations to each query; by default to each of themselves, which then is not counted."""
    from sklearn.neighbors import NearestNeighbors

    places = np.flatnonzero(has_direction)
    n_found = min(n + 1, len(places) - (asks is None))  # one more shows whether the last is tied
    if n_found < n:
        raise TooFewError(f"Only {len(places):,} of the vectors have a direction, too few for {n} neighbours of each.")
    search = NearestNeighbors(n_neighbors=n_found, metric="euclidean", algorithm="brute")
    search.fit(_to_search(deviations[places]))
    if asks is None:
        asks = has_direction
        distances, found = search.kneighbors()
    else:
        distances, found = search.kneighbors(_to_search(queries[np.flatnonzero(asks)]))
    index, is_tied = np.full((len(asks), n), -1, np.intp), np.zeros(len(asks), bool)
    index[asks] = places[found[:, :n]]
    if n_found > n:
        last, next_one = distances[:, n - 1] ** 2, distances[:, n] ** 2
        is_tied[asks] = next_one - last <= _DISTANCE_ROUNDING * next_one
    return Neighbours(index, is_tied)


def _to_search(deviations: Any) -> Any:
    """Half the digits are enough to tell distances from the centre apart, and take half the time."""
    from scipy import sparse

    return deviations if sparse.issparse(deviations) else deviations.astype(np.float32)


N_GROUPS = 10
"""Groups of sentences by length, all of one size: deciles."""


@dataclass(frozen=True, eq=False)
class LengthBias:
    """How far the similarity of n sentences follows their lengths.

    cosine_by_length: float64 (10, 10), the mean cosine of two sentences by the tenths that their lengths are in.
    length_share: R² of the cosines of all pairs on the two tenths.
    neighbours: intp (n, 10), the nearest other sentences of each; -1 for those whose vector is zero.
    neighbour_correlation: Spearman's ρ of a sentence's length with the mean length of those ten.
    lengths_apart: how far the lengths of a sentence and one of its ten nearest are apart, on average.
    times_found: float64 (10,), how often a sentence of each tenth is among the ten nearest of another, on average.
    n_without: sentences whose vector is zero: they have no neighbours, and are nobody's.
    n_tied: sentences for which more than ten are as near as the tenth, so that which of them count is arbitrary.
    """

    cosine_by_length: Floats
    length_share: float
    neighbours: NDArray[np.intp]
    neighbour_correlation: float
    lengths_apart: float
    times_found: Floats
    n_without: int = 0
    n_tied: int = 0


@dataclass(frozen=True, eq=False)
class Chance:
    """What the measures of LengthBias come to where the lengths are shuffled among the sentences.

    cosine_by_length: of one shuffle. length_share, neighbour_correlation: their means over 99 shuffles.
    length_share_limit, neighbour_correlation_limit: what 95 of 100 shuffles stay below, the second without its sign.
    """

    cosine_by_length: Floats
    length_share: float
    length_share_limit: float
    neighbour_correlation: float
    neighbour_correlation_limit: float


_SHUFFLES = 99


def length_groups(lengths: ArrayLike) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Ten groups of equal size by length: intp (n,), from 0 for the shortest; and each one's shortest and longest.

    Sentences of one length may fall into two groups, in the order they are given in.
    """
    values = np.asarray(lengths)
    groups = np.empty(len(values), np.intp)
    groups[np.argsort(values, kind="stable")] = np.arange(len(values)) * N_GROUPS // len(values)
    of = [values[groups == group] for group in range(N_GROUPS)]
    return groups, [(int(lengths.min()), int(lengths.max())) for lengths in of]


def length_bias(of: Directions, lengths: ArrayLike) -> LengthBias:
    """How far similarity follows the lengths (n,); raises UndefinedFitError where that cannot be said."""
    values = np.asarray(lengths, float)
    check_lengths(values)
    groups, _ = length_groups(values)
    cosines, share = mean_cosines(of, groups)
    found = neighbours(of)
    nearest = found.index
    of_nearest, listed = lengths_of_nearest(values, nearest), nearest[nearest >= 0]
    return LengthBias(
        cosines,
        share,
        nearest,
        neighbour_correlation(values, of_nearest),
        float(np.nanmean(np.abs(of_nearest - values[:, None]))),
        np.bincount(groups[listed], minlength=N_GROUPS) / np.bincount(groups, minlength=N_GROUPS),
        int(np.count_nonzero(~of.has_direction)),
        int(np.count_nonzero(found.is_tied)),
    )


def lengths_of_nearest(lengths: ArrayLike, nearest: NDArray[np.intp]) -> Floats:
    """The lengths (n,) of the nearest, intp (m, k): float64 (m, k), NaN for sentences without neighbours."""
    return np.where(nearest >= 0, np.asarray(lengths, float)[nearest], np.nan)


def check_lengths(lengths: NDArray[Any]) -> None:
    """Raise UndefinedFitError where there are too few sentences, or all of one length."""
    if len(lengths) < FEW_SENTENCES:
        are = "is" if len(lengths) == 1 else "are"
        raise TooFewError(
            f"At least {FEW_SENTENCES} different sentences are needed, and there {are} only {len(lengths)}."
        )
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {len(lengths):,} sentences have the same length, so it cannot bend anything.")


def neighbour_correlation(lengths: NDArray[Any], of_nearest: NDArray[Any]) -> float:
    """Spearman's ρ of lengths (n,) with the mean of those of the nearest, (n, k); raises UndefinedFitError.

    Sentences whose nearest are NaN, as they have none, are left out.
    """
    from scipy import stats

    has_any = ~np.isnan(of_nearest).any(axis=1)
    means = of_nearest[has_any].mean(axis=1)
    if not len(means) or np.ptp(means) == 0 or np.ptp(lengths[has_any]) == 0:
        raise UndefinedFitError("The nearest neighbours of all sentences have one and the same mean length.")
    return float(stats.spearmanr(lengths[has_any], means).statistic)


def random_apart(lengths: ArrayLike) -> float:
    """How far the lengths (n,) of two different sentences are apart, on average: Gini's mean difference."""
    values = np.sort(np.asarray(lengths, float))
    n = len(values)
    return float(2 * ((2 * np.arange(1, n + 1) - n - 1) @ values) / (n * (n - 1)))


def share_kept(before: NDArray[np.intp], after: NDArray[np.intp]) -> float:
    """The share of the nearest neighbours, intp (n, k), that are still among them."""
    has_any = before[:, 0] >= 0
    return float((before[has_any, :, None] == after[has_any, None, :]).any(axis=2).mean())


def chance(of: Directions, lengths: ArrayLike, nearest: NDArray[np.intp]) -> Chance:
    """The control of `length_bias`, with the same neighbours."""
    values = np.asarray(lengths, float)
    cosines, shares, correlations = [], [], []
    for seed in range(_SHUFFLES):
        random = np.asarray(shuffled(values, seed), float)
        means, share = mean_cosines(of, length_groups(random)[0])
        cosines.append(means)
        shares.append(share)
        correlations.append(neighbour_correlation(random, lengths_of_nearest(random, nearest)))
    return Chance(
        cosines[0],
        float(np.mean(shares)),
        float(np.quantile(shares, 0.95)),
        float(np.mean(correlations)),
        float(np.quantile(np.abs(correlations), 0.95)),
    )


def first_of_each(sentences: Sequence[str]) -> NDArray[np.intp]:
    """The first of all sentences that differ by no more than case, accents or white space: intp (m,), in order."""
    keys = [canonical(sentence) for sentence in sentences]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    return np.array(sorted(first.values()), np.intp)


_WORD = r"(?u)\b\w+\b"
"""One letter is a word too."""


def tf_idf(sentences: Sequence[str]) -> "sparse.csr_matrix":
    """How often each sentence has each word, the rare ones weighted more: sparse float64 (n, words), of norm 1.

    Two sentences are alike in it as far as they share words: term frequency times inverse document frequency (Salton
    and Buckley 1988), as scikit-learn has it. Words are runs of letters and digits, so in scripts without spaces they
    are whole clauses. Raises UndefinedFitError where there are no words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights: sparse.csr_matrix = TfidfVectorizer(token_pattern=_WORD).fit_transform(sentences)
    except ValueError as error:  # an empty vocabulary
        raise UndefinedFitError("These sentences have no words, so shared words are no baseline.") from error
    return weights
