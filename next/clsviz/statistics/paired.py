"""Several models on the same sentences: which of them differ beyond chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.bootstrap import middle, resample
from clsviz.statistics.jackknife import CONFIDENCE, Floats, Interval
from clsviz.statistics.line import LEAST_GROUPS


@dataclass(frozen=True)
class Lead:
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


def margin(draws: Floats) -> float:
    """The largest difference of statistics (m, 1000) of the same draws that chance alone gives.

    Of m statistics without a difference, two differ by more in 5 of 100 cases (Tukey's range, by
    the bootstrap); of two, the difference ± the margin is its 95% interval. NaN for fewer.
    """
    if len(draws) < 2:
        return np.nan
    centred = draws - draws.mean(axis=1, keepdims=True)
    return float(np.quantile(np.ptp(centred, axis=0), CONFIDENCE))


def clusterings(
    clusters: NDArray[np.intp], groups: NDArray[np.generic] | None
) -> list[NDArray[np.generic]]:
    """What is drawn: clusters of near-duplicates, and row groups where there are ten or more."""
    is_grouped = groups is not None and len(np.unique(groups)) >= LEAST_GROUPS
    return [clusters, groups] if groups is not None and is_grouped else [clusters]


def means(
    columns: Sequence[Floats], drawn: Sequence[NDArray[np.generic]]
) -> tuple[list[Interval], float]:
    """Intervals of the means of m columns (n,), and the margin of their differences."""
    if not columns:
        return [], np.nan
    sums = [resample([np.ones(len(columns[0])), *columns], numbers) for numbers in drawn]
    draws = [one[1:] / one[0] for one in sums]
    intervals = [max(map(middle, rows), key=np.ptp) for rows in zip(*draws, strict=True)]
    return intervals, max(map(margin, draws))


def line_margin(
    pairs: Sequence[tuple[Floats, Floats]], drawn: Sequence[NDArray[np.generic]]
) -> float:
    """The margin of differences of R² of m lines, each of lengths and norms (n,)."""
    columns: list[Floats] = []
    for lengths, norms in pairs:
        u, v = lengths - lengths.mean(), norms - norms.mean()
        columns += [np.ones_like(u), u, v, u * u, u * v, v * v]
    if not columns:
        return np.nan
    splits = [np.split(resample(columns, numbers), len(pairs)) for numbers in drawn]
    return max(margin(np.stack(list(map(_r2, split)))) for split in splits)


def _r2(sums: Floats) -> Floats:
    n, su, sv, suu, suv, svv = sums
    products = (suu - su * su / n) * (svv - sv * sv / n)
    r2: Floats = (suv - su * sv / n) ** 2
    np.divide(r2, products, out=r2, where=products > 0)
    return r2
