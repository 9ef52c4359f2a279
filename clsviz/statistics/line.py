"""The regression line of norm on length, with intervals that know what belongs together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clsviz.errors import Undefined
from clsviz.statistics.jackknife import (
    LARGER,
    OTHER,
    ROUNDING,
    Floats,
    Interval,
    cluster_sums,
    clusterings,
    jackknife,
    student_t,
)

FEWEST = 3
"""Sentences of a line: one goes through any two."""

FEW_DEGREES = 20
"""Fewer degrees of freedom than these, and than a twentieth of the sentences, are few."""


@dataclass(frozen=True, eq=False)
class Line:
    """Ordinary least squares of norm on length; 95% intervals are infinite where unbounded.

    n, n_clusters: sentences, and groups of near-duplicates among them.
    slope: change of the norm per unit of length. intercept: norm at the length 0.
    r2: share of the variance of the norms; its interval holds 0 where that of the slope does.
    is_few_decide: True if few clusters decide R²'s interval, which may then be too narrow.
    length_mean, norm_mean, norm_sd: of lengths and norms; ddof=1.
    squared_margins: float64 (2, 2), the covariance of the line's height at the mean length and of
        its slope, times the square of Student's t.
    """

    n: int
    n_clusters: int
    slope: float
    slope_interval: Interval
    intercept: float
    r2: float
    r2_interval: Interval
    is_few_decide: bool
    length_mean: float
    norm_mean: float
    norm_sd: float
    squared_margins: Floats

    @property
    def stands_out(self) -> bool:
        """True if the line stands out from chance."""
        return self.r2_interval[0] > 0

    @property
    def is_bounded(self) -> bool:
        """True if intervals of the slope and of the line are finite."""
        return bool(np.isfinite(self.squared_margins).all())

    def band(self, lengths: ArrayLike) -> tuple[Floats, Floats]:
        """The ends of the interval of a bounded line at each length, float64 (n,) each."""
        x = np.asarray(lengths, np.float64)
        line = self.intercept + self.slope * x
        design = np.stack([np.ones_like(x), x - self.length_mean])
        margins = np.sqrt(np.einsum("in,ij,jn->n", design, self.squared_margins, design))
        return line - margins, line + margins


def fit(
    lengths: ArrayLike, norms: ArrayLike, clusters: ArrayLike, groups: ArrayLike | None = None
) -> Line:
    """Fit the line through n sentences.

    lengths, norms: (n,). clusters: (n,), equal for near-duplicates. groups: (n,), equal for
    sentences from one place, such as a row group; ten or more widen each interval to theirs.
    Raises Undefined where the sentences determine no line.
    """
    x, y = np.asarray(lengths, np.float64), np.asarray(norms, np.float64)
    check(x, y)
    columns = moments(x, y)
    sums = [cluster_sums(columns, numbers) for numbers in clusterings(clusters, groups)]
    (r2_low, r2_high), degrees = max(map(_r2_interval, sums), key=lambda of: np.ptp(of[0]))
    squared_margins = max(map(_squared_margins, sums), key=lambda margins: margins[1, 1])
    _, u, v, *_ = columns
    slope, margin = float(u @ v / (u @ u)), float(np.sqrt(squared_margins[1, 1]))
    low, high = slope - margin, slope + margin
    if low <= 0 <= high or r2_low == 0:  # two methods, one answer
        low, high, r2_low = min(low, 0.0), max(high, 0.0), 0.0
    return Line(
        n=len(x),
        n_clusters=sums[0].shape[1],
        slope=slope,
        slope_interval=(low, high),
        intercept=float(y.mean() - slope * x.mean()),
        r2=min(float((u @ v) ** 2 / (u @ u) / (v @ v)), 1.0),
        r2_interval=(r2_low, r2_high),
        is_few_decide=degrees < min(FEW_DEGREES, len(x) / 20),
        length_mean=float(x.mean()),
        norm_mean=float(y.mean()),
        norm_sd=float(y.std(ddof=1)),
        squared_margins=squared_margins,
    )


def check(lengths: Floats, norms: Floats) -> None:
    """Raise Undefined where these sentences determine no line."""
    n, n_undefined = len(norms), np.count_nonzero(~np.isfinite(norms))
    if n < FEWEST:
        reason = f"A line takes at least {FEWEST} sentences under the length cutoff, not {n}."
        raise Undefined(reason, LARGER)
    if n_undefined:
        raise Undefined(f"{n_undefined:,} of {n:,} norms are not finite numbers.", OTHER)
    if np.ptp(lengths) == 0:
        raise Undefined(f"All {n:,} sentences have the same length, {lengths[0]:.0f}.", LARGER)
    if norms.std() <= ROUNDING * abs(norms.mean()):
        same = f"the same norm up to rounding, {norms.mean():#.5g}"
        raise Undefined(f"All {n:,} sentences have {same}.", OTHER)


def moments(lengths: Floats, norms: Floats) -> list[Floats]:
    """1, u, v, u², uv and v² of each sentence, float64 (n,): their sums determine a line.

    u, v: lengths and norms less their means, as some norms vary in their last digits only.
    """
    u, v = lengths - lengths.mean(), norms - norms.mean()
    return [np.ones_like(u), u, v, u * u, u * v, v * v]


def of_sums(sums: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Height at the mean length, slope and correlation of lines; NaN where there are none.

    sums: (6, …) of `moments`. total: (6, …), of all sentences, whose size is what rounds.
    """
    n, su, sv, suu, suv, svv = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        uu, uv, vv = suu - su * su / n, suv - su * sv / n, svv - sv * sv / n
        slope = np.where(uu > ROUNDING * total[3] / total[0], uv / uu, np.nan)
        r = np.where(vv > ROUNDING**2 * total[5] / total[0], slope * np.sqrt(uu / vv), np.nan)
        height: Floats = (sv - slope * su) / n
    return height, slope, r


