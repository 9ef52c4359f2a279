"""What a straight line leaves out: a curve, the spread at each length, and whether length tells anything at all."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.statistics.intervals import FEW_SENTENCES, ROUNDING, Bootstrap, Floats, Interval, jackknife
from clsviz.statistics.line import explain_undefined
from clsviz.statistics.ridge import N_FOLDS, folds_of

QUANTILES = (0.05, 0.5, 0.95)

EXTREME_SHARE = 0.02
"""The share of norms that count as extreme: half of them the lowest, half the highest, and all that tie with these."""


@dataclass(frozen=True)
class Extremes:
    """What lengths the most extreme norms have.

    length: the median length. among_extreme: the share of the extreme norms that belong to shorter sentences.
    among_all: the share of all sentences that are shorter. n: how many norms count as extreme.
    """

    length: float
    among_extreme: float
    among_all: float
    n: int


@dataclass(frozen=True)
class Quantiles:
    """Curves below which 5, 50 and 95% of the norms lie, by quantile regression on the logarithm of length.

    slopes: change of each of QUANTILES per unit of the natural logarithm of length. intercepts: each at the length 1.
    """

    slopes: dict[float, float]
    intercepts: dict[float, float]

    def at(self, quantile: float, lengths: ArrayLike) -> Floats:
        """One of QUANTILES of the norm at each length (n,): float64 (n,)."""
        logarithms = np.log(np.maximum(np.asarray(lengths, dtype=float), 1))
        norms: Floats = self.intercepts[quantile] + self.slopes[quantile] * logarithms
        return norms


@dataclass(frozen=True)
class Shape:
    """How norms depend on length, beyond a straight line. Intervals and nulls know the clusters of sentences.

    curve_r_squared: cross-validated R² of a cubic regression spline, the mean over folds that keep clusters together;
        below 0 where the mean norm would have been a better guess.
    curve_null: what 95 of 100 such R² stay below if the norms are shuffled, one sentence of each cluster.
    spread_ratio: standard deviation of the norms of the shortest fifth over that of the longest; NaN where these are
        the same sentences, or where the norms of the longest are all the same.
    spread_ratio_interval: its 95% interval, by the jackknife of its logarithm (Miller 1968), leaving out one cluster
        at a time; NaN where without some cluster the norms at one end are all the same.
    quantile_slopes, quantile_intercepts: as in `Quantiles`.
    extreme_norms: what lengths the most extreme norms have.
    mutual_information: in nats, estimated from nearest neighbours (Kraskov, Stögbauer and Grassberger 2004); NaN while
        it is not computed yet.
    mutual_information_null: what 95 of 100 estimates stay below if the lengths are shuffled.
    """

    curve_r_squared: float
    curve_null: float
    spread_ratio: float
    spread_ratio_interval: Interval
    quantile_slopes: dict[float, float]
    quantile_intercepts: dict[float, float]
    extreme_norms: Extremes
    mutual_information: float = math.nan
    mutual_information_null: float = math.nan


_KNOTS = 5

_PERMUTATIONS = 99

_NONE = (math.nan, math.nan)
"""An interval that is undefined."""

_MOST_FOR_NULL = 5000
"""Sentences that the null of the curve is computed from; of more, the true one would be narrower still."""

_MOST_FOR_QUANTILES = 5000
"""Sentences that the quantile curves are those of: the picture waits for them, a tenth of a second."""

MOST_DRAWN = 20_000
"""Groups of sentences that are drawn anew for the interval of a curve: a thousand times, which takes memory."""

_MOST_FOR_INFORMATION = 2000
"""Sentences that mutual information is estimated from: the permutations take a quarter of a second then."""

_NEIGHBOURS = 3
"""Of each sentence, for mutual information."""

_ROUNDED = 1e-15
"""How far a sum may be off, relative to the largest value: a neighbour at a distance is not nearer than it."""


def shape(lengths: ArrayLike, norms: ArrayLike, clusters: NDArray[np.intp] | None = None) -> Shape:
    """Describe how the norms (n,) of n sentences depend on their lengths (n,).

    clusters: intp (n,), of sentences that are the same or nearly, as `clusters_of` finds them; None if all
    differ. The sentences must be in random order, as those of a sample are. Raises UndefinedFitError where fewer than
    FEW_SENTENCES differ, or where they determine no line either.
    """
    *_, whole = shapes(lengths, norms, clusters)
    return whole


def shapes(lengths: ArrayLike, norms: ArrayLike, clusters: NDArray[np.intp] | None = None) -> Iterator[Shape]:
    """As `shape`, in two steps: at first without the mutual information, which takes longest."""
    x, y = _checked(lengths, norms, clusters)
    clusters = np.arange(len(x)) if clusters is None else clusters
    y = y - (centre := y.mean())  # some norms vary so little that their mean would cost digits
    curve = float(_curve(x, y[:, None], folds_of(clusters))[0])
    alone = np.sort(np.unique(clusters, return_index=True)[1])[:_MOST_FOR_NULL]
    shuffled = np.random.default_rng(0).permuted(np.tile(y[alone], (_PERMUTATIONS, 1)), axis=1).T
    null = float(np.quantile(_curve(x[alone], shuffled, folds_of(np.arange(len(alone)))), 0.95))
    ratio, interval = spread(x, y, clusters, ROUNDING * abs(centre))
    curves = quantiles(x, y + centre)
    each = max(1, round(len(y) * EXTREME_SHARE / 2))
    lowest, highest = np.partition(y, [each - 1, len(y) - each])[[each - 1, len(y) - each]]
    extreme = (y <= lowest) | (y >= highest)  # all that tie, since none of them is more extreme
    median = float(np.median(x))
    extremes = Extremes(median, float(np.mean(x[extreme] < median)), float(np.mean(x < median)), int(extreme.sum()))
    found = Shape(curve, null, ratio, interval, curves.slopes, curves.intercepts, extremes)
    yield found
    information, null = _information(x[:_MOST_FOR_INFORMATION], y[:_MOST_FOR_INFORMATION])
    yield replace(found, mutual_information=information, mutual_information_null=null)


def _curve(x: Floats, y: Floats, folds: NDArray[np.intp]) -> Floats:
    """Cross-validated R² (m,) of a cubic spline, for each of m columns of norms (n, m).

    Sentences of one length have one value on the curve, so their number and the sums of their norms are enough.
    """
    from scipy import sparse
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import SplineTransformer

    lengths, of_length = np.unique(x, return_inverse=True)
    cell = folds * len(lengths) + of_length  # of a fold and a length
    cells = sparse.csr_array((np.ones(len(x)), (cell, np.arange(len(x)))), shape=(N_FOLDS * len(lengths), len(x)))
    counts = np.bincount(cell, minlength=cells.shape[0]).reshape(N_FOLDS, -1)
    sums = np.asarray(cells @ y).reshape(N_FOLDS, len(lengths), -1)
    scores = []
    for fold in range(N_FOLDS):
        n, total = counts[fold], sums[fold]
        train = counts.sum(axis=0) - n
        knots = np.unique(np.quantile(x[folds != fold], np.linspace(0, 1, _KNOTS)))[:, None]
        if len(knots) < 2:
            continue  # one length: there is no curve
        basis = SplineTransformer(knots=knots, extrapolation="linear").fit_transform(lengths[:, None])
        means = (sums.sum(axis=0) - total) / np.maximum(train, 1)[:, None]
        curve = LinearRegression().fit(basis, means, sample_weight=train).predict(basis)
        squares = (y[folds == fold] ** 2).sum(axis=0)
        residual = squares - 2 * (curve * total).sum(axis=0) + (n[:, None] * curve**2).sum(axis=0)
        around_mean = squares - total.sum(axis=0) ** 2 / n.sum()
        if (around_mean > ROUNDING**2 * squares).all():  # else there is no variance to explain
            scores.append(1 - residual / around_mean)
    return np.mean(scores, axis=0) if scores else np.full(y.shape[1], math.nan)


def curve_interval(lengths: ArrayLike, norms: ArrayLike, clusters: NDArray[np.intp] | None = None) -> Interval:
    """The 95% interval of the curve's R², by drawing other sentences to test the same curves on (`Bootstrap`).

    Raises UndefinedFitError as `shape` does, and where there are over MOST_DRAWN groups of sentences to draw from.
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import SplineTransformer

    x, y = _checked(lengths, norms, clusters)
    clusters = np.arange(len(x)) if clusters is None else clusters
    if len(np.unique(clusters)) > MOST_DRAWN:
        raise UndefinedFitError(f"The interval of a curve is told of at most {MOST_DRAWN:,} sentences.")
    folds, predicted = folds_of(clusters), np.empty(len(x))
    for fold in range(N_FOLDS):
        train = folds != fold
        knots = np.unique(np.quantile(x[train], np.linspace(0, 1, _KNOTS)))[:, None]
        if len(knots) < 2:
            raise UndefinedFitError("Nearly all sentences have one length, and through that there is no curve.")
        basis = SplineTransformer(knots=knots, extrapolation="linear").fit_transform(x[:, None])
        predicted[~train] = LinearRegression().fit(basis[train], y[train]).predict(basis[~train])
    return Bootstrap(clusters).r_squared(y, predicted, folds)


