"""Intervals by drawing groups of near-duplicates anew, for measures of the same sentences that are to be compared."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.intervals import CONFIDENCE, Floats, Interval, cluster_sums, correlation_of_sums

N_DRAWS = 1000

MOST_GROUPS = 5000
"""What is drawn takes time and memory for each; more groups are drawn in bundles."""


class Bootstrap:
    """Groups of near-duplicates drawn with replacement, as many as there are, again and again (Efron 1979).

    Whatever is compared is computed of the same draws, so that what two measures of a sentence have in common cancels
    out (a paired bootstrap; Koehn 2004). Everything is made of sums over groups, of which none is drawn in part.
    """

    def __init__(self, clusters: NDArray[np.integer]) -> None:
        """clusters: intp (n,), the group of each sentence."""
        _, self._cluster = np.unique(clusters, return_inverse=True)
        random, n = np.random.default_rng(0), int(self._cluster.max(initial=-1)) + 1
        if n > MOST_GROUPS:  # so many bundles of groups that know nothing of each other give the same intervals
            self._cluster, n = (random.permutation(n) % MOST_GROUPS)[self._cluster], MOST_GROUPS
        draws = (np.bincount(random.integers(0, n, n), minlength=n) for _ in range(N_DRAWS))
        self._times = np.array(list(draws), np.float32)
        """How often each draw has each group, (N_DRAWS, n groups)."""

    def r_squared(self, lengths: ArrayLike, predictions: ArrayLike, folds: NDArray[np.intp]) -> Interval:
        """The 95% interval of R² of held-out predictions (n,) of lengths (n,), around the mean of each fold (n,).

        The probes are as they are: it says how far other sentences would change what these probes read, and not how
        much a probe of others would have learned.
        """
        errors, around_mean = self._squares(lengths, predictions, folds)
        return self._interval(lambda sums: 1 - sums[:, 0] / sums[:, 1], errors, around_mean)

    def r_squared_difference(
        self, lengths: ArrayLike, predictions: ArrayLike, others: ArrayLike, folds: NDArray[np.intp]
    ) -> Interval:
        """The 95% interval of how much higher R² of predictions is than that of others, of the same sentences."""
        errors, around_mean = self._squares(lengths, predictions, folds)
        of_others, _ = self._squares(lengths, others, folds)
        return self._interval(lambda sums: sums[:, 0] / sums[:, 1], of_others - errors, around_mean)

    def correlation_difference(
        self, one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike], *, squared: bool = False
    ) -> Interval:
        """The 95% interval of how much higher the correlation of one pair of columns (n,) is than that of another.

        For rank correlations the columns are ranks, which are not ranked anew in each draw. squared: whether of R², the
        squared correlation.
        """
        pairs = [np.stack([np.asarray(column, float) for column in pair]) for pair in (one, other)]
        drawn = [self._drawn(cluster_sums(x, y, self._cluster)) for x, y in pairs]
        first, second = (correlation_of_sums(sums) for sums in drawn)
        return _middle(first**2 - second**2 if squared else first - second)

    def _squares(self, lengths: ArrayLike, predictions: ArrayLike, folds: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Squared errors, and squared distances from the mean length of the fold: float64 (n,) each."""
        y = np.asarray(lengths, float)
        _, fold = np.unique(folds, return_inverse=True)
        means = np.bincount(fold, y) / np.bincount(fold)
        return (y - np.asarray(predictions, float)) ** 2, (y - means[fold]) ** 2

    def _interval(self, statistic: Callable[[Floats], Floats], *columns: Floats) -> Interval:
        sums = np.stack([np.bincount(self._cluster, column) for column in columns], axis=1, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw may have one length alone
            return _middle(statistic(self._drawn(sums)))

    def _drawn(self, sums: Floats) -> Floats:
        """Sums over each group (n groups, k), added up over the groups of each draw: float64 (N_DRAWS, k)."""
        scale = np.abs(sums).max(axis=0, initial=np.finfo(float).tiny)
        drawn: Floats = (self._times @ (sums / scale).astype(np.float32)).astype(float) * scale
        return drawn


def _middle(values: Floats) -> Interval:
    """What the middle 95 of 100 are between; NaN where they are undefined."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
