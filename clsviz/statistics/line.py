"""The regression line of norm on length, with intervals that know what belongs together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Constant, Undefined
from clsviz.statistics.intervals import (
    LARGER,
    OTHER,
    ROUNDING,
    Floats,
    Interval,
    cluster_sums,
    clusterings,
    jackknife,
    margin,
    resample,
    student_t,
)

FEWEST = 3  # sentences of a line: one goes through any two
FEW_DEGREES = 20  # fewer degrees of freedom, and than a twentieth of the sentences, are few


@dataclass(frozen=True, eq=False)
class Line:
    """Ordinary least squares of norm on length; 95% intervals are infinite where unbounded.

    n_clusters: groups of near-duplicates.
    slope: change of the norm per unit of length. intercept: norm at the length 0.
    r2: share of the variance of the norms; its interval holds 0 where that of the slope does.
    is_few_decide: True if few clusters decide R²'s interval, which may then be too narrow.
    length_mean, norm_mean, norm_sd: of lengths and norms; ddof=1.
    squared_margins: float64 (2, 2), the covariance of the line's height at the mean length and of
        its slope, times the square of Student's t.
    """

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
    def is_significant(self) -> bool:
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
    margins = [_margins(of_clusters) for of_clusters in sums]
    squared_margins = max((squared for squared, _, _ in margins), key=lambda squared: squared[1, 1])
    _, (r2_low, r2_high), degrees = max(margins, key=lambda one: np.ptp(one[1]))
    _, u, v, *_ = columns
    slope, reach = float(u @ v / (u @ u)), float(np.sqrt(squared_margins[1, 1]))
    low, high = slope - reach, slope + reach
    if low <= 0 <= high or r2_low == 0:  # two methods, one answer
        low, high, r2_low = min(low, 0.0), max(high, 0.0), 0.0
    return Line(
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


def r2_margin(pairs: Sequence[tuple[Floats, Floats]], groupings: Sequence[NDArray[Any]]) -> float:
    """The margin of differences of R² of m lines, each of lengths and norms (n,).

    groupings: (n,) each, from `clusterings`. NaN for fewer than two lines.
    """
    columns = [moments(lengths, norms) for lengths, norms in pairs]
    draws = [
        [of_sums(resample(own, numbers), np.sum(own, axis=1))[2] for own in columns]
        for numbers in groupings
    ]
    return max(margin(np.nan_to_num(rs) ** 2) for rs in draws)


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
        raise Constant(f"All {n:,} sentences have {same}.", OTHER)


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


def _margins(sums: Floats) -> tuple[Floats, Interval, float]:
    """`Line.squared_margins`, and the interval of R² with its degrees of freedom.

    sums: (6, n_clusters), of `moments`. The covariance is by the cluster jackknife (CV3; MacKinnon,
    Nielsen and Webb 2023), or where every sentence stands for itself HC3 (MacKinnon and White
    1985); it is infinite where the others of a cluster are of one length. The interval of R² is on
    Fisher's scale; it is from 0 to 1 where nothing bounds it.
    """
    total, n = sums.sum(axis=1), sums.shape[1]
    height, slope, correlation = of_sums(total, total)
    heights, slopes, without = of_sums(total[:, None] - sums, total)
    changes = np.stack([heights - height, slopes - slope])
    is_each = n == total[0]
    t = student_t(n - 2) if is_each else student_t(n - 1) * np.sqrt(1 - 1 / n)
    squared = np.nan_to_num(changes @ changes.T * t**2, nan=np.inf)
    r, largest = abs(float(correlation)), np.abs(without).max()
    is_defined = n >= FEWEST and not np.isnan(largest)
    if is_defined and 1 - r < ROUNDING**2:  # all sentences are on the line
        return squared, (r**2, r**2), n - 2.0
    if not is_defined or largest >= 1:  # without one cluster, the others are
        return squared, (0.0, 1.0), 0.0
    reach, degrees = jackknife(np.arctanh(without))
    low, high = np.tanh([max(np.arctanh(r) - reach, 0), np.arctanh(r) + reach]) ** 2
    return squared, (float(low), float(high)), degrees
