"""Spread, medians and percentiles of norms by length."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.intervals import (
    LARGER,
    OTHER,
    ROUNDING,
    Floats,
    Interval,
    check_different,
    cluster_sums,
    jackknife,
)
from clsviz.statistics.line import check

if TYPE_CHECKING:
    import pandas as pd

MOST_BINS, FEWEST_IN_BIN = 24, 20  # a 5% quantile of fewer than 20 sentences would be that of one
FEWEST_SIMILAR = 40  # to compare a norm with: with fewer, a percentage is off by 15 and more
MOSTLY_SLOPE = 0.5  # R² of a line within a fifth whose spread is mostly that of its lengths


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the norms of the shortest fifth, over that of the longest fifth.

    interval: of the ratio; infinite where nothing bounds it.
    is_by_slope: True if a steep line within one of the fifths makes most of its spread.
    """

    ratio: float
    interval: Interval
    is_by_slope: bool


def spread(lengths: ArrayLike, norms: ArrayLike, clusters: ArrayLike) -> Spread:
    """Compare the spread of norms at both ends of the lengths; each argument is (n,).

    The interval is by the jackknife of the ratio's logarithm (Miller 1968). Raises Undefined where
    fewer than 100 sentences differ, or where the fifths overlap or one has no spread.
    """
    x, y = np.asarray(lengths, np.float64), np.asarray(norms, np.float64)
    check(x, y)
    check_different(clusters)
    rounding = ROUNDING * abs(y.mean())
    y = y - y.mean()
    low, high = np.quantile(x, [0.2, 0.8])
    ends = x <= low, x >= high
    if low == high:
        raise Undefined(f"Over half of the sentences have the same length, {low:.0f}.", LARGER)
    if min(y[end].std() for end in ends) <= rounding:
        reason = "The norms of the shortest or the longest fifth are the same up to rounding."
        raise Undefined(reason, OTHER)
    columns = [moment * end for end in ends for moment in (np.ones_like(y), y, y**2)]
    sums = cluster_sums(columns, clusters)
    sums = sums[:, sums[[0, 3]].any(axis=0)]  # clusters in the middle say nothing of the ends
    total = sums.sum(axis=1)
    ratio = float(_ratio(total, rounding))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        without = np.log(_ratio(total[:, None] - sums, rounding))
        wider = float(np.exp(jackknife(without)[0])) if np.isfinite(without).all() else np.inf
        r2s = [np.corrcoef(x[end], y[end])[0, 1] ** 2 for end in ends]  # NaN for one length
    return Spread(ratio, (ratio / wider, ratio * wider), any(r2 > MOSTLY_SLOPE for r2 in r2s))


def bands(lengths: ArrayLike, norms: ArrayLike) -> "pd.DataFrame":
    """The middle and the 5 to 95% range of the norms (n,) by bins of lengths (n,), of one width.

    A row for each bin with at least 20 sentences: lengths, the middle of the bin; low, median, high
    of the norms.
    """
    import pandas as pd

    x = np.asarray(lengths, np.int64)
    steps = [step * 10**power for power in range(8) for step in (1, 2, 5)]
    width = next(step for step in steps if not len(x) or np.ptp(x) < step * MOST_BINS)
    bins = pd.Series(np.asarray(norms, np.float64)).groupby(x // width)
    low, high = bins.quantile(0.05), bins.quantile(0.95)
    table = pd.DataFrame({"low": low, "median": bins.median(), "high": high})
    table.insert(0, "lengths", table.index * width + (width - 1) / 2)
    return table[bins.size() >= FEWEST_IN_BIN]


def extremes(lengths: ArrayLike, norms: ArrayLike) -> float:
    """The share of the 1% lowest and the 1% highest norms that belong to short sentences.

    lengths, norms: (n,), n > 0. Short is below the median; norms that tie with these count too.
    """
    x, y = np.asarray(lengths), np.asarray(norms, np.float64)
    n_each = max(1, round(len(y) / 100))
    ascending = np.sort(y)
    is_extreme = (y <= ascending[n_each - 1]) | (y >= ascending[-n_each])
    return float(np.mean(x[is_extreme] < np.median(x)))


def are_similar(lengths: ArrayLike, length: int) -> NDArray[np.bool_]:
    """True for lengths (n,) within a tenth of a length, and at least within 1."""
    x = np.asarray(lengths, np.int64)
    near: NDArray[np.bool_] = np.abs(x - length) <= max(1, round(length / 10))
    return near


def percentile(norm: float, length: int, norms: ArrayLike, lengths: ArrayLike) -> float | None:
    """The percentage of sentences about as long that have a lower norm; equal ones count half.

    None where fewer than 40 of the n sentences are `are_similar`, or where all have this norm up to
    rounding. norms, lengths: (n,).
    """
    y = np.asarray(norms, np.float64)[are_similar(lengths, length)]
    if len(y) < FEWEST_SIMILAR or np.ptp([norm, *y]) <= 2 * ROUNDING * abs(norm):
        return None
    return float(50 * (np.mean(y < norm) + np.mean(y <= norm)))


def unread_share(
    n_tokens: NDArray[np.int32], truncated: NDArray[np.bool_], limit: int = 0
) -> float:
    """The share of all tokens of texts, (n,) each, that a model does not read.

    limit: of tokens by its files, or 0. It lies between the longest text that the model reads as a
    whole and the shortest that it does not.
    """
    low, high = n_tokens[~truncated].max(initial=0), n_tokens[truncated].min(initial=2**30) - 1
    limit = int(np.clip(limit or low or high, low, high))
    unread = np.maximum(n_tokens - limit, 0).sum(where=truncated)
    return float(unread / max(int(n_tokens.sum()), 1))


def _ratio(sums: Floats, rounding: float) -> Floats:
    """The ratio of standard deviations from n, Σy and Σy² at either end: (6, …) to (…)."""
    n, y, yy = np.moveaxis(sums.reshape(2, 3, *sums.shape[1:]), 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = (yy - y**2 / n) / (n - 1)
        variances = np.where(variances > rounding**2, variances, 0)
        ratio: Floats = np.sqrt(variances[0] / variances[1])
    return ratio
