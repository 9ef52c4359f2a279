"""The ten texts that a search finds: by vectors, or by the words it shares with them (BM25)."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
