"""A run of sentences, counted: what censuses are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.measurements import MAX_LENGTH
from clsviz.statistics.intervals import Floats
from clsviz.statistics.norm_bins import NormBins

N_LENGTHS = MAX_LENGTH + 1
"""A sentence that a model reads whole has at most so many tokens, less one."""


@dataclass(frozen=True, eq=False)
class CountedRun:
    """What a run of sentences adds to the censuses of v vectors.

    lengths: intp (l,), those that occur, in order. n: int64 (l,), sentences of each.
    cells: int32 (v, sentences), length × n_columns + the number of the bin. sums, squares: float64 (v, l), of the norms
    less the middle of their bins. lowest, highest: float64 (v, l), norms.
    """

    lengths: NDArray[np.intp]
    n: NDArray[np.int64]
    cells: NDArray[np.int32]
    sums: Floats
    squares: Floats
    lowest: Floats
    highest: Floats

    @classmethod
    def of(cls, lengths: ArrayLike, norms: ArrayLike, bins: Sequence[NormBins]) -> Self | None:
        """Count norms (n, v) of n sentences by their lengths (n,), in the bins of each of v vectors; None if n is 0.

        Raises ValueError for a length that is negative or above MAX_LENGTH, or a norm that is not finite.
        """
        x, y = np.asarray(lengths), np.asarray(norms)
        if not len(x):
            return None
        if x.min() < 0 or x.max() >= N_LENGTHS:
            raise ValueError(f"a length is not between 0 and {MAX_LENGTH}")
        order = np.argsort(x.astype(np.uint16), kind="stable")
        x = x[order].astype(np.int32)
        starts = np.flatnonzero(np.diff(x, prepend=-1))
        y = y.take(order, axis=0)
        n_vectors = y.shape[1]
        sums, squares, lowest, highest = (np.empty((n_vectors, len(starts))) for _ in range(4))
        cells = np.empty((n_vectors, len(x)), np.int32)
        row, other = np.empty(len(x)), np.empty(len(x))  # used again and again: new memory takes longer than arithmetic
        for vector, of in enumerate(bins):
            row[:] = y[:, vector]
            np.minimum.reduceat(row, starts, out=lowest[vector])
            np.maximum.reduceat(row, starts, out=highest[vector])
            if not np.isfinite([lowest[vector], highest[vector]]).all():
                raise ValueError("a norm is not finite")
            np.multiply(x, of.n_columns, out=cells[vector])
            np.add(cells[vector], of.numbers(row, other), out=cells[vector], casting="unsafe")
            row -= of.middle
            np.add.reduceat(row, starts, out=sums[vector])
            np.add.reduceat(np.multiply(row, row, out=other), starts, out=squares[vector])
        n = np.diff(starts, append=len(x))
        return cls(x[starts].astype(np.intp), n, cells, sums, squares, lowest, highest)