def spread(
    x: Floats, y: Floats, clusters: NDArray[np.intp] | None = None, rounding: float = 0.0
) -> tuple[float, Interval]:
    """The ratio of the spreads of norms y (n,) at the two ends of the lengths x (n,), and its interval.

    The interval is that of its logarithm, by the jackknife. rounding: a standard deviation of norms that are the same.
    """
    low, high = np.quantile(x, [0.2, 0.8])
    ends = np.stack([x <= low, x >= high], axis=1).astype(float)
    if low == high or ends.sum(axis=0).min() < 3 or y[x >= high].std() <= rounding:
        return math.nan, _NONE
    moments = np.concatenate([ends, ends * y[:, None], ends * y[:, None] ** 2], axis=1)
    _, cluster = np.unique(np.arange(len(x)) if clusters is None else clusters, return_inverse=True)
    sums = np.stack([np.bincount(cluster, column) for column in moments.T], axis=1)
    sums = sums[sums[:, :2].any(axis=1)]  # clusters in the middle say nothing of the ends
    whole = sums.sum(axis=0)

    def ratio(sums: Floats) -> Floats:
        n, total, squares = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, 2), -2, 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # where without some cluster no such sentence is left
            variances = (squares - total**2 / n) / (n - 1)
            variances[variances <= rounding**2] = 0  # what is left of norms that are all the same
            ratios: Floats = np.sqrt(variances[..., 0] / variances[..., 1])
        return ratios

    found, without = float(ratio(whole)), ratio(whole - sums)
    if found == 0 and not without.any():
        return 0.0, (0.0, 0.0)
    if not (np.isfinite(without) & (without > 0)).all():  # what is left of some has no spread: they alone decide it
        return found, _NONE
    margin, _ = jackknife(np.log(without), np.ones(len(without)))
    with np.errstate(over="ignore"):
        wider = float(np.exp(margin))
    return found, (found / wider, found * wider)


