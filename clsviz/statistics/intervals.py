"""The bootstrap interval of R²."""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]


Interval = tuple[float, float]


CONFIDENCE = 0.95


ROUNDING = 1e-6
"""A spread below this share of the mean is rounding: float32 norms carry relative errors of some 1e-7."""


_BOOTSTRAP_GROUPS, _BOOTSTRAP_RESAMPLES = 250, 999


def bootstrap_r_squared(x: Floats, y: Floats) -> Interval:
    """Bootstrap interval of R²: that of the correlation, squared.

    Of R² itself it would be false near 0, where R² ends and the correlation does not. It is a function of the points'
    sums of 1, x, y, xx, xy and yy. Beyond 250 points, not points are drawn but the sums over 250 groups of them: as
    their order is random, so is every run of it.
    """
    x, y = x - x.mean(), y - y.mean()  # keeps the sums' differences exact
    moments = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    n_groups = min(len(x), _BOOTSTRAP_GROUPS)
    starts = np.arange(n_groups) * len(x) // n_groups
    sums = np.add.reduceat(moments, starts, axis=0)

    def correlation(groups: NDArray[np.intp], axis: int = -1) -> Floats:
        n, sx, sy, sxx, sxy, syy = np.moveaxis(sums[groups].sum(axis=axis - 1), -1, 0)
        xx, xy, yy = n * sxx - sx * sx, n * sxy - sx * sy, n * syy - sy * sy
        determined = (xx > 0) & (yy > 0)  # a draw of points that determine no line explains nothing
        values: Floats = np.divide(xy, np.sqrt(np.abs(xx * yy)), out=np.zeros_like(xy), where=determined)
        return values

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # all draws equal: points on one line
        interval = stats.bootstrap(
            (np.arange(n_groups),),
            correlation,
            n_resamples=_BOOTSTRAP_RESAMPLES,
            confidence_level=CONFIDENCE,
            vectorized=True,
            rng=0,
        ).confidence_interval
    if np.isnan(interval).any():  # every draw says the same, or there are too few points to say anything
        value = float(correlation(np.arange(n_groups))) ** 2
        return (value, value) if value > 1 - ROUNDING else (0.0, 1.0)
    low, high = sorted((abs(float(interval.low)), abs(float(interval.high))))
    return (0.0 if interval.low <= 0 <= interval.high else low**2), min(1.0, high**2)
