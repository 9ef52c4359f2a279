"""The ten texts that a search finds, by vectors or by shared words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.intervals import CONSTANT

N_PLACES: Final = 10  # texts that a search finds
BLOCK: Final = 4_000_000  # scores in memory at a time: 16 MB
K1, B = 1.2, 0.75  # BM25's saturation of repeated words, and the part that lengths have in it

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Qrels:
    """Right texts as pairs, by search: intp (n_pairs,) each; every search has at least one.

    grades: float64 (n_pairs,), above 0.
    """

    n_searches: int
    n_texts: int
    searches: NDArray[np.intp]
    texts: NDArray[np.intp]
    grades: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        relevant: Sequence[NDArray[np.intp]],
        n_texts: int,
        grades: Sequence[NDArray[np.float64]] = (),
    ) -> Self:
        """From the right texts of each search, and their grades, by default 1."""
        searches = np.repeat(np.arange(len(relevant)), list(map(len, relevant)))
        texts = np.concatenate(list(relevant))
        flat = np.concatenate(list(grades)) if grades else np.ones(len(texts))
        return cls(len(relevant), n_texts, searches, texts, flat)

    @property
    def n_relevant(self) -> NDArray[np.intp]:
        """Right texts of each search, intp (n_searches,)."""
        return np.bincount(self.searches, minlength=self.n_searches)

    @property
    def weights(self) -> NDArray[np.float64]:
        """1 / right texts of its search, for each pair: float64 (n_pairs,)."""
        return (1 / self.n_relevant)[self.searches]

    @property
    def chance(self) -> float:
        """The recall of ten texts drawn at random."""
        shares = np.maximum(self.n_relevant, N_PLACES) / self.n_texts
        return float(np.minimum(shares, 1).mean())

    def recalls(self, top_k: NDArray[np.integer]) -> NDArray[np.float64]:
        """Of right texts among the ten of each search, over min(10, right ones): (n_searches,)."""
        is_hit = (top_k[self.searches] == self.texts[:, None]).any(axis=1)
        n_hits = np.bincount(self.searches, is_hit, self.n_searches)
        return np.asarray(n_hits / np.minimum(self.n_relevant, N_PLACES))


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    """Vectors (n, width) divided by their norms, in their precision; a zero vector stays."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions: NDArray[Any] = vectors / np.where(norms > 0, norms, 1)
    return directions


def rank(
    queries: ArrayLike, texts: ArrayLike, shift: ArrayLike = 0.0, scale: ArrayLike | None = None
) -> NDArray[np.intp]:
    """The ten texts with the largest (query · text − shift) × scale, the best first: intp (n, 10).

    queries: (n, width). texts: (n_texts, width). shift, scale: (n_texts,), by default 0 and 1.
    """
    scored = _scores(queries, texts, shift, scale)
    return np.concatenate([_best(scores) for _, scores in scored])


