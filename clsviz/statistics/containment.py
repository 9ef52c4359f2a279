"""Chunks of texts that are found by a sentence that they contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.intervals import ENDS, Floats, Interval, middle, of_mean, resample

N_EQUAL: Final = 200
"""Chunks at equal competition, where there are as many of every size."""

LEAST_THIRDS: Final = 3
"""Sentences of a chunk that has a beginning, a middle and an end."""


FEWEST_IN_THIRD: Final = 20
"""Searches in a third of their chunk, at least, where the thirds are compared."""


@dataclass(frozen=True)
class Recall:
    """Shares of n searches that find their chunk, all of a size.

    recall_at_1, recall_at_10: first, and among the first ten; interval: of the first, of 95%.
    recall_at_1_of_equal, recall_at_10_of_equal, interval_of_equal: as expected at equal
    competition, among as many random chunks of each size.
    thirds: of the first, of sentences in each third of their chunk; None of chunks of fewer than
    three sentences, and where no sentence is in one.
    """

    recall_at_1: float
    recall_at_10: float
    interval: Interval
    recall_at_1_of_equal: float
    recall_at_10_of_equal: float
    interval_of_equal: Interval
    thirds: tuple[float, ...] | None

    @classmethod
    def of(
        cls,
        ranks: NDArray[np.int32],
        positions: NDArray[Any],
        size: int,
        n_chunks: int,
        n_equal: int,
        seed: int,
    ) -> Self:
        """From ranks, from 1, and positions in the chunk, from 0 to 1: (n,) each.

        size: sentences of a chunk. n_equal: chunks at equal competition.
        """
        is_first = ranks == 1
        equal = expected(ranks, n_chunks, n_equal)
        third = np.minimum(positions * 3, 2).astype(int)
        parts = [is_first[third == n] for n in range(3)]
        has_thirds = size >= LEAST_THIRDS and all(map(len, parts))
        return cls(
            float(is_first.mean()),
            float((ranks <= 10).mean()),
            of_mean(is_first, seed),
            float(equal.mean()),
            float(expected(ranks, n_chunks, n_equal, 10).mean()),
            of_mean(equal, seed),
            tuple(float(part.mean()) for part in parts) if has_thirds else None,
        )


def expected(ranks: ArrayLike, n_chunks: int, n_drawn: int, n_places: int = 1) -> Floats:
    """The probability of each search that its chunk is among the first places of random chunks.

    Of the n_chunks − 1 other chunks, rank − 1 are before it, and n_drawn − 1 are drawn: fewer than
    n_places of them are before it with the probability of the hypergeometric distribution.
    """
    n_before = np.asarray(ranks, np.float64) - 1
    n_others, n_rivals = n_chunks - 1, n_drawn - 1
    logarithms = [
        _log_choices(n_before, n)
        + _log_choices(n_others - n_before, n_rivals - n)
        - _log_choices(np.float64(n_others), n_rivals)
        for n in range(min(n_places, n_drawn))
    ]
    return np.asarray(np.minimum(np.exp(logarithms).sum(axis=0), 1))


def _log_choices(n: ArrayLike, k: int) -> Floats:
    """The logarithm of the number of ways to take k of n; of none, −infinity."""
    from scipy.special import gammaln

    n = np.asarray(n, np.float64)
    many = np.maximum(n, k)
    ways = gammaln(many + 1) - gammaln(k + 1) - gammaln(many - k + 1)
    return np.where(n >= k, ways, -np.inf)


def between(shares: Floats, tokens: Sequence[float], length: float) -> tuple[Floats, float]:
    """What each search has in chunks of a length, by a straight line in log tokens; and the length.

    shares: (n_sizes, n). A length beyond the sizes counts as the nearest of them.
    """
    logs, places = np.log(np.maximum(tokens, 1)), np.arange(len(tokens))
    place = float(np.interp(np.log(max(length, 1)), logs, places))
    n = min(int(place), len(tokens) - 2)
    shares_there = (n + 1 - place) * shares[n] + (place - n) * shares[n + 1]
    return shares_there, float(np.exp(np.interp(place, places, logs)))


def crossing(
    shares: Floats, tokens: Sequence[float], least: float, seed: int
) -> tuple[float, Interval]:
    """The tokens of a chunk up to which a share of searches is kept, and their interval.

    shares: (n_sizes, n), what each search has at each size. It lies between the longest size with
    the share and the next one, by a straight line in log tokens. Of draws of searches that have the
    share at the last size, it is infinite, and of others without it at any size, 0.
    """
    logs = np.log(np.maximum(tokens, 1))
    draws = resample(list(shares), np.arange(shares.shape[1]), seed) / shares.shape[1]
    lengths = [_crossing(one, logs, least) for one in (shares.mean(axis=1), *draws.T)]
    low, high = np.quantile(lengths[1:], ENDS, method="inverted_cdf")
    return lengths[0], (float(low), float(high))


def _crossing(recalls: Floats, logs: Floats, least: float) -> float:
    """The same of recalls at each size."""
    n = int(np.flatnonzero(recalls >= least).max(initial=-1))
    if n < 0:
        return 0.0
    if n == len(recalls) - 1:
        return np.inf
    part = (recalls[n] - least) / (recalls[n] - recalls[n + 1])
    return float(np.exp(logs[n] + part * (logs[n + 1] - logs[n])))


def position_effect(
    ranks: NDArray[np.int32], positions: NDArray[np.float32], sizes: Sequence[int], seed: int
) -> tuple[float, Interval]:
    """Recall in the last third of a chunk less that in the first, with its interval.

    ranks, positions: (n_sizes, n). It is of all sizes of three or more sentences together; NaN
    where fewer than 20 searches are in one of the thirds. The sentences in them differ: the first
    ones of texts, say, are always first in a chunk.
    """
    rows = np.flatnonzero(np.asarray(sizes) >= LEAST_THIRDS)
    is_first, third = ranks[rows] == 1, np.minimum(positions[rows] * 3, 2).astype(int)
    parts = [third == 0, third == 2]
    columns = [part.sum(axis=0, dtype=float) for part in (*parts, *(p & is_first for p in parts))]

    def effect(sums: Floats) -> Floats:
        return np.asarray(sums[3] / sums[1] - sums[2] / sums[0])

    if min((column > 0).sum() for column in columns[:2]) < FEWEST_IN_THIRD:
        return np.nan, (np.nan, np.nan)
    draws = resample(columns, np.arange(len(columns[0])), seed)
    return float(effect(np.sum(columns, axis=1))), middle(effect(draws))
