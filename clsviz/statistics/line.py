"""The regression line of norm on length."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from statsmodels.regression.linear_model import OLS

from clsviz.statistics.correlation import ROUNDING, explain_undefined
from clsviz.statistics.intervals import (
    CONFIDENCE,
    Clusters,
    agreeing,
    cluster_covariance,
    cluster_sums,
    clusterings,
    widest_interval,
)
from clsviz.statistics.results.line import Fit, Floats


def fit(
    lengths: ArrayLike,
    norms: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    row_groups: NDArray[np.int64] | None = None,
) -> Fit:
    """Regress norms on lengths, both (n,), by ordinary least squares.

    clusters: of sentences that tell little more together than one of them alone, intp (n,), such as
    `corpora.clusters_of` finds; None if all are independent. row_groups: int64 (n,), where the sentences come from; if
    these are at least LEAST_ROW_GROUPS, each interval is the wider of those by clusters and by row groups.
    Raises UndefinedFitError where the sentences determine no line.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    n_clusters = len(x) if clusters is None else len(np.unique(clusters))
    by = clusterings(clusters, row_groups)
    mean = float(y.mean())  # fitted without it: some norms vary so little that it would cost digits
    model = OLS(y - mean, np.stack([np.ones_like(x), x], axis=1))
    line = model.fit()
    intercept, slope = map(float, line.params)
    covariance, degrees, t = max((_errors(model, line.resid, groups) for groups in by), key=_width)
    margins = (t * np.sqrt(np.diag(covariance))).tolist()
    found = widest_interval(x, y, by)
    of_r_squared, of_slope = agreeing(found.ends, (slope - margins[1], slope + margins[1]))
    return Fit(
        n=len(x),
        n_clusters=n_clusters,
        slope=slope,
        intercept=intercept + mean,
        r_squared=float(line.rsquared),
        spearman=float(stats.spearmanr(x, y).statistic),
        slope_interval=of_slope,
        intercept_interval=(intercept + mean - margins[0], intercept + mean + margins[0]),
        r_squared_interval=of_r_squared,
        rests_on_few=found.rests_on_few(len(x)),
        norm_mean=mean,
        norm_sd=float(y.std(ddof=1)),
        covariance=covariance,
        degrees_of_freedom=degrees,
        t=t,
    )


def _errors(model: OLS, residuals: Floats, clusters: Clusters | None) -> tuple[Floats, int, float]:
    """The covariance of intercept and slope, (2, 2), its degrees of freedom, and Student’s t for them."""
    x = model.exog[:, 1]
    degrees = max(len(x) - 2 if clusters is None else len(np.unique(clusters)) - 1, 1)
    t = float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2))
    if _is_held_by_one(x, clusters):  # whose own errors are unknown, at its end of the line
        return np.full((2, 2), np.inf), degrees, t
    if clusters is None:
        return model.fit(use_t=True, cov_type="HC3").cov_params(), degrees, t
    return cluster_covariance(x, residuals, clusters), degrees, t


def _width(errors: tuple[Floats, int, float]) -> float:
    """How wide the interval of the slope is that these errors give."""
    covariance, _, t = errors
    return float(t**2 * covariance[1, 1])


def _is_held_by_one(x: Floats, clusters: Clusters | None) -> bool:
    """Whether without some sentence, or some cluster of them, all others are of one length."""
    n, sx, _, sxx, *_ = cluster_sums(x, x, clusters).T
    n, sx, sxx = n.sum() - n, sx.sum() - sx, sxx.sum() - sxx
    return bool((n * sxx - sx**2 <= ROUNDING * n * np.var(x)).any())
