"""What is kept of the norms of sentences that are too many to keep: a column for each length."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.norm_bins import N_OUTER, NormBins
from clsviz.statistics.results.line import Floats

COARSE = 512
"""Bins that are fine enough for intervals, unless all norms are close to the line."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Norms of sentences of l lengths, from `first` on.

    n: int64 (l,), how many sentences have each length. counts: int64 (l, bins.n_columns), how many of them have a norm
    in each bin, the outer ones included. sums, squares: float64 (l,), of the norms less `bins.middle`.
    lowest, highest: float64 (l,), norms; inf and -inf where no sentence has the length.
    """

    bins: NormBins
    n: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: Floats
    squares: Floats
    lowest: Floats
    highest: Floats
    first: int = 0

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Intp (l,)."""
        return np.arange(self.first, self.first + len(self.n))

    @property
    def total(self) -> int:
        """How many sentences there are."""
        return int(self.n.sum())

    def between(self, start: int, stop: int) -> Self:
        """Those of the lengths from `start` to `stop`, the latter not included, as far as they are here."""
        start, stop = (min(max(length - self.first, 0), len(self.n)) for length in (start, stop))
        names = ("n", "counts", "sums", "squares", "lowest", "highest")
        return replace(self, first=self.first + start, **{name: getattr(self, name)[start:stop] for name in names})

    def occurring(self) -> Self:
        """The same without the lengths at either end that no sentence has."""
        lengths = self.first + np.flatnonzero(self.n)
        return self.between(lengths[0], lengths[-1] + 1) if len(lengths) else self.between(0, 0)

    @property
    def norms_by_bin(self) -> NDArray[np.int64]:
        """How many norms are in each bin, the outer ones included, whatever the length: int64 (bins.n_columns,)."""
        counts: NDArray[np.int64] = self.counts.sum(axis=0)
        return counts


@dataclass(frozen=True, eq=False)
class Cells:
    """Sentences of one length whose norms are nearly the same, as m cells.

    times: float64 (m,), how many sentences are in each. x, y: their length, and the mean of their norms, less the means
    of all sentences. variance: of the norms in the cell, ddof=0.
    """

    times: Floats
    x: Floats
    y: Floats
    variance: Floats

    @property
    def sums(self) -> Floats:
        """The means in each of 1, x, y, xx, xy and yy, in the order of `intervals.cluster_sums`: (m, 6)."""
        x, y = self.x, self.y
        return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y + self.variance], axis=1)

    @property
    def halves(self) -> "Cells":
        """Twice as many without any variance inside: half of each cell lies a standard deviation to either side."""
        off = np.sqrt(self.variance)
        y = np.concatenate([self.y - off, self.y + off])
        return Cells(np.tile(self.times / 2, 2), np.tile(self.x, 2), y, np.zeros_like(y))


def cells_of(columns: Columns, mean_length: float, mean_norm: float, n_bins: int = COARSE) -> Cells:
    """The cells that sentences are in, one in each of `n_bins` bins, which are made of the same number of fine ones.

    mean_norm: less `bins.middle`. Mean and variance of the norms at each length are the exact ones.
    """
    bins, is_used = columns.bins, np.flatnonzero(columns.norms_by_bin)
    used = slice(is_used[0], is_used[-1] + 1)
    row, number = np.nonzero(columns.counts[:, used])
    times = columns.counts[:, used][row, number].astype(float)
    number += used.start
    lowest, highest = columns.lowest[row] - bins.middle, columns.highest[row] - bins.middle
    y = np.clip(bins.places[number], lowest, highest)
    for ends, extreme in ((np.diff(row, prepend=-1) > 0, lowest), (np.diff(row, append=len(columns.n)) > 0, highest)):
        alone = ends & (times == 1)
        y[alone] = extreme[alone]
    n_rows, n = len(columns.n), np.maximum(columns.n, 1)
    mean = columns.sums / n
    variance = np.maximum(columns.squares / n - mean**2, 0)
    y -= (np.bincount(row, times * y, n_rows) / n)[row]
    in_bins = np.bincount(row, times * y * y, n_rows) / n
    y *= np.sqrt(np.minimum(variance / np.where(in_bins > 0, in_bins, 1), 1))[row]
    y += mean[row] - mean_norm
    cell = row * (n_bins + 2 * N_OUTER) + _coarse(number, bins.n, n_bins)
    counted, sums, squares = (np.bincount(cell, times * value) for value in (np.ones_like(y), y, y * y))
    cell = np.flatnonzero(counted)
    counted, y = counted[cell], sums[cell] / counted[cell]
    row = cell // (n_bins + 2 * N_OUTER)
    inside = np.maximum(squares[cell] / counted - y * y, 0) + np.maximum(variance - in_bins, 0)[row]
    return Cells(counted.astype(float), columns.lengths[row].astype(float) - mean_length, y, inside)


def _coarse(number: NDArray[np.intp], n_fine: int, n_bins: int) -> NDArray[np.intp]:
    """The numbers of bins where the inner ones are put together to n_bins."""
    inner = N_OUTER + np.clip(number - N_OUTER, 0, n_fine - 1) * n_bins // n_fine
    outer = np.minimum(number - N_OUTER, 0) + np.maximum(number - N_OUTER - n_fine + 1, 0)
    numbers: NDArray[np.intp] = inner + outer
    return numbers
