"""The regression line of norm on length."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.regression.linear_model import OLS

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import (
    CONFIDENCE,
    ROUNDING,
    Floats,
    Interval,
    cluster_sums,
    clusterings,
    widest_interval,
)


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression line of norm on length, with 95% intervals, infinite ones where the data cannot bound them.

    The intervals of slope, intercept and line allow the spread to change along the line, and clusters of sentences to
    depart from it together: their covariance is robust to clusters (Liang and Zeger 1986), or where there are none to
    unequal spread (HC3; MacKinnon and White 1985). That of R² is by `r_squared_interval`.
    """

    n: int
    n_clusters: int
    """How many independent groups of sentences the intervals take them for; n if all are."""
    slope: float
    """Change of the norm per token."""
    intercept: float
    r_squared: float
    spearman: float
    """Spearman's rank correlation of norm and length."""
    slope_interval: Interval
    intercept_interval: Interval
    r_squared_interval: Interval
    rests_on_few: bool
    """Whether a few sentences, or clusters of them, decide how wide that interval is: then it may be too narrow."""
    norm_mean: float
    norm_sd: float
    covariance: Floats
    """Covariance of intercept and slope, (2, 2)."""
    degrees_of_freedom: int
    """Of that covariance."""

    def predict(self, lengths: ArrayLike) -> Floats:
        """The norm on the line at each length, float64."""
        return self.intercept + self.slope * np.asarray(lengths, dtype=float)

    def band(self, lengths: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper end of the line's 95% interval at each length (n,), float64 (n,) each."""
        x = np.asarray(lengths, dtype=float)
        if not np.isfinite(self.covariance).all():
            return np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        design = np.stack([np.ones_like(x), x], axis=-1)
        error = np.sqrt(np.einsum("ni,ij,nj->n", design, self.covariance, design))
        margin = error * stats.t.ppf((1 + CONFIDENCE) / 2, self.degrees_of_freedom)
        line = self.predict(x)
        return line - margin, line + margin


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
    if n_clusters == len(x):
        clusters = None
    by = clusterings(clusters, row_groups)
    mean = y.mean()  # fitted without it: in some layers the norm varies so little that its mean would cost digits
    model = OLS(y - mean, np.stack([np.ones_like(x), x], axis=1))
    line = model.fit()
    intercept, slope = line.params
    covariance, degrees = max((_errors(model, x, groups) for groups in by), key=lambda errors: errors[0][1, 1])
    margins = stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * np.sqrt(np.diag(covariance))
    low, high = (line.params - margins).tolist(), (line.params + margins).tolist()
    of_r_squared = widest_interval(x, y, by)
    return Fit(
        n=len(x),
        n_clusters=n_clusters,
        slope=float(slope),
        intercept=float(intercept + mean),
        r_squared=float(line.rsquared),
        spearman=float(stats.spearmanr(x, y).statistic),
        slope_interval=(low[1], high[1]),
        intercept_interval=(float(low[0] + mean), float(high[0] + mean)),
        r_squared_interval=of_r_squared.ends,
        rests_on_few=of_r_squared.rests_on_few(len(x)),
        norm_mean=float(mean),
        norm_sd=float(y.std(ddof=1)),
        covariance=covariance,
        degrees_of_freedom=degrees,
    )


def _errors(model: OLS, x: Floats, clusters: NDArray[np.integer] | None) -> tuple[Floats, int]:
    """The covariance of intercept and slope, (2, 2), and its degrees of freedom."""
    degrees = len(x) - 2 if clusters is None else len(np.unique(clusters)) - 1
    if _is_held_by_one(x, clusters):  # whose own errors are unknown, at its end of the line
        return np.full((2, 2), np.inf), max(degrees, 1)
    how = {"cov_type": "HC3"} if clusters is None else {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    return model.fit(use_t=True, **how).cov_params(), degrees


def _is_held_by_one(x: Floats, clusters: NDArray[np.integer] | None) -> bool:
    """Whether without some sentence, or some cluster of them, all others are of one length."""
    n, sx, _, sxx, *_ = cluster_sums(x, x, clusters).T
    n, sx, sxx = n.sum() - n, sx.sum() - sx, sxx.sum() - sxx
    return bool((n * sxx - sx**2 <= ROUNDING * n * np.var(x)).any())


def r_squared(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line of norms on lengths alone, much faster than `fit`; raises UndefinedFitError as `fit` does."""
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    return squared_correlation(x, y)


def squared_correlation(x: Floats, y: Floats) -> float:
    """The square of Pearson's correlation, which is R² of the line of either on the other."""
    return float(np.corrcoef(x, y)[0, 1]) ** 2


def explain_undefined(lengths: Floats, norms: Floats) -> None:
    """Raise UndefinedFitError, saying why, where these sentences determine no regression line."""
    n = len(lengths)
    if not np.isfinite(norms).all():
        raise UndefinedFitError("The norm is not finite for every sentence, so there is no line.")
    if n == 0:
        raise UndefinedFitError("No whole sentence is shorter than the length cutoff. Raise the cutoff.")
    if n < 3:
        few = f"{n} sentence{'s' * (n > 1)}"
        raise UndefinedFitError(f"A line through {few} says nothing: at least 3 are needed. Raise the cutoff.")
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {n:,} sentences are {lengths[0]:.0f} long: with one length there is no line.")
    if norms.std() <= ROUNDING * norms.mean():
        same = f"{n:,} sentences ({norms.mean():.4f})"
        raise UndefinedFitError(f"The norm is the same for all {same}, so there is nothing for length to explain.")
