"""Intervals of 95%: by leaving clusters of sentences out in turn, or by drawing them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)  # quantiles of draws
ROUNDING = 1e-6  # norms that vary by a smaller share of their mean vary by that of float32
CONSTANT = 2.0**-20  # a standard deviation that is less of the mean is rounding alone
FEWEST_DIFFERENT = 100  # clusters: of fewer, a fifth or a tail is a handful, and no answer is firm
LEAST_GROUPS = 10  # row groups that suffice to estimate how they differ
N_FOLDS = 5
N_DRAWS = 1000
MOST_CLUSTERS = 5000  # beyond, random bundles of clusters give the same intervals in less time

LARGER = "Raise the length cutoff, or take a larger sample."
OTHER = "Choose another layer, or another vector."
"""Remedies where sentences, or their vectors, do not differ."""


def check_different(clusters: ArrayLike) -> None:
    """Raise Undefined where fewer than 100 sentences differ."""
    n = len(np.unique(clusters))
    if n < FEWEST_DIFFERENT:
        reason = f"Only {n} sentences under the length cutoff differ"
        raise Undefined(f"{reason}; {FEWEST_DIFFERENT} are needed.", LARGER)


def clusterings(clusters: ArrayLike, groups: ArrayLike | None = None) -> list[NDArray[Any]]:
    """The clusters (n,), and groups (n,), such as row groups, where there are ten or more.

    An interval is the widest that any of them gives.
    """
    is_grouped = groups is not None and len(np.unique(groups)) >= LEAST_GROUPS
    return [np.asarray(numbers) for numbers in ([clusters, groups] if is_grouped else [clusters])]


def cluster_sums(columns: Sequence[Floats], clusters: ArrayLike) -> Floats:
    """The sum of each column (n,) over each cluster, float64 (n_columns, n_clusters).

    clusters: (n,), equal for sentences that belong together, such as near-duplicates.
    """
    numbers = np.unique(clusters, return_inverse=True)[1]
    return np.stack([np.bincount(numbers, column) for column in columns])


def folds(clusters: ArrayLike, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each sentence, intp (n,), from 0 to 4; the sentences of a cluster share it.

    clusters: (n,). Raises Undefined where there are fewer clusters than folds.
    """
    different, numbers = np.unique(clusters, return_inverse=True)
    n = len(different)
    if n < N_FOLDS:
        reason = f"Only {n} of {len(numbers):,} sentences differ; a held-out test takes {N_FOLDS}."
        raise Undefined(reason, "Take a larger sample.")
    places = np.random.RandomState(seed).permutation(n).argsort()
    return np.sort(np.arange(n) % N_FOLDS)[places[numbers]]


def student_t(degrees: ArrayLike) -> Floats:
    """The number of standard errors that an interval reaches to either side."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return stdtrit(np.asarray(degrees, np.float64), ENDS[1]).astype(np.float64)


def jackknife(without: Floats) -> tuple[float, float]:
    """The margin of a statistic's interval, and its degrees of freedom.

    without: (n_clusters,), the statistic without each cluster in turn.
    """
    variance, degrees = jackknife_variance(without)
    return float(student_t(degrees) * np.sqrt(variance)), float(degrees)


def jackknife_variance(without: Floats) -> tuple[Floats, Floats]:
    """The variance of statistics, and its degrees of freedom.

    without: (n_clusters, …), the statistics without each cluster in turn. The variance is by Efron
    and Stein (1981); its degrees of freedom are those that Satterthwaite (1946) gives a sum of
    unequal squares, which are few where few clusters decide it.
    """
    n = len(without)
    squares = (without - without.mean(axis=0)) ** 2
    total = squares.sum(axis=0)
    unevenness = (squares**2).sum(axis=0) - total**2 / n
    is_uneven = unevenness > 0
    uneven = 2 * total**2 / np.where(is_uneven, unevenness, 1)
    degrees = np.where(is_uneven, np.minimum(n - 2.0, uneven), n - 2.0)
    return total * (n - 1) / n, degrees


def resample(columns: Sequence[Floats], clusters: ArrayLike, seed: int = 0) -> Floats:
    """The sum of each column (n,) over each of 1,000 draws of clusters, float64 (n_columns, 1000).

    Each draw takes as many clusters as there are, with replacement (Efron 1979). All columns are
    summed over the same draws, and the seed repeats them: what two statistics have in common
    cancels in their difference (a paired bootstrap; Koehn 2004).
    """
    sums = cluster_sums(columns, clusters)
    random = np.random.RandomState(seed)
    if sums.shape[1] > MOST_CLUSTERS:
        sums = cluster_sums(list(sums), random.permutation(sums.shape[1]) % MOST_CLUSTERS)
    n = sums.shape[1]
    draws = [sums @ np.bincount(random.randint(0, n, n), minlength=n) for _ in range(N_DRAWS)]
    return np.stack(draws, axis=1)


def middle(values: Floats) -> Interval:
    """The interval that holds the middle 95 of 100 finite values."""
    low, high = np.quantile(values[np.isfinite(values)], ENDS)
    return float(low), float(high)


def wilson_bound(n: int, tail: float = ENDS[0]) -> float:
    """The end of Wilson's interval for a share of which n draws show none (Wilson 1927)."""
    from scipy.special import ndtri

    square = float(ndtri(tail)) ** 2
    return square / (n + square)


