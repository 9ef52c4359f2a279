"""Clusters of sentences drawn at random: into folds, and with replacement for intervals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.jackknife import CONFIDENCE, Floats, Interval, cluster_sums

N_FOLDS = 5

N_DRAWS = 1000

MOST_CLUSTERS = 5000
"""A draw takes time for each; beyond these, random bundles of clusters give the same intervals."""


def folds(clusters: ArrayLike, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each sentence, intp (n,), from 0 to 4; the sentences of a cluster share it.

    clusters: (n,). Raises Undefined where there are fewer clusters than folds.
    """
    numbers = np.unique(clusters, return_inverse=True)[1]
    n_clusters = int(numbers.max(initial=-1)) + 1
    if n_clusters < N_FOLDS:
        reason = f"Only {n_clusters} of {len(numbers):,} sentences differ"
        raise Undefined(f"{reason}; a held-out test takes {N_FOLDS}.", "Take a larger sample.")
    fold_of_cluster = np.empty(n_clusters, np.intp)
    order = np.random.RandomState(seed).permutation(n_clusters)
    for fold, members in enumerate(np.array_split(order, N_FOLDS)):
        fold_of_cluster[members] = fold
    return fold_of_cluster[numbers]


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
    ends = np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    low, high = np.quantile(values[np.isfinite(values)], ends)
    return float(low), float(high)
