"""Several models on the same sentences: which of them differ beyond chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.bootstrap import middle, resample
from clsviz.statistics.jackknife import CONFIDENCE, Floats, Interval
from clsviz.statistics.line import moments, of_sums


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


def means(columns: Sequence[Floats], drawn: Sequence[NDArray[Any]]) -> tuple[list[Interval], float]:
    """Intervals of the means of m columns (n,), and the margin of their differences.

    drawn: (n,) each, from `clusterings`.
    """
    if not columns:
        return [], np.nan
    sums = [resample([np.ones(len(columns[0])), *columns], numbers) for numbers in drawn]
    draws = [one[1:] / one[0] for one in sums]
    intervals = [max(map(middle, rows), key=np.ptp) for rows in zip(*draws, strict=True)]
    return intervals, max(map(margin, draws))


def line_margin(pairs: Sequence[tuple[Floats, Floats]], drawn: Sequence[NDArray[Any]]) -> float:
    """The margin of differences of R² of m lines, each of lengths and norms (n,), as in `means`."""
    if not pairs:
        return np.nan
    return max(margin(np.stack([_r2s(*pair, numbers) for pair in pairs])) for numbers in drawn)


def _r2s(lengths: Floats, norms: Floats, numbers: NDArray[Any]) -> Floats:
    """R² of the line in each draw, float64 (1000,)."""
    columns = moments(lengths, norms)
    _, _, correlations = of_sums(resample(columns, numbers), np.sum(columns, axis=1))
    return np.asarray(np.nan_to_num(correlations) ** 2)
