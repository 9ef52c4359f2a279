"""The regression line of norm on length."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from statsmodels.regression.linear_model import OLS

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import CONFIDENCE, ROUNDING, Floats, Interval, bootstrap_r_squared


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression line of norm on length, with 95% intervals; infinite ones where nothing can be said.

    The intervals of slope, intercept and line hold whatever the spread does along the line: heteroscedasticity-
    consistent covariance HC3 (MacKinnon and White 1985). That of R² is a bias-corrected and accelerated bootstrap
    (Efron 1987) of the correlation, squared. All take the sentences to be independent.
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
    """Of intercept and slope, (2, 2)."""

    def predict(self, lengths: ArrayLike) -> Floats:
        """The norm on the line at each length."""
        return self.intercept + self.slope * np.asarray(lengths, dtype=float)

    def band(self, lengths: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper end of the line's 95% interval at each length."""
        x = np.asarray(lengths, dtype=float)
        if not np.isfinite(self.covariance).all():
            return np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        design = np.stack([np.ones_like(x), x], axis=-1)
        error = np.sqrt(np.einsum("ni,ij,nj->n", design, self.covariance, design))
        margin = error * stats.t.ppf((1 + CONFIDENCE) / 2, self.n - 2)
        line = self.predict(x)
        return line - margin, line + margin


def fit(lengths: ArrayLike, norms: ArrayLike) -> Fit:
    """Regress norms on lengths by ordinary least squares; raises UndefinedFitError where that determines no line.

    The order of the sentences must be random, as that of a sample is: large samples are bootstrapped in groups.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    line = LinearRegression().fit(x[:, None], y)
    with np.errstate(divide="ignore", invalid="ignore"):  # see below
        robust = OLS(y, np.stack([np.ones_like(x), x], axis=1)).fit(cov_type="HC3", use_t=True)
    covariance, intervals = robust.cov_params(), robust.conf_int(1 - CONFIDENCE)
    if _leverage(x).max() > 1 - 1e-9:  # one sentence alone holds the line at its end: HC3 is undefined
        covariance, intervals = np.full((2, 2), np.inf), np.array([[-np.inf, np.inf]] * 2)
    return Fit(
        n=len(x),
        slope=float(line.coef_[0]),
        intercept=float(line.intercept_),
        r_squared=float(r2_score(y, line.predict(x[:, None]))),
        spearman=float(stats.spearmanr(x, y).statistic),
        slope_interval=tuple(intervals[1].tolist()),
        intercept_interval=tuple(intervals[0].tolist()),
        r_squared_interval=bootstrap_r_squared(x, y),
        norm_mean=float(y.mean()),
        norm_sd=float(y.std(ddof=1)),
        covariance=covariance,
    )


def _leverage(x: Floats) -> Floats:
    """How much of its own prediction each point decides, from 0 to 1: the diagonal of the hat matrix."""
    deviations = (x - x.mean()) ** 2
    leverage: Floats = 1 / len(x) + deviations / deviations.sum()
    return leverage


def r_squared(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line of norms on lengths, without all else that `fit` says; raises UndefinedFitError as that does."""
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    if not np.isfinite(y).all():
        raise UndefinedFitError("The norm is not finite for all sentences, so there is no line.")
    explain_undefined(x, y)
    return float(stats.linregress(x, y).rvalue) ** 2


def explain_undefined(lengths: Floats, norms: Floats) -> None:
    """Raise UndefinedFitError with the reason where these sentences determine no regression line."""
    n = len(lengths)
    if n == 0:
        raise UndefinedFitError("No whole sentence is shorter than the length cutoff. Raise the cutoff.")
    if n < 3:
        few = f"{n} sentence{'s' * (n > 1)}"
        raise UndefinedFitError(f"A line through {few} says nothing: at least 3 are needed. Raise the cutoff.")
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {n:,} sentences are {lengths[0]:.0f} long: with one length there is no line.")
    if norms.std() <= ROUNDING * norms.mean():
        same = f"{n:,} sentences ({norms.mean():.4f})"
        raise UndefinedFitError(f"The norm is the same for all {same}: there is nothing for length to explain.")
