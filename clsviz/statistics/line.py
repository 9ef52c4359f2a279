"""The regression line of norm on length, and how much the length cutoff decides it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.statistics.intervals import (
    CONFIDENCE,
    FEWEST_OF_LINE,
    ROUNDING,
    Clusters,
    Floats,
    Interval,
    agreeing,
    cluster_covariance,
    cluster_sums,
    clusterings,
    r_squared_interval,
)

if TYPE_CHECKING:
    from statsmodels.regression.linear_model import OLS

CUTOFFS = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200, 260, 320, 400, 512)

CUTOFF_COLUMNS = ["length_cutoff", "n", "r_squared", "lower", "upper", "slope"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression line of norm on length, with 95% intervals, infinite ones where the data cannot bound them.

    The intervals of slope, intercept and line allow the spread to change along the line, and clusters of sentences to
    depart from it together: their covariance is that of the cluster jackknife (CV3; MacKinnon, Nielsen and Webb 2023),
    or where there are none robust to unequal spread (HC3; MacKinnon and White 1985). That of R² is by
    `r_squared_interval`. Of these and that of the slope both hold 0, or neither.
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
    t: float
    """How many standard errors the intervals of slope, intercept and line reach to either side: Student’s, for them."""

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
        margin = error * self.t
        line = self.predict(x)
        return line - margin, line + margin


FLAT_LENGTHS = range(4, 40)
"""Lengths that nearly every corpus has."""


@dataclass(frozen=True)
class Flat:
    """R² of the line if each length of FLAT_LENGTHS were as frequent as any other; absent: those that no sentence has.

    Two corpora with the same norm at each length have the same, whatever their lengths.
    """

    r_squared: float
    absent: tuple[int, ...]


def r_squared(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line of norms on lengths alone, much faster than `fit`; raises UndefinedFitError as `fit` does."""
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    return squared_correlation(x, y)


def squared_correlation(x: Floats, y: Floats) -> float:
    """The square of Pearson's correlation, which is R² of the line of either on the other."""
    return float(np.corrcoef(x, y)[0, 1]) ** 2


def slope_within_ends(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line within the shortest fifth or within the longest, whichever is larger.

    lengths, norms: (n,). 0 where the norms or the lengths of a fifth do not vary.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    low, high = np.quantile(x, (0.2, 0.8))
    ends = [(x[inside], y[inside]) for inside in (x <= low, x >= high)]
    return max((squared_correlation(*end) for end in ends if all(of.std() > 0 for of in end)), default=0.0)


def explain_undefined(lengths: Floats, norms: Floats) -> None:
    """Raise UndefinedFitError, saying why, where these sentences determine no regression line."""
    if not np.isfinite(norms).all():
        raise UndefinedFitError("The norm is not finite for every sentence, so there is no line.")
    n = len(lengths)
    ends = (float(lengths.min()), float(lengths.max())) if n else (0.0, 0.0)
    explain_undefined_of(n, ends, *((float(norms.mean()), float(norms.std())) if n else (0.0, 0.0)))


def explain_undefined_of(n: int, ends: tuple[float, float], mean: float, sd: float) -> None:
    """The same of n sentences. ends: their shortest and longest length. mean, sd: of their norms, ddof=0."""
    if n == 0:
        raise TooFewError("No whole sentence is shorter than the length cutoff.")
    if n < FEWEST_OF_LINE:
        few = f"{n} sentence{'s' * (n > 1)}"
        raise TooFewError(f"A line through {few} says nothing: at least {FEWEST_OF_LINE} are needed.")
    if ends[0] == ends[1]:
        same = f"All {n:,} sentences have the same length, {ends[0]:.0f}"
        raise UndefinedFitError(f"{same}, and through one length there is no line.")
    if sd <= ROUNDING * mean:
        same = f"{n:,} sentences ({mean:#.5g})"
        raise UndefinedFitError(f"The norm is the same for all {same}, so there are no differences to account for.")


def fit(
    lengths: ArrayLike,
    norms: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    row_groups: NDArray[np.int64] | None = None,
) -> Fit:
    """Regress norms on lengths, both (n,), by ordinary least squares.

    clusters: of sentences that tell little more together than one of them alone, intp (n,), such as
    `clusters_of` finds; None if all are independent. row_groups: int64 (n,), where the sentences come from; if
    these are at least LEAST_ROW_GROUPS, each interval is the wider of those by clusters and by row groups.
    Raises UndefinedFitError where the sentences determine no line.
    """
    from scipy import stats
    from statsmodels.regression.linear_model import OLS

    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    n_clusters = len(x) if clusters is None else len(np.unique(clusters))
    by = clusterings(clusters, row_groups)
    mean = float(y.mean())  # fitted without it: some norms vary so little that it would cost digits
    model = OLS(y - mean, np.stack([np.ones_like(x), x], axis=1))
    line = model.fit()
    intercept, slope = map(float, line.params)
    by_groups = (_errors(model, line.resid, groups) for groups in by)
    covariance, degrees, t = max(by_groups, key=lambda errors: errors[2] ** 2 * errors[0][1, 1])  # the widest
    margins = (t * np.sqrt(np.diag(covariance))).tolist()
    intervals = (r_squared_interval(x, y, groups) for groups in by)
    found = max(intervals, key=lambda interval: interval.ends[1] - interval.ends[0])
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


def _errors(model: "OLS", residuals: Floats, clusters: Clusters | None) -> tuple[Floats, int, float]:
    """The covariance of intercept and slope, (2, 2), its degrees of freedom, and Student’s t for them.

    Infinite where without some sentence, or some cluster of them, all others are of one length.
    """
    from scipy import special

    x = model.exog[:, 1]
    degrees = max(len(x) - 2 if clusters is None else len(np.unique(clusters)) - 1, 1)
    t = float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2))
    n, sx, _, sxx, *_ = cluster_sums(x, x, clusters).T
    n, sx, sxx = n.sum() - n, sx.sum() - sx, sxx.sum() - sxx
    if (n * sxx - sx**2 <= ROUNDING * n * np.var(x)).any():  # one whose own errors are unknown, at its end of the line
        return np.full((2, 2), np.inf), degrees, t
    if clusters is None:
        return model.fit(use_t=True, cov_type="HC3").cov_params(), degrees, t
    return cluster_covariance(x, residuals, clusters), degrees, t


