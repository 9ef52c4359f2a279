"""The ten texts that a search finds, by vectors or by shared words, and how many are right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.jackknife import Floats

N_PLACES: Final = 10
"""Texts that a search finds."""

BLOCK: Final = 4_000_000
"""Scores in memory at a time: 16 MB."""

K1, B = 1.2, 0.75
"""BM25's saturation of repeated words, and the share of a text's length that it divides by."""

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Relevance:
    """Right texts as pairs, by search: intp (n_pairs,) each; every search has at least one."""

    n_searches: int
    n_texts: int
    searches: NDArray[np.intp]
    texts: NDArray[np.intp]

    @classmethod
    def of(cls, right: Sequence[NDArray[np.intp]], n_texts: int) -> Self:
        """From the right texts of each search."""
        searches = np.repeat(np.arange(len(right)), list(map(len, right)))
        return cls(len(right), n_texts, searches, np.concatenate(list(right)))

    @property
    def n_right(self) -> NDArray[np.intp]:
        """Right texts of each search, intp (n_searches,)."""
        return np.bincount(self.searches, minlength=self.n_searches)

    @property
    def chance(self) -> float:
        """The recall of ten texts drawn at random."""
        shares = np.maximum(self.n_right, N_PLACES) / self.n_texts
        return float(np.minimum(shares, 1).mean())


def unit(vectors: ArrayLike) -> Floats32:
    """Vectors divided by their norms, float32; a zero vector stays."""
    rows = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    directions: Floats32 = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return directions


def rank(
    queries: ArrayLike, texts: ArrayLike, shift: Floats | None = None, scale: Floats | None = None
) -> NDArray[np.intp]:
    """The ten texts with the largest (query · text − shift) × scale, the best first: intp (n, 10).

    queries: (n, width). texts: (n_texts, width). shift, scale: (n_texts,), by default 0 and 1.
    """
    indexed, asking = np.asarray(texts, np.float32), np.asarray(queries, np.float32)
    centre = indexed.mean(axis=0)
    # What all texts share puts none before another; without it, float32 has digits for the rest.
    deviations = (indexed - centre).T
    tens = np.empty((len(asking), N_PLACES), np.intp)
    for rows in _blocks(len(asking), len(indexed)):
        scores = asking[rows] @ deviations
        if scale is not None:
            scores += (asking[rows] @ centre)[:, None]
            scores -= np.float32(0) if shift is None else shift.astype(np.float32)
            scores *= scale.astype(np.float32)
        tens[rows] = best(scores)
    return tens


def best(scores: Floats32) -> NDArray[np.intp]:
    """Places of the ten largest of each row, the largest first: intp (n, 10)."""
    top = np.argpartition(scores, -N_PLACES, axis=1)[:, -N_PLACES:]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1)


def rank_by_words(queries: Sequence[str], texts: Sequence[str]) -> NDArray[np.intp]:
    """The ten texts that BM25 ranks first: intp (n, 10) (Robertson & Zaragoza 2009, Lucene's IDF).

    Words are two or more letters, digits or underscores, in lower case. Where fewer than ten texts
    share one with the query, others fill the places at random.
    """
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(dtype=np.float32)
    try:
        counts = counter.fit_transform(texts).tocsr()
        asking = counter.transform(queries).tocsr()
    except ValueError:  # no text has a word
        none = [np.zeros((len(some), 1), np.float32) for some in (texts, queries)]
        counts, asking = map(sparse.csr_matrix, none)
    n_words = np.asarray(counts.sum(axis=1)).ravel()
    share = K1 * (1 - B + B * n_words / max(n_words.mean(), 1e-9))
    n_with = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(1 + (len(texts) - n_with + 0.5) / (n_with + 0.5))
    counts.data *= (K1 + 1) / (counts.data + np.repeat(share, np.diff(counts.indptr)))
    weights = sparse.csr_matrix(counts.multiply(idf).T, dtype=np.float32)
    random = np.random.default_rng(0)
    tens = np.empty((len(queries), N_PLACES), np.intp)
    for rows in _blocks(len(queries), len(texts)):
        scores = (asking[rows] @ weights).toarray()
        few = np.flatnonzero((scores > 0).sum(axis=1) < N_PLACES)
        if len(few):
            noise = random.random((len(few), len(texts)), np.float32)
            scores[few] -= (scores[few] == 0) * noise
        tens[rows] = best(scores)
    return tens


def right_ranks(
    queries: ArrayLike, texts: ArrayLike, relevance: Relevance
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank, from 1, of the best right text of each search, and its place: int32 (n,) each."""
    indexed, asking = np.asarray(texts, np.float32), np.asarray(queries, np.float32)
    deviations = (indexed - indexed.mean(axis=0)).T
    ranks, nearest = (np.empty(len(asking), np.int32) for _ in range(2))
    for rows in _blocks(len(asking), len(indexed)):
        scores = asking[rows] @ deviations
        pairs = slice(*np.searchsorted(relevance.searches, [rows.start, rows.stop]))
        searches, places = relevance.searches[pairs] - rows.start, relevance.texts[pairs]
        own = scores[searches, places]
        order = np.lexsort((own, searches))  # the last one of each search is its best
        last = order[np.append(np.flatnonzero(np.diff(searches)), len(searches) - 1)]
        nearest[rows] = places[last]
        ranks[rows] = (scores > own[last, None]).sum(axis=1) + 1
    return ranks, nearest


def _blocks(n_searches: int, n_texts: int) -> Iterable[slice]:
    size = max(1, BLOCK // n_texts)
    return (slice(start, min(start + size, n_searches)) for start in range(0, n_searches, size))
