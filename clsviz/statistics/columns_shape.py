"""Norm given length, and length given norm, of sentences of which only counts are kept: as `binning` has them."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.columns import Columns
from clsviz.statistics.intervals import Floats
from clsviz.statistics.lengths import BIN_COLUMNS, FEWEST_IN_BIN, SLICE_COLUMNS, bin_width, is_the_same, slice_edges


def quantiles_of(columns: Columns, shares: ArrayLike) -> Floats:
    """Quantiles of the norms, as `numpy.quantile` has them: float64 (shares,), NaN if there are no sentences.

    Each is off by at most half the width of a bin, unless it is in an outer bin.
    """
    shares = np.asarray(shares, dtype=float)
    if not columns.total:
        return np.full(shares.shape, np.nan)
    positions = shares * (columns.total - 1)
    below, above = (_norms_at(columns, rounded(positions)) for rounded in (np.floor, np.ceil))
    found: Floats = below + (positions - np.floor(positions)) * (above - below)
    return found


def _norms_at(columns: Columns, positions: Floats) -> Floats:
    """The norms at some positions, from 0, among all in order: the first and the last, or the middle of a bin."""
    number = np.searchsorted(np.cumsum(columns.norms_by_bin), positions, side="right")
    norms = columns.bins.middle + columns.bins.places[number]
    norms = np.where(positions < 1, columns.lowest.min(), np.clip(norms, columns.lowest.min(), columns.highest.max()))
    return np.where(positions > columns.total - 2, columns.highest.max(), norms)


def bins_of(columns: Columns) -> pd.DataFrame:
    """As `binning.bins`; quartiles are off by at most half the width of a bin, all else is exact."""
    columns = columns.occurring()
    if not columns.total:
        return pd.DataFrame(columns=BIN_COLUMNS, dtype=float)
    width = bin_width(len(columns.n))
    start = columns.first // width * width
    rows = []
    for first in range(start, columns.first + len(columns.n), width):
        inside = columns.between(first, first + width)
        if (n := inside.total) >= FEWEST_IN_BIN:
            length = float(inside.n @ inside.lengths) / n
            rows.append((first, first + width - 1, length, n, *quantiles_of(inside, (0.25, 0.5, 0.75)).tolist()))
    return pd.DataFrame(rows, columns=BIN_COLUMNS)


def slices_of(columns: Columns) -> pd.DataFrame:
    """As `binning.slices`; norms are off by at most half the width of a bin.

    Where a slice ends within a bin, the sentences in it go to either side in the same proportion for all lengths.
    """
    n, by_bin = columns.total, columns.norms_by_bin
    starts = np.concatenate([[0], np.cumsum(by_bin)])
    rows = []
    for low, high in pairwise(slice_edges(n)):
        first, stop = round(low * n), round(high * n)
        if first == stop:
            continue
        # how much of every bin is inside
        shares = np.clip(np.minimum(starts[1:], stop) - np.maximum(starts[:-1], first), 0, None) / np.maximum(by_bin, 1)
        used = np.flatnonzero(shares)
        inside = columns.counts[:, used[0] : used[-1] + 1] @ shares[used[0] : used[-1] + 1]
        ends = _norms_at(columns, np.array([first, stop - 1.0])).tolist()
        lengths = (_length_at(columns, inside, share) for share in (0.05, 0.5, 0.95))
        rows.append((low, high, *ends, stop - first, *lengths))
    return pd.DataFrame(rows, columns=SLICE_COLUMNS)


def _length_at(columns: Columns, times: Floats, share: float) -> float:
    """A quantile of lengths that occur so many times each."""
    ends = np.cumsum(times)
    position = share * (ends[-1] - 1)
    below, above = (
        columns.first + min(int(np.searchsorted(ends, rounded(position) + 0.5)), len(ends) - 1)
        for rounded in (np.floor, np.ceil)
    )
    return float(below + (position - np.floor(position)) * (above - below))


def percentile_of(columns: Columns, length: int, norm: float) -> tuple[float, int] | None:
    """As `binning.percentile_at_length`; off by at most half of those that are in the same bin as the norm."""
    away = max(1, round(length / 10))
    similar = columns.between(length - away, length + away + 1)
    if (n := similar.total) < 20:
        return None
    if is_the_same(norm, float(similar.lowest.min()), float(similar.highest.max())):
        return math.nan, n
    counts = similar.norms_by_bin
    number = int(similar.bins.numbers(np.array([norm]))[0])
    return float(100 * (counts[:number].sum() + counts[number] / 2) / n), n


def density_of(
    columns: Columns, n_bins: int, norms: tuple[float, float] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """As `Census.density`, of all lengths of the columns."""
    bins = columns.bins
    if n_bins < 1 or bins.n % n_bins:
        raise ValueError(f"{n_bins} bins cannot be made of {bins.n}")
    low, high = (0, bins.n) if norms is None else _covering(columns, *norms)
    factor = bins.n // n_bins
    if norms is not None:  # the finest of which so many are enough
        factor = next(2**power for power in range(64) if -(-high // 2**power) - low // 2**power <= n_bins)
    first, stop = low // factor, max(-(-high // factor), low // factor + 1)
    inner = columns.counts[:, bins.inner][:, first * factor : stop * factor]
    counts: NDArray[np.int64] = np.add.reduceat(inner, np.arange(0, inner.shape[1], factor), axis=1)
    return counts, bins.edges[first * factor : stop * factor + 1 : factor]


def _covering(columns: Columns, lowest: float, highest: float) -> tuple[int, int]:
    """The first inner bin that holds norms from `lowest` to `highest`, and the one after the last, from 0."""
    bins = columns.bins
    first, last = (bins.numbers(np.array([lowest, highest])).astype(int) - bins.inner.start).tolist()
    return min(max(first, 0), bins.n - 1), min(max(last + 1, 1), bins.n)