def _squared_margins(sums: Floats) -> Floats:
    """`Line.squared_margins` from sums over clusters (6, n_clusters); infinite where unbounded.

    The covariance is by the cluster jackknife (CV3; MacKinnon, Nielsen and Webb 2023), or where
    every sentence stands for itself HC3 (MacKinnon and White 1985).
    """
    total, n_clusters = sums.sum(axis=1), sums.shape[1]
    height, slope, _ = of_sums(total, total)
    heights, slopes, _ = of_sums(total[:, None] - sums, total)
    if np.isnan(slopes).any():  # without one cluster, the others are of one length
        return np.full((2, 2), np.inf)
    changes = np.stack([heights - height, slopes - slope])
    covariance: Floats = changes @ changes.T
    if n_clusters == total[0]:
        covariance *= student_t(n_clusters - 2) ** 2
    else:
        covariance *= student_t(n_clusters - 1) ** 2 * (1 - 1 / n_clusters)
    return covariance


def _r2_interval(sums: Floats) -> tuple[Interval, float]:
    """The interval of R² on Fisher's scale, from 0 to 1 if unbounded; its degrees of freedom."""
    total, n_clusters = sums.sum(axis=1), sums.shape[1]
    r = abs(float(of_sums(total, total)[2]))
    without = of_sums(total[:, None] - sums, total)[2]
    if n_clusters < FEWEST or np.isnan(without).any():
        return (0.0, 1.0), 0.0
    if 1 - r < ROUNDING**2:  # all sentences are on the line
        return (r**2, r**2), n_clusters - 2.0
    if np.abs(without).max() >= 1:  # without one cluster, the others are
        return (0.0, 1.0), 0.0
    margin, degrees = jackknife(np.arctanh(without))
    low, high = np.tanh([max(np.arctanh(r) - margin, 0), np.arctanh(r) + margin]) ** 2
    return (float(low), float(high)), degrees