def flat(lengths: ArrayLike, norms: ArrayLike) -> Flat:
    """Regress norms on lengths, both (n,), by least squares, with each sentence weighted by 1 / those of its length.

    Raises UndefinedFitError where the sentences with FLAT_LENGTHS determine no line.
    """
    from statsmodels.regression.linear_model import WLS

    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    inside = (x >= FLAT_LENGTHS.start) & (x < FLAT_LENGTHS.stop)
    x, y = x[inside], y[inside]
    explain_undefined(x.astype(float), y)
    counts = np.bincount(x, minlength=FLAT_LENGTHS.stop)
    line = WLS(y - y.mean(), np.stack([np.ones(len(x)), x], axis=1), weights=1 / counts[x]).fit()
    return Flat(float(line.rsquared), tuple(length for length in FLAT_LENGTHS if not counts[length]))


def by_cutoff(
    n_tokens: ArrayLike,
    lengths: ArrayLike,
    norms: ArrayLike,
    clusters: NDArray[np.intp] | None = None,
    row_groups: NDArray[np.int64] | None = None,
    cutoffs: Iterable[int] = CUTOFFS,
) -> pd.DataFrame:
    """The line through the sentences of fewer than so many tokens, for each of several cutoffs.

    n_tokens, lengths, norms, clusters, row_groups: (n,), of all sentences, as `fit` takes them.
    Columns: length_cutoff, n (sentences), r_squared, lower and upper (its 95% interval), slope. Cutoffs whose sentences
    determine no line are left out, and so are those that leave out no more sentences than the one before.
    """
    tokens, x, y = np.asarray(n_tokens), np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    rows: list[tuple[float, ...]] = []
    for cutoff in sorted(set(cutoffs)):
        under = np.flatnonzero(tokens < cutoff)
        if rows and len(under) == rows[-1][1]:
            continue
        by = (groups if groups is None else groups[under] for groups in (clusters, row_groups))
        try:
            line = fit(x[under], y[under], *by)
        except UndefinedFitError:
            continue
        rows.append((cutoff, line.n, line.r_squared, *line.r_squared_interval, line.slope))
    return pd.DataFrame(rows, columns=CUTOFF_COLUMNS).astype({"length_cutoff": int, "n": int})
