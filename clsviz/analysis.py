"""What the norms say about length, and length about the norms: numbers in, numbers out."""

import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from statsmodels.regression.linear_model import OLS

from clsviz.errors import UndefinedFitError

Floats = NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
_CONSTANT = 1e-6
"""A spread below this share of the mean is rounding: float32 norms carry relative errors of some 1e-7."""
_BOOTSTRAP_GROUPS, _BOOTSTRAP_RESAMPLES = 250, 999
_BIN_WIDTHS = (1, 2, 5, 10, 20, 50)
_MOST_BINS, _FEWEST_IN_BIN = 16, 5
_SLICE_TAILS = (0.01, 0.05, 0.25)


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
        r_squared_interval=_bootstrap_r_squared(x, y),
        norm_mean=float(y.mean()),
        norm_sd=float(y.std(ddof=1)),
        covariance=covariance,
    )


@dataclass(frozen=True)
class Audit:
    """What a fast precision costs: norms of n sentences, measured in it and exactly.

    largest_error, mean_error: of the norm, absolute. norm_sd: standard deviation of the exact norms.
    r_squared_change: R² of the fast norms less that of the exact ones; None where there is no line.
    """

    n: int
    largest_error: float
    mean_error: float
    norm_sd: float
    r_squared_change: float | None

    @property
    def is_measurable(self) -> bool:
        """Whether the norm varies by more than the largest error."""
        return self.norm_sd > self.largest_error or self.largest_error == 0


def audit(lengths: ArrayLike, exact: ArrayLike, fast: ArrayLike) -> Audit:
    """Compare the norms of the same sentences, at least one, measured exactly and in a fast precision."""
    x, y, z = (np.asarray(values, dtype=float) for values in (lengths, exact, fast))
    change = None
    if len(x) >= 3 and min(x.std(), y.std(), z.std()) > 0:
        change = float(np.corrcoef(x, z)[0, 1] ** 2 - np.corrcoef(x, y)[0, 1] ** 2)
    errors = np.abs(z - y)
    return Audit(len(x), float(errors.max()), float(errors.mean()), float(y.std()), change)


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
    if norms.std() <= _CONSTANT * norms.mean():
        same = f"{n:,} sentences ({norms.mean():.4f})"
        raise UndefinedFitError(f"The norm is the same for all {same}: there is nothing for length to explain.")


def _bootstrap_r_squared(x: Floats, y: Floats) -> Interval:
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
        return (value, value) if value > 1 - _CONSTANT else (0.0, 1.0)
    low, high = sorted((abs(float(interval.low)), abs(float(interval.high))))
    return (0.0 if interval.low <= 0 <= interval.high else low**2), min(1.0, high**2)


def bins(lengths: ArrayLike, norms: ArrayLike) -> pd.DataFrame:
    """Norm given length: a row a bin of lengths that holds at least 5 sentences.

    Columns: first and last (lengths, inclusive), length (their mean in the bin), n, and lower, median and upper: the
    quartiles of the norm.
    """
    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    if not len(x):
        return pd.DataFrame(columns=["first", "last", "length", "n", "lower", "median", "upper"], dtype=float)
    span = int(np.ptp(x)) + 1
    width = next((width for width in _BIN_WIDTHS if span <= width * _MOST_BINS), _BIN_WIDTHS[-1])
    grouped = pd.DataFrame({"length": x, "norm": y}).groupby(x // width * width)
    table = (
        grouped["norm"].quantile(np.array([0.25, 0.5, 0.75])).unstack().set_axis(["lower", "median", "upper"], axis=1)
    )
    table.insert(0, "first", table.index)
    table.insert(1, "last", table.index + width - 1)
    table.insert(2, "length", grouped["length"].mean())
    table.insert(3, "n", grouped.size())
    return table[table["n"] >= _FEWEST_IN_BIN].reset_index(drop=True)


def slices(lengths: ArrayLike, norms: ArrayLike) -> pd.DataFrame:
    """Length given norm: a row a slice of the norms' distribution, from the lowest 1% to the highest 1%.

    Columns: from_share and to_share (of the sentences, sorted by norm), lowest and highest (norms), n, and lower,
    median and upper: the lengths between which nine in ten sentences of the slice lie, and the middle one. The tails
    join their neighbours where they would hold fewer than 10 sentences.
    """
    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    order = np.argsort(y, kind="stable")
    tails = [tail for wider, tail in pairwise((0, *_SLICE_TAILS)) if (tail - wider) * len(x) >= 10]
    edges = [0, *tails, *(1 - tail for tail in reversed(tails)), 1]
    rows = []
    for low, high in pairwise(edges):
        inside = order[round(low * len(x)) : round(high * len(x))]
        if not len(inside):
            continue
        lower, median, upper = np.quantile(x[inside], (0.05, 0.5, 0.95))
        rows.append((low, high, y[inside[0]], y[inside[-1]], len(inside), lower, median, upper))
    columns = ["from_share", "to_share", "lowest", "highest", "n", "lower", "median", "upper"]
    return pd.DataFrame(rows, columns=columns)


def percentile_at_length(length: int, norm: float, lengths: ArrayLike, norms: ArrayLike) -> tuple[float, int] | None:
    """Percentage of the corpus sentences of similar length whose norm is lower, and how many such sentences there are.

    Similar is within a tenth of the length, at least one token. None where fewer than 20 are.
    """
    x, y = np.asarray(lengths), np.asarray(norms, dtype=float)
    similar = y[np.abs(x - length) <= max(1, round(length / 10))]
    if len(similar) < 20:
        return None
    return float(stats.percentileofscore(similar, norm, kind="mean")), len(similar)