def of_mean(values: ArrayLike, seed: int, least: float = 0.0, n_tested: int = 1) -> Interval:
    """The interval of the mean of values (n,) from `least` to 1, by the bootstrap.

    least: 0 of recalls, −1 of their differences. Draws of equal values are equal, too: then the
    interval leaves room for the share of others that is unseen, as far off as they may be, which
    for shares of 0 and 1 is that of Wilson (1927), and for differences is wider than need be.
    n_tested: means of which the best is taken; the interval is wider accordingly (Bonferroni).
    """
    x, tail = np.asarray(values, np.float64), ENDS[0] / n_tested
    if np.ptp(x) > 0:
        sums = resample([x], np.arange(len(x)), seed)
        low, high = np.quantile(sums / len(x), [tail, 1 - tail])
        return float(low), float(high)
    value, share = float(x[0]), wilson_bound(len(x), tail)
    return value - share * (value - least), value + share * (1 - value)


def margin(draws: Floats, least: float = 0.0) -> float:
    """The largest difference of statistics (m, 1000) of the same draws that chance alone gives.

    Of m statistics without a difference, two differ by more in 5 of 100 cases (Tukey's range, by
    the bootstrap); of two, the difference ± the margin is its 95% interval. NaN for fewer.
    least: of the margin; for shares `wilson_bound`, as draws do not vary where no search differs.
    """
    if len(draws) < 2:
        return np.nan
    centred = draws - draws.mean(axis=1, keepdims=True)
    return max(float(np.quantile(np.ptp(centred, axis=0), CONFIDENCE)), least)


def means(
    columns: Sequence[Floats], groupings: Sequence[NDArray[Any]]
) -> tuple[list[Interval], float]:
    """Intervals of the means of m columns (n,), and the margin of their differences.

    groupings: (n,) each, from `clusterings`.
    """
    if not columns:
        return [], np.nan
    sums = [resample([np.ones(len(columns[0])), *columns], numbers) for numbers in groupings]
    draws = [one[1:] / one[0] for one in sums]
    intervals = [max(map(middle, rows), key=np.ptp) for rows in zip(*draws, strict=True)]
    return intervals, max(map(margin, draws))


@dataclass(frozen=True)
class Contrast:
    """The places of the highest and the lowest of m values, and how far they are apart.

    interval: of the difference; NaN where fewer than two values are defined.
    """

    most: int
    least: int
    difference: float
    interval: Interval

    @classmethod
    def of(cls, values: ArrayLike, margin: float) -> Self:
        """From values (m,); two that differ by more than the margin differ beyond chance."""
        x = np.asarray(values, np.float64)
        if np.isfinite(x).sum() < 2:
            return cls(0, 0, np.nan, (np.nan, np.nan))
        most, least = int(np.nanargmax(x)), int(np.nanargmin(x))
        difference = float(x[most] - x[least])
        return cls(most, least, difference, (difference - margin, difference + margin))

    @property
    def is_sure(self) -> bool:
        """True if the two differ beyond chance."""
        return self.interval[0] > 0
