"""Chunks of texts that are found by a sentence that they contain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.intervals import Floats, Interval, middle, of_mean, resample

N_EQUAL: Final = 200
"""Chunks at equal competition."""

LEAST_THIRDS: Final = 3
"""Sentences of a chunk that has a beginning, a middle and an end."""


FEWEST_IN_THIRD: Final = 20
"""Searches in a third of their chunk, at least, where the thirds are compared."""


@dataclass(frozen=True)
class Recall:
    """Shares of n searches that find their chunk, all of a size.

    recall_at_1, recall_at_10: first, and among the first ten; interval: of the first, of 95%.
    recall_at_1_of_200: expected first among 200 chunks drawn at random; None of fewer.
    thirds: of the first, of sentences in each third of their chunk; None of chunks of fewer than
    three sentences, and where no sentence is in one.
    """

    recall_at_1: float
    recall_at_10: float
    interval: Interval
    recall_at_1_of_200: float | None
    thirds: tuple[float, ...] | None

    @classmethod
    def of(
        cls, ranks: NDArray[np.int32], positions: Floats, size: int, n_chunks: int, seed: int
    ) -> Self:
        """From ranks, from 1, and positions in the chunk, from 0 to 1: (n,) each.

        size: sentences of a chunk.
        """
        is_first = ranks == 1
        third = np.minimum(positions * 3, 2).astype(int)
        parts = [is_first[third == n] for n in range(3)]
        has_thirds = size >= LEAST_THIRDS and all(map(len, parts))
        return cls(
            float(is_first.mean()),
            float((ranks <= 10).mean()),
            interval_of_mean(is_first, seed, least=0.0),
            expected_first(ranks, n_chunks) if n_chunks >= N_EQUAL else None,
            tuple(float(part.mean()) for part in parts) if has_thirds else None,
        )


def expected_first(ranks: NDArray[np.int32], n_chunks: int, n_drawn: int = N_EQUAL) -> float:
    """The expected share of searches whose chunk comes first among n_drawn random ones.

    Of the n_chunks − 1 other chunks, rank − 1 are before it, and n_drawn − 1 are drawn: none of
    them is before it with the probability of the hypergeometric distribution at 0.
    """
    from scipy.special import gammaln

    n_others, n_other_drawn = n_chunks - 1, n_drawn - 1
    n_behind = n_others - (np.asarray(ranks, np.float64) - 1)
    is_possible = n_behind >= n_other_drawn
    n = np.where(is_possible, n_behind, n_other_drawn)
    logarithm = gammaln(n + 1) - gammaln(n - n_other_drawn + 1)
    logarithm -= gammaln(n_others + 1) - gammaln(n_others - n_other_drawn + 1)
    return float(np.where(is_possible, np.exp(logarithm), 0.0).mean())


def interval_of_mean(
    values: ArrayLike, seed: int, n_tested: int = 1, least: float = -1.0
) -> Interval:
    """The interval of the mean of values (n,), by the bootstrap: equal seeds draw alike.

    least: the smallest value that may be: −1 of differences. n_tested: as `of_mean` takes it.
    """
    column = np.asarray(values, np.float64)
    draws = resample([column], np.arange(len(column)), seed)[0] / len(column)
    return of_mean(column, draws, least, n_tested)


def position_effect(
    ranks: NDArray[np.int32], positions: NDArray[np.float32], sizes: Sequence[int], seed: int
) -> tuple[float, Interval]:
    """Recall in the last third of a chunk less that in the first, with its interval.

    ranks, positions: (n_sizes, n). It is of all sizes of three or more sentences together; NaN
    where fewer than 20 searches are in one of the thirds.
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