def quantiles(lengths: ArrayLike, norms: ArrayLike, clusters: NDArray[np.intp] | None = None) -> Quantiles:
    """The curves of norms on lengths, both (n,), by quantile regression (Koenker and Bassett 1978).

    Those of the first 5,000 sentences, which are as random as all. Takes clusters, and raises UndefinedFitError, as
    `shape` does.
    """
    from scipy.optimize import linprog

    x, y = _checked(lengths, norms, clusters)
    x, y = x[:_MOST_FOR_QUANTILES], y[:_MOST_FOR_QUANTILES]
    centre, scale = y.mean(), y.std()
    terms = np.stack([np.ones_like(x), np.log(np.maximum(x, 1))])
    lines = {}
    for quantile in QUANTILES:  # the dual linear program, whose multipliers are the line (Koenker 2005, section 6.2)
        sums = (1 - quantile) * terms.sum(axis=1)
        solved = linprog((centre - y) / scale, A_eq=terms, b_eq=sums, bounds=(0, 1), method="highs")
        lines[quantile] = -solved.eqlin.marginals * scale
    slopes = {quantile: float(line[1]) for quantile, line in lines.items()}
    return Quantiles(slopes, {quantile: float(line[0] + centre) for quantile, line in lines.items()})


def _checked(lengths: ArrayLike, norms: ArrayLike, clusters: NDArray[np.intp] | None) -> tuple[Floats, Floats]:
    """The same as float64; raises UndefinedFitError where they have no shape."""
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    n_different = len(x) if clusters is None else len(np.unique(clusters))
    if n_different < FEW_SENTENCES:
        raise TooFewError(
            f"The shape of the relation takes at least {FEW_SENTENCES} different sentences to describe, and there are "
            f"{n_different}."
        )
    return x, y


def _information(x: Floats, y: Floats) -> tuple[float, float]:
    """Mutual information in nats, and what it stays below in 95 of 100 cases without any.

    By the first estimator of Kraskov, Stögbauer and Grassberger (2004), as scikit-learn's `mutual_info_regression` has
    it, noise against ties included, in a quarter of its time.
    """
    from scipy.spatial import KDTree
    from scipy.special import digamma

    n = len(x)
    noises = np.random.RandomState(0).standard_normal((2, n))
    x, y = (column / (column.std() or 1) for column in (x, y))
    noise, other = (1e-10 * max(1, np.abs(each).mean()) * drawn for each, drawn in zip((x, y), noises, strict=True))
    ys = np.sort(y := y + other)
    of_count = digamma(np.maximum(np.arange(n + 1), 1))  # counting is cheaper than the function

    def estimate(x: Floats) -> float:
        x = x + noise
        points = np.stack([x, y], axis=1)
        tree = KDTree(points, compact_nodes=False, balanced_tree=False)  # made sooner, and as soon asked
        distances, _ = tree.query(points, [_NEIGHBOURS + 1], p=math.inf)  # a point is the first of its own
        nearest = np.asarray(distances)[:, 0]
        of_counts = 0.0
        for each, ordered in ((x, np.sort(x)), (y, ys)):
            within = nearest - _ROUNDED * np.abs(each).max()
            counts = np.searchsorted(ordered, each + within, "right") - np.searchsorted(ordered, each - within)
            of_counts += float(of_count[counts].mean())
        return max(0.0, float(digamma(n) + digamma(_NEIGHBOURS)) - of_counts)

    random = np.random.default_rng(0)
    null = [estimate(random.permutation(x)) for _ in range(_PERMUTATIONS)]
    return estimate(x), float(np.quantile(null, 0.95))
