"""The bootstrap interval of R²."""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]


Interval = tuple[float, float]


CONFIDENCE = 0.95


ROUNDING = 1e-6
"""A standard deviation below this fraction of the mean is rounding: float32 norms carry relative errors near 1e-7."""


_BOOTSTRAP_GROUPS, _BOOTSTRAP_RESAMPLES = 250, 999


def bootstrap_r_squared(x: Floats, y: Floats) -> Interval:
    """Bootstrap interval of R² (Efron 1987, BCa): the interval of the correlation, squared.

    Bootstrapping R² itself would go wrong near 0, where R² stops and the correlation does not. The correlation is a
    function of the sums of 1, x, y, xx, xy and yy. Above 250 points we resample these sums over 250 groups instead of
    single points: the points are in random order, so consecutive ones form random groups.
    """
    x, y = x - x.mean(), y - y.mean()  # keeps digits in the differences of the sums
    moments = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    n_groups = min(len(x), _BOOTSTRAP_GROUPS)
    starts = np.arange(n_groups) * len(x) // n_groups
    sums = np.add.reduceat(moments, starts, axis=0)

    def correlation(groups: NDArray[np.intp], axis: int = -1) -> Floats:
        n, sx, sy, sxx, sxy, syy = np.moveaxis(sums[groups].sum(axis=axis - 1), -1, 0)
        xx, xy, yy = n * sxx - sx * sx, n * sxy - sx * sy, n * syy - sy * sy
        determined = (xx > 0) & (yy > 0)  # a resample without a line explains nothing
        values: Floats = np.divide(xy, np.sqrt(np.abs(xx * yy)), out=np.zeros_like(xy), where=determined)
        return values

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # all resamples agree: the points lie on a line
        interval = stats.bootstrap(
            (np.arange(n_groups),),
            correlation,
            n_resamples=_BOOTSTRAP_RESAMPLES,
            confidence_level=CONFIDENCE,
            vectorized=True,
            rng=0,
        ).confidence_interval
    if np.isnan(interval).any():  # all resamples agree, or there are too few points
        value = float(correlation(np.arange(n_groups))) ** 2
        return (value, value) if value > 1 - ROUNDING else (0.0, 1.0)
    low, high = sorted((abs(float(interval.low)), abs(float(interval.high))))
    return (0.0 if interval.low <= 0 <= interval.high else low**2), min(1.0, high**2)
