"""The ten texts that a search finds, by vectors or by shared words (BM25), and fixes where lengths bend it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.settings import Fix
from clsviz.statistics.erasure import Map, Remedy, fit_remedy
from clsviz.statistics.exposure import N_PLACES
from clsviz.statistics.intervals import Floats

_BLOCK = 4_000_000
"""Scores in memory at a time: 16 MB."""

Floats32 = NDArray[np.float32]


def rank(
    queries: ArrayLike,
    texts: ArrayLike,
    shift: Floats | None = None,
    scale: Floats | None = None,
    check: Callable[[], None] | None = None,
) -> NDArray[np.intp]:
    """The ten texts (n_texts, width) with the largest (query · text − shift) · scale, the best first: intp (n, 10).

    queries: (n, width). shift, scale: of each text, (n_texts,), 0 and 1 by default. check: is called between blocks,
    and may raise.
    """
    vectors = np.asarray(texts, np.float32)
    centre = vectors.mean(axis=0)
    # What all texts have in common orders none of them before another: without it, alike texts keep their digits.
    deviations = vectors - centre
    asked = np.asarray(queries, np.float32)
    found = np.empty((len(asked), N_PLACES), np.intp)
    size = max(1, _BLOCK // len(vectors))
    for start in range(0, len(asked), size):
        if check is not None:
            check()
        block = asked[start : start + size]
        scores = block @ deviations.T
        if scale is not None:
            scores += (block @ centre)[:, None]
            scores -= np.float32(0) if shift is None else shift.astype(np.float32)
            scores *= scale.astype(np.float32)
        found[start : start + size] = best(scores)
    return found


def best(scores: Floats32) -> NDArray[np.intp]:
    """The places of the ten largest of each row of scores, (n, n_texts), the largest first: intp (n, 10)."""
    top = np.argpartition(scores, -N_PLACES, axis=1)[:, -N_PLACES:]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1)


K1, B = 1.2, 0.75
"""BM25’s saturation of repeated words, and how far it divides by the length of a text."""


def rank_by_words(
    queries: Sequence[str], texts: Sequence[str], check: Callable[[], None] | None = None
) -> NDArray[np.intp]:
    """The ten texts that BM25 ranks first for each query: intp (n, 10) (Robertson & Zaragoza 2009, IDF as in Lucene).

    Words are runs of two letters, digits or underscores or more in lower case; none is left out, and none is stemmed.
    Where fewer than ten texts share a word with the query, others fill the places at random.
    """
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(dtype=np.float32)
    try:
        counts = counter.fit_transform(texts).tocsr()
    except ValueError:  # no text has a word
        counts, asked = (sparse.csr_matrix(np.zeros((len(of), 1), np.float32)) for of in (texts, queries))
    else:
        asked = counter.transform(queries).tocsr()
    n_words = np.asarray(counts.sum(axis=1)).ravel()
    share = K1 * (1 - B + B * n_words / max(n_words.mean(), 1e-9))
    n_with = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(1 + (len(texts) - n_with + 0.5) / (n_with + 0.5))
    counts.data *= (K1 + 1) / (counts.data + np.repeat(share, np.diff(counts.indptr)))
    weights = sparse.csr_matrix(counts.multiply(idf).T, dtype=np.float32)
    rng = np.random.default_rng(0)
    found = np.empty((len(queries), N_PLACES), np.intp)
    size = max(1, _BLOCK // len(texts))
    for start in range(0, len(queries), size):
        if check is not None:
            check()
        scores = (asked[start : start + size] @ weights).toarray()
        sparse_rows = np.flatnonzero((scores > 0).sum(axis=1) < N_PLACES)
        if len(sparse_rows):
            scores[sparse_rows] -= (scores[sparse_rows] == 0) * rng.random((len(sparse_rows), len(texts)), np.float32)
        found[start : start + size] = best(scores)
    return found


_TEXTS_PER_DIMENSION = 10
"""Fewer do not tell the covariances that whitening divides by."""

_FLOOR = 1
"""Percentile of the spreads of texts, below which none is taken to be."""

POWERS = {Fix.SQRT_TOKENS: 0.5, Fix.TOKENS_TENTH: 0.1}

_REMEDIES = {Fix.CENTRED: Remedy.CENTRED, Fix.WHITENED: Remedy.WHITENED, Fix.ERASED: Remedy.ERASED}


@dataclass(frozen=True, eq=False)
class FittedFix:
    """A fix that was fitted to some searches, to be applied to any: (query · text − shift) · scale.

    apply: is done to vectors of queries and of texts. shift, scale: float64 (n_texts,), of each indexed text, or None.
    formula, coefficients: the same for a reader; n is the length of a text in tokens.
    """

    formula: str
    apply: Map = np.asarray
    shift: Floats | None = None
    scale: Floats | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)


def fit_vectors(fix: Fix, vectors: ArrayLike, lengths: NDArray[np.int32]) -> FittedFix:
    """Centring, whitening or LEACE of log length, fitted to vectors (n, width) of texts with these lengths (n,).

    Raises UndefinedFitError where the texts are too few: whitening takes ten for each dimension, the others ten.
    """
    n, width = np.shape(vectors)
    least = _TEXTS_PER_DIMENSION * (width if fix is Fix.WHITENED else 1)
    if n < least:
        raise UndefinedFitError(f"{fix} takes at least {least:,} texts, and there are only {n:,}.")
    formula = {
        Fix.CENTRED: "vector - mean of the texts' vectors",
        Fix.WHITENED: "principal components of vector - mean, each divided by its standard deviation",
        Fix.ERASED: "vector - a (b · (vector - mean)), the least change without covariance with log(n)",
    }[fix]
    return FittedFix(formula, fit_remedy(_REMEDIES[fix], vectors, np.log(np.maximum(lengths, 1))))


def times_power(fix: Fix, power: float, lengths: NDArray[np.int32]) -> FittedFix:
    """Scores times a power of the length."""
    scale = np.maximum(lengths, 1).astype(float) ** power
    return FittedFix("score * n**p", scale=scale, coefficients={"p": power})


def calibrate(queries: ArrayLike, texts: ArrayLike, lengths: NDArray[np.int32]) -> FittedFix:
    """Scores in standard deviations from what texts of their length get: (score − m(n)) / s(n).

    m and s are quadratic in log n, fitted by least squares to the mean score of each text, (n_texts, width), with all
    of these queries, (n, width), and to its root mean square distance from m; s is at least its first percentile over
    the texts.
    """
    asked, indexed = np.asarray(queries, float), np.asarray(texts, float)
    logs = np.log(np.maximum(lengths, 1))
    # Means over queries of a score and of its square, without a score: sums of products are products of sums.
    means = indexed @ asked.mean(axis=0)
    squares = np.einsum("ij,ij->i", indexed @ (asked.T @ asked / len(asked)), indexed)
    m = np.polynomial.polynomial.polyfit(logs, means, 2)
    mean: Floats = np.polynomial.polynomial.polyval(logs, m).astype(float)
    distances = np.sqrt(np.maximum(squares - 2 * mean * means + mean**2, 0))
    s = np.polynomial.polynomial.polyfit(logs, distances, 2)
    spread = np.polynomial.polynomial.polyval(logs, s)
    least = max(float(np.percentile(spread, _FLOOR)), 1e-9)
    names = ("m0", "m1", "m2", "s0", "s1", "s2", "s_least")
    return FittedFix(
        "(score - (m0 + m1 log(n) + m2 log(n)²)) / max(s0 + s1 log(n) + s2 log(n)², s_least)",
        shift=mean,
        scale=1 / np.maximum(spread, least),
        coefficients=dict(zip(names, [*map(float, m), *map(float, s), least], strict=True)),
    )
