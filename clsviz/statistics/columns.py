"""What is kept of the norms of sentences that are too many to keep: a column for each length."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.intervals import Floats
from clsviz.statistics.norm_bins import NormBins

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
    row, times, y, inside = _places(columns, n_bins)
    lowest, highest = columns.lowest[row] - columns.bins.middle, columns.highest[row] - columns.bins.middle
    y = np.clip(y, lowest, highest)
    for ends, extreme in ((np.diff(row, prepend=-1) > 0, lowest), (np.diff(row, append=len(columns.n)) > 0, highest)):
        alone = ends & (times == 1)
        y[alone] = extreme[alone]
    n_rows, n = len(columns.n), np.maximum(columns.n, 1)
    mean = columns.sums / n
    variance = np.maximum(columns.squares / n - mean**2, 0)
    y -= (np.bincount(row, times * y, n_rows) / n)[row]
    in_bins = np.bincount(row, times * (y * y + inside), n_rows) / n
    ratio = np.minimum(variance / np.where(in_bins > 0, in_bins, 1), 1)[row]
    inside = inside * ratio + np.maximum(variance - in_bins, 0)[row]
    y = y * np.sqrt(ratio) + mean[row] - mean_norm
    return Cells(times, columns.lengths[row].astype(float) - mean_length, y, inside)


def _places(columns: Columns, n_bins: int) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
    """Cells in the order of lengths and norms, as far as counts tell.

    The number of the length, how many sentences, and the mean, less `bins.middle`, and variance of their norms: (m,).
    """
    bins, factor = columns.bins, columns.bins.n // n_bins
    used = np.flatnonzero(columns.norms_by_bin[bins.inner]) // factor
    first, stop = (used[0], used[-1] + 1) if len(used) else (0, 0)
    fine = columns.counts[:, bins.inner][:, first * factor : stop * factor].astype(float).reshape(-1, factor)
    off = bins.width * (np.arange(factor) - (factor - 1) / 2)
    sums = fine @ np.stack([np.ones(factor), off, off**2], axis=1)
    at = np.flatnonzero(sums[:, 0])
    times, mean, square = sums[at].T
    mean, square = mean / times, square / times
    row, number = np.divmod(at, max(stop - first, 1))
    y = bins.width * ((number + first + 0.5) * factor - bins.n / 2) + mean
    parts = [(row, times, y, np.maximum(square - mean**2, 0))]
    for outer in (slice(0, bins.inner.start), slice(bins.inner.stop, None)):
        row, number = np.nonzero(columns.counts[:, outer])
        times = columns.counts[:, outer][row, number].astype(float)
        parts.append((row, times, bins.places[outer][number], np.zeros(len(row))))
    row, times, y, variance = (np.concatenate(each) for each in zip(*(parts[1], parts[0], parts[2]), strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], times[order], y[order], variance[order]
