"""Intervals by leaving out one cluster of sentences at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95

ROUNDING = 1e-6
"""Norms that vary by less than this share of their mean vary by the rounding of float32."""

FEWEST_DIFFERENT = 100
"""Clusters: of fewer, a fifth or a tail is a handful, and no answer is firm."""

LEAST_GROUPS = 10
"""Row groups that suffice to estimate how they differ."""

LARGER = "Raise the length cutoff, or take a larger sample."
OTHER = "Choose another layer, or another vector."
"""Remedies where sentences, or their vectors, do not differ."""


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


def student_t(degrees: float) -> float:
    """The number of standard errors that an interval reaches to either side."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def jackknife(without: Floats) -> tuple[float, float]:
    """The margin of a statistic's interval, and its degrees of freedom.

    without: (n_clusters,), the statistic without each cluster in turn. The variance is by Efron and
    Stein (1981); its degrees of freedom are those that Satterthwaite (1946) gives a sum of unequal
    squares, which are few where few clusters decide it.
    """
    n = len(without)
    squares = (without - without.mean()) ** 2
    total = squares.sum()
    unevenness = (squares**2).sum() - total**2 / n
    degrees = min(n - 2.0, 2 * total**2 / unevenness) if unevenness > 0 else n - 2.0
    return float(student_t(degrees) * np.sqrt(total * (n - 1) / n)), float(degrees)


def check_different(clusters: ArrayLike) -> None:
    """Raise Undefined where fewer than 100 sentences differ."""
    n = len(np.unique(clusters))
    if n < FEWEST_DIFFERENT:
        reason = f"Only {n} sentences under the length cutoff differ"
        raise Undefined(f"{reason}; {FEWEST_DIFFERENT} are needed.", LARGER)
