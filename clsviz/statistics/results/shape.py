"""What a straight line leaves out."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clsviz.statistics.results.line import Floats, Interval

QUANTILES = (0.05, 0.5, 0.95)


EXTREME_SHARE = 0.02
"""The share of norms that count as extreme: half of them the lowest, half the highest, and all that tie with these."""


@dataclass(frozen=True)
class Extremes:
    """What lengths the most extreme norms have.

    length: the median length. among_extreme: the share of the extreme norms that belong to shorter sentences.
    among_all: the share of all sentences that are shorter. n: how many norms count as extreme.
    """

    length: float
    among_extreme: float
    among_all: float
    n: int


@dataclass(frozen=True)
class Quantiles:
    """Curves below which 5, 50 and 95% of the norms lie, by quantile regression on the logarithm of length.

    slopes: change of each of QUANTILES per unit of the natural logarithm of length. intercepts: each at the length 1.
    """

    slopes: dict[float, float]
    intercepts: dict[float, float]

    def at(self, quantile: float, lengths: ArrayLike) -> Floats:
        """One of QUANTILES of the norm at each length (n,): float64 (n,)."""
        logarithms = np.log(np.maximum(np.asarray(lengths, dtype=float), 1))
        norms: Floats = self.intercepts[quantile] + self.slopes[quantile] * logarithms
        return norms


@dataclass(frozen=True)
class Shape:
    """How norms depend on length, beyond a straight line. Intervals and nulls know the clusters of sentences.

    curve_r_squared: cross-validated R² of a cubic regression spline, the mean over folds that keep clusters together;
        below 0 where the mean norm would have been a better guess.
    curve_null: what 95 of 100 such R² stay below if the norms are shuffled, one sentence of each cluster.
    spread_ratio: standard deviation of the norms of the shortest fifth over that of the longest; NaN where these are
        the same sentences, or where the norms of the longest are all the same.
    spread_ratio_interval: its 95% interval, by the jackknife of its logarithm (Miller 1968), leaving out one cluster
        at a time; NaN where without some cluster the norms at one end are all the same.
    quantile_slopes, quantile_intercepts: as in `Quantiles`.
    extreme_norms: what lengths the most extreme norms have.
    mutual_information: in nats, estimated from nearest neighbours (Kraskov, Stögbauer and Grassberger 2004); NaN while
        it is not computed yet.
    mutual_information_null: what 95 of 100 estimates stay below if the lengths are shuffled.
    """

    curve_r_squared: float
    curve_null: float
    spread_ratio: float
    spread_ratio_interval: Interval
    quantile_slopes: dict[float, float]
    quantile_intercepts: dict[float, float]
    extreme_norms: Extremes
    mutual_information: float = math.nan
    mutual_information_null: float = math.nan
