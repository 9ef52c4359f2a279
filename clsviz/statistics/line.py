"""The regression line of norm on length."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.regression.linear_model import OLS

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import CONFIDENCE, ROUNDING, Floats, Interval, bootstrap_r_squared


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression line of norm on length, with 95% intervals, infinite ones where the data cannot bound them.

    The intervals of slope, intercept and line allow the spread to change along the line: they use the
    heteroscedasticity-consistent covariance HC3 (MacKinnon and White 1985). The interval of R² is a bias-corrected and
    accelerated bootstrap (Efron 1987) of the correlation, squared. All assume that the sentences are independent.
    """

    n: int
    slope: float
    """Change of the norm per token."""
    intercept: float
    r_squared: float
    spearman: float
    """Spearman's rank correlation of norm and length."""
    slope_interval: Interval
    intercept_interval: Interval
    r_squared_interval: Interval
    norm_mean: float
    norm_sd: float
    covariance: Floats
    """Covariance of intercept and slope, (2, 2)."""

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
        margin = error * stats.t.ppf((1 + CONFIDENCE) / 2, self.n - 2)
        line = self.predict(x)
        return line - margin, line + margin


def fit(lengths: ArrayLike, norms: ArrayLike) -> Fit:
    """Regress norms on lengths, both (n,), by ordinary least squares.

    The sentences must be in random order, as those of a sample are: large samples are bootstrapped in groups. Raises
    UndefinedFitError where the sentences determine no line.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    mean = y.mean()  # fitted without it: in some layers the norm varies so little that its mean would cost digits
    with np.errstate(divide="ignore", invalid="ignore"):  # see below
        line = OLS(y - mean, np.stack([np.ones_like(x), x], axis=1)).fit(cov_type="HC3", use_t=True)
    intercept, slope = line.params
    covariance, intervals = line.cov_params(), line.conf_int(1 - CONFIDENCE)
    if _leverage(x).max() > 1 - 1e-9:  # a single sentence holds the line at its end, which leaves HC3 undefined
        covariance, intervals = np.full((2, 2), np.inf), np.array([[-np.inf, np.inf]] * 2)
    return Fit(
        n=len(x),
        slope=float(slope),
        intercept=float(intercept + mean),
        r_squared=float(line.rsquared),
        spearman=float(stats.spearmanr(x, y).statistic),
        slope_interval=tuple(intervals[1].tolist()),
        intercept_interval=tuple((intervals[0] + mean).tolist()),
        r_squared_interval=bootstrap_r_squared(x, y),
        norm_mean=float(mean),
        norm_sd=float(y.std(ddof=1)),
        covariance=covariance,
    )


def _leverage(x: Floats) -> Floats:
    """How much each point decides its own prediction, from 0 to 1: the diagonal of the hat matrix."""
    deviations = (x - x.mean()) ** 2
    leverage: Floats = 1 / len(x) + deviations / deviations.sum()
    return leverage


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
