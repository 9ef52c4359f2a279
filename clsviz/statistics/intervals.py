"""Intervals that know which sentences belong together: by the jackknife, and by drawing groups of them anew."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

Interval = tuple[float, float]

ROUNDING = 1e-6
"""A standard deviation below this fraction of the mean is rounding: float32 norms carry relative errors near 1e-7."""

LEAST_TOLD = 10
"""Sentences of which R² is shown: of three, a line accounts for nearly everything, whatever they are."""

FEW_SENTENCES = 100
"""Different ones, those that are nearly the same counted once. Among fewer, the 5% quantile would rest on less than
five, and a tenth of them by length would be less than ten: no answer is firm."""

FEWEST_OF_LINE = 3
"""Through any two a line goes, so that it says nothing."""

LEAST_ROW_GROUPS = 10
"""Among fewer, how much row groups differ cannot be said."""


def enough_row_groups(row_groups: NDArray[np.integer] | None) -> bool:
    """Whether it is known from which row groups sentences (n,) come, and these are enough to say how they differ."""
    return row_groups is not None and len(np.unique(row_groups)) >= LEAST_ROW_GROUPS


CONFIDENCE = 0.95

FEW_DEGREES = 20
"""An interval with fewer degrees of freedom rests on few sentences, if that is little of them."""


@dataclass(frozen=True)
class RSquaredInterval:
    """An interval of R², and its degrees of freedom: about how many independent sentences its width rests on."""

    ends: Interval
    degrees_of_freedom: float

    def rests_on_few(self, n: int) -> bool:
        """Whether few of the n sentences decide how wide it is: then it may be too narrow."""
        return self.degrees_of_freedom < min(FEW_DEGREES, n / 20)


Clusters = NDArray[np.integer]


def clusterings(clusters: Clusters | None, row_groups: Clusters | None) -> list[Clusters | None]:
    """What sentences (n,) may have in common: that they are alike, and from where they come if that is enough places.

    Intervals are taken by each, and the widest is shown. None stands for sentences that are all independent.
    """
    if clusters is not None and len(np.unique(clusters)) == len(clusters):
        clusters = None
    return [clusters, row_groups] if enough_row_groups(row_groups) else [clusters]


def r_squared_interval(x: Floats, y: Floats, clusters: Clusters | None = None) -> RSquaredInterval:
    """A 95% interval of R²: that of the correlation, squared, so that it can reach down to 0.

    The correlation r of x and y, both (n,), becomes Fisher's z = artanh r, whose variance is that of the `jackknife`,
    leaving out one cluster of sentences at a time (Cameron and Miller 2015); clusters: intp (n,), or None if all
    sentences are independent. Its degrees of freedom are few, if few clusters decide the variance.
    """
    sums = cluster_sums(x, y, clusters)
    return interval_of_sums(sums, np.ones(len(sums)), sums.sum(axis=0))


def interval_of_sums(sums: Floats, times: Floats, whole: Floats) -> RSquaredInterval:
    """The same from sums (m, 6), as `cluster_sums` makes them, each of which stands for `times` (m,) clusters.

    whole: (6,), what they add up to.
    """
    r = float(correlation_of_sums(whole))
    n = float(times.sum())
    if n < 3:  # there is a line through any two
        return RSquaredInterval((0.0, 1.0), 0.0)
    without = correlation_of_sums(whole - sums)
    if np.isnan(without).any():  # what is left of some is no line: they alone decide it
        return RSquaredInterval((0.0, 1.0), 0.0)
    if 1 - abs(r) < ROUNDING**2:  # all lie on the line, so it rests on no few of them
        return RSquaredInterval((r**2, r**2), max(n - 2, 0.0))
    if not (np.abs(without) < 1).all():  # what is left of some is on a line
        return RSquaredInterval((0.0, 1.0), 0.0)
    margin, degrees = jackknife(np.arctanh(without), times)
    low, high = sorted(abs(math.tanh(math.atanh(r) + side)) for side in (-margin, margin))
    return RSquaredInterval((0.0 if margin >= abs(math.atanh(r)) else low**2, high**2), degrees)


def jackknife(without: Floats, times: Floats) -> tuple[float, float]:
    """How far a 95% interval reaches to either side, and its degrees of freedom.

    without: (m,), what is estimated without some cluster, each of which stands for `times` (m,) clusters. The variance
    is that of the jackknife (Efron and Stein 1981); Student's t has the degrees of freedom that Satterthwaite (1946)
    gives a sum of unequal squares.
    """
    from scipy import special

    n = float(times.sum())
    squares = (without - (times * without).sum() / n) ** 2
    total = (times * squares).sum()
    spread = (times * squares**2).sum() - total**2 / n
    degrees = min(n - 2, 2 * total**2 / spread) if spread > 0 else n - 2
    return float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2) * math.sqrt(total * (n - 1) / n)), float(degrees)


def agreeing(of_r_squared: Interval, of_slope: Interval) -> tuple[Interval, Interval]:
    """Both intervals, each stretched to 0 where the other holds it.

    They are found in different ways, and of a line that is barely told apart from nothing one may say so alone.
    """
    if of_r_squared[0] > 0 and not of_slope[0] <= 0 <= of_slope[1]:
        return of_r_squared, of_slope
    return (0.0, of_r_squared[1]), (min(of_slope[0], 0.0), max(of_slope[1], 0.0))


def cluster_covariance(x: Floats, residuals: Floats, clusters: Clusters) -> Floats:
    """The covariance of intercept and slope, (2, 2), where clusters of sentences depart from their line together.

    It is CV3, the cluster jackknife (MacKinnon, Nielsen and Webb 2023): without cluster g the coefficients change by
    −(X′X − X_g′X_g)⁻¹ X_g′u_g, where u are the residuals (n,) of the least-squares line on x (n,); the outer products
    of these changes are added up, times (G − 1)/G. With Student’s t of G − 1 degrees of freedom its intervals hold also
    where clusters are few. Without any of them there must be a line.
    """
    n, sx, su, sxx, sxu, _ = cluster_sums(x, residuals, clusters).T
    left = [whole.sum() - whole for whole in (n, sx, sxx)]
    determinant = left[0] * left[2] - left[1] ** 2
    slope = (left[1] * su - left[0] * sxu) / determinant
    intercept = (left[1] * sxu - left[2] * su) / determinant - x.mean() * slope  # the sums are about the mean length
    changes = np.stack([intercept, slope])
    covariance: Floats = (len(n) - 1) / len(n) * changes @ changes.T
    return covariance


def cluster_sums(x: Floats, y: Floats, clusters: Clusters | None = None) -> Floats:
    """Sums over each cluster of 1, x, y, xx, xy and yy: (n clusters, 6), of x and y less their means."""
    x, y = x - x.mean(), y - y.mean()  # keeps digits in the differences of the sums
    moments = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    if clusters is None:
        return moments
    _, clusters = np.unique(clusters, return_inverse=True)
    return np.stack([np.bincount(clusters, column) for column in moments.T], axis=1)


def correlation_of_sums(sums: Floats) -> Floats:
    """The correlation that sums (…, 6), as `cluster_sums` makes them, add up to; NaN where there is none."""
    n, sx, sy, sxx, sxy, syy = np.moveaxis(sums, -1, 0)
    xx, xy, yy = n * sxx - sx * sx, n * sxy - sx * sy, n * syy - sy * sy
    determined = (xx > ROUNDING**2 * n * sxx) & (yy > ROUNDING**2 * n * syy)
    values: Floats = np.full(np.shape(n), np.nan)
    np.divide(xy, np.sqrt(np.abs(xx * yy)), out=values, where=determined)
    return values


N_DRAWS = 1000

MOST_GROUPS = 5000
"""What is drawn takes time and memory for each; more groups are drawn in bundles."""


class Bootstrap:
    """Groups of near-duplicates drawn with replacement, as many as there are, again and again (Efron 1979).

    Whatever is compared is computed of the same draws, so that what two measures of a sentence have in common cancels
    out (a paired bootstrap; Koehn 2004). Everything is made of sums over groups, of which none is drawn in part.
    """

    def __init__(self, clusters: NDArray[np.integer]) -> None:
        """clusters: intp (n,), the group of each sentence."""
        _, self._cluster = np.unique(clusters, return_inverse=True)
        random, n = np.random.default_rng(0), int(self._cluster.max(initial=-1)) + 1
        if n > MOST_GROUPS:  # so many bundles of groups that know nothing of each other give the same intervals
            self._cluster, n = (random.permutation(n) % MOST_GROUPS)[self._cluster], MOST_GROUPS
        draws = (np.bincount(random.integers(0, n, n), minlength=n) for _ in range(N_DRAWS))
        self._times = np.array(list(draws), np.float32)
        """How often each draw has each group, (N_DRAWS, n groups)."""

    def r_squared(self, lengths: ArrayLike, predictions: ArrayLike, folds: NDArray[np.intp]) -> Interval:
        """The 95% interval of R² of held-out predictions (n,) of lengths (n,), around the mean of each fold (n,).

        The probes are as they are: it says how far other sentences would change what these probes read, and not how
        much a probe of others would have learned.
        """
        errors, around_mean = self._squares(lengths, predictions, folds)
        return self._interval(lambda sums: 1 - sums[:, 0] / sums[:, 1], errors, around_mean)

    def r_squared_difference(
        self, lengths: ArrayLike, predictions: ArrayLike, others: ArrayLike, folds: NDArray[np.intp]
    ) -> Interval:
        """The 95% interval of how much higher R² of predictions is than that of others, of the same sentences."""
        errors, around_mean = self._squares(lengths, predictions, folds)
        of_others, _ = self._squares(lengths, others, folds)
        return self._interval(lambda sums: sums[:, 0] / sums[:, 1], of_others - errors, around_mean)

    def correlation_difference(
        self, one: tuple[ArrayLike, ArrayLike], other: tuple[ArrayLike, ArrayLike], *, squared: bool = False
    ) -> Interval:
        """The 95% interval of how much higher the correlation of one pair of columns (n,) is than that of another.

        For rank correlations the columns are ranks, which are not ranked anew in each draw. squared: whether of R², the
        squared correlation.
        """
        pairs = [np.stack([np.asarray(column, float) for column in pair]) for pair in (one, other)]
        drawn = [self._drawn(cluster_sums(x, y, self._cluster)) for x, y in pairs]
        first, second = (correlation_of_sums(sums) for sums in drawn)
        return middle_of(first**2 - second**2 if squared else first - second)

    def _squares(self, lengths: ArrayLike, predictions: ArrayLike, folds: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Squared errors, and squared distances from the mean length of the fold: float64 (n,) each."""
        y = np.asarray(lengths, float)
        _, fold = np.unique(folds, return_inverse=True)
        means = np.bincount(fold, y) / np.bincount(fold)
        return (y - np.asarray(predictions, float)) ** 2, (y - means[fold]) ** 2

    def _interval(self, statistic: Callable[[Floats], Floats], *columns: Floats) -> Interval:
        sums = np.stack([np.bincount(self._cluster, column) for column in columns], axis=1, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw may have one length alone
            return middle_of(statistic(self._drawn(sums)))

    def _drawn(self, sums: Floats) -> Floats:
        """Sums over each group (n groups, k), added up over the groups of each draw: float64 (N_DRAWS, k)."""
        scale = np.abs(sums).max(axis=0, initial=np.finfo(float).tiny)
        drawn: Floats = (self._times @ (sums / scale).astype(np.float32)).astype(float) * scale
        return drawn


def middle_of(values: Floats) -> Interval:
    """What the middle 95 of 100 are between; NaN where they are undefined."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