def rank_by_chunks(
    queries: ArrayLike, chunks: ArrayLike, owners: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The ten texts whose best chunk has the largest product, the best first: intp (n, 10).

    owners: (n_chunks,), the text of each chunk, in order; every text has one.
    """
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    scored = _scores(queries, chunks)
    return np.concatenate([_best(np.maximum.reduceat(some, starts, axis=1)) for _, some in scored])


def relevant_ranks(
    queries: ArrayLike, texts: ArrayLike, qrels: Qrels
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank, from 1, of the best right text among wrong ones, and its place: int32 (n,) each.

    Among wrong ones of the same score its rank is the mean over their orders, rounded up: of 1 only
    where none is as good.
    """
    return _ranks(_scores(queries, texts), qrels)


def shared_recalls(queries: ArrayLike, texts: ArrayLike, qrels: Qrels) -> NDArray[np.float64]:
    """The recall of each search by cosine, as `Qrels.recalls` has it: float64 (n,).

    Texts of the same score share their places: it is the mean over their orders, and that of ten
    texts drawn at random where vectors differ by rounding alone.
    """
    directions = unit(np.asarray(texts, np.float64))
    centre, deviations = directions.mean(axis=0), directions.std(axis=0)
    directions -= centre  # before float32: cosines may differ in their sixth digit alone
    directions[:, deviations <= CONSTANT * abs(centre)] = 0
    chances = np.empty(len(qrels.searches))
    for rows, scores in _scores(unit(np.asarray(queries, np.float64)), directions):
        is_in_block, pairs = _pairs_in(rows, qrels)
        own, scores = scores[pairs][:, None], scores[pairs[0]]
        n_better, n_equal = (scores > own).sum(axis=1), (scores == own).sum(axis=1)
        chances[is_in_block] = np.clip((N_PLACES - n_better) / n_equal, 0, 1)
    n_hits = np.bincount(qrels.searches, chances, qrels.n_searches)
    return np.asarray(n_hits / np.minimum(qrels.n_relevant, N_PLACES))


def relevant_ranks_by_words(
    queries: Sequence[str], texts: Sequence[str], qrels: Qrels
) -> NDArray[np.int32]:
    """The same rank by BM25, as `rank_by_words` has it."""
    return _ranks(_word_scores(queries, texts), qrels)[0]


def rank_by_words(queries: Sequence[str], texts: Sequence[str]) -> NDArray[np.intp]:
    """The ten texts that BM25 ranks first: intp (n, 10) (Robertson & Zaragoza 2009, Lucene's IDF).

    A word is two or more letters, digits or underscores, in lower case. Where fewer than ten texts
    share one with the query, others fill the places at random.
    """
    random = np.random.default_rng(0)
    top_k = []
    for _, scores in _word_scores(queries, texts):
        few = np.flatnonzero((scores > 0).sum(axis=1) < N_PLACES)
        noise = random.random((len(few), len(texts)), np.float32)
        scores[few] -= (scores[few] == 0) * noise
        top_k.append(_best(scores))
    return np.concatenate(top_k)


def _scores(
    queries: ArrayLike, texts: ArrayLike, shift: ArrayLike = 0.0, scale: ArrayLike | None = None
) -> Iterator[tuple[slice, Floats32]]:
    """Scores of all texts for a block of searches at a time, as `rank` has them: (·, n_texts).

    Without a scale, a constant of each search is missing: it puts no text before another, and
    without it float32 has digits for the rest.
    """
    asking, indexed = np.asarray(queries, np.float32), np.asarray(texts, np.float32)
    centre = indexed.mean(axis=0)
    deviations = (indexed - centre).T
    for rows in _blocks(len(asking), len(indexed)):
        scores = asking[rows] @ deviations
        if scale is not None:
            scores += (asking[rows] @ centre)[:, None]
            scores -= np.asarray(shift, np.float32)
            scores *= np.asarray(scale, np.float32)
        yield rows, scores


def _word_scores(queries: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[slice, Floats32]]:
    """Scores by BM25 of all texts for a block of searches at a time: (·, n_texts)."""
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(dtype=np.float32)
    try:
        counts, asking = counter.fit_transform(texts).tocoo(), counter.transform(queries).tocsr()
    except ValueError:  # no text has a word
        counts = sparse.coo_matrix(np.zeros((len(texts), 1), np.float32))
        asking = sparse.csr_matrix(np.zeros((len(queries), 1), np.float32))
    text, word, count = counts.row, counts.col, counts.data
    n_words = np.bincount(text, count, len(texts))
    saturation = K1 * (1 - B + B * n_words / max(n_words.mean(), 1e-9))
    n_with = np.bincount(word, minlength=counts.shape[1])
    idf = np.log1p((len(texts) - n_with + 0.5) / (n_with + 0.5))
    gains = idf[word] * count * (K1 + 1) / (count + saturation[text])
    weights = sparse.csr_matrix((gains.astype(np.float32), (word, text)), counts.shape[::-1])
    for rows in _blocks(len(queries), len(texts)):
        yield rows, (asking[rows] @ weights).toarray()


def _ranks(
    scored: Iterable[tuple[slice, Floats32]], qrels: Qrels
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank of the best right text of each search, as `relevant_ranks` has it, and its place."""
    ranks, nearest = (np.empty(qrels.n_searches, np.int32) for _ in range(2))
    for rows, scores in scored:
        _, pairs = _pairs_in(rows, qrels)
        own = np.full_like(scores, -np.inf)
        own[pairs] = scores[pairs]
        scores[pairs] = -np.inf
        nearest[rows] = own.argmax(axis=1)
        best = own.max(axis=1, keepdims=True)
        n_before, n_equal = (scores > best).sum(axis=1), (scores == best).sum(axis=1)
        n_own = (own == best).sum(axis=1)
        # The first of n_own among n_equal others stands behind n_equal / (n_own + 1) of them.
        ranks[rows] = 1 + n_before + np.ceil(n_equal / (n_own + 1))
    return ranks, nearest


def _pairs_in(
    rows: slice, qrels: Qrels
) -> tuple[NDArray[np.bool_], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The pairs of a block's searches, and their places in its scores."""
    is_in_block = (qrels.searches >= rows.start) & (qrels.searches < rows.stop)
    return is_in_block, (qrels.searches[is_in_block] - rows.start, qrels.texts[is_in_block])


def _best(scores: Floats32) -> NDArray[np.intp]:
    """Places of the ten largest of each row, the largest first: intp (n, 10).

    Equal scores are in a random order, always the same: NumPy's order depends on the processor.
    """
    order = np.random.RandomState(0).permutation(scores.shape[1])
    top = np.argpartition(scores, -N_PLACES, axis=1)[:, -N_PLACES:]
    least = np.take_along_axis(scores, top, axis=1).min(axis=1, keepdims=True)
    is_tied = np.count_nonzero(scores >= least, axis=1) > N_PLACES
    for row, limit in zip(np.flatnonzero(is_tied), least[is_tied], strict=True):
        places = np.flatnonzero(scores[row] >= limit)
        top[row] = places[np.lexsort((order[places], -scores[row, places]))][:N_PLACES]
    best = np.lexsort((order[top], -np.take_along_axis(scores, top, axis=1)))
    return np.take_along_axis(top, best, axis=1)


def _blocks(n_searches: int, n_texts: int) -> list[slice]:
    size = max(1, BLOCK // n_texts)
    return [slice(start, min(start + size, n_searches)) for start in range(0, n_searches, size)]
