"""A smooth curve of norm on length, judged by sentences that it was not fitted to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clsviz.statistics import line as lines
from clsviz.statistics.intervals import N_FOLDS, Floats, check_different, folds

KNOTS = (0, 0.25, 0.5, 0.75, 1)  # quantiles of the lengths


@dataclass(frozen=True, eq=False)
class Curve:
    """A cubic regression spline of norm on length.

    r2: of held-out predictions in five folds, around the mean norm of each fold; below 0 where that
        mean is the better guess.
    line_r2: of a straight line's predictions in the same folds.
    is_significant: True if the curve stands out from chance: a line of the norms on their held-out
        predictions does, as a line on lengths would.
    knots, coefficients: of the spline through all sentences, as `spline` takes them.
    """

    r2: float
    line_r2: float
    is_significant: bool
    knots: Floats
    coefficients: Floats

    def predict(self, lengths: ArrayLike) -> Floats:
        """The norm on the curve at each length, float64 (n,)."""
        return spline(np.asarray(lengths, np.float64), self.knots) @ self.coefficients


def fit(
    lengths: ArrayLike, norms: ArrayLike, clusters: ArrayLike, groups: ArrayLike | None = None
) -> Curve:
    """Fit the curve through n sentences, and test it in folds that keep clusters together.

    lengths, norms, clusters, groups: (n,), as a line takes them. Raises Undefined where there are
    fewer than 100 clusters, or where the sentences determine no line.
    """
    x, y = np.asarray(lengths, np.float64), np.asarray(norms, np.float64)
    lines.check(x, y)
    check_different(clusters)
    height = y.mean()
    y = y - height  # some norms vary in their last digits only
    fold_of = folds(clusters)
    curve, line, mean = np.empty((3, len(x)))
    for fold in range(N_FOLDS):
        test, train = fold_of == fold, fold_of != fold
        knots = np.unique(np.quantile(x[train], KNOTS))
        basis, held_out = spline(x[train], knots), spline(x[test], knots)
        curve[test] = held_out @ np.linalg.lstsq(basis, y[train])[0]
        line[test] = held_out[:, :2] @ np.linalg.lstsq(basis[:, :2], y[train])[0]
        mean[test] = y[test].mean()
    r2, line_r2 = (1 - ((y - p) ** 2).sum() / ((y - mean) ** 2).sum() for p in (curve, line))
    knots = np.unique(np.quantile(x, KNOTS))
    coefficients = np.linalg.lstsq(spline(x, knots), y)[0]
    coefficients[0] += height  # of the constant
    is_significant = r2 > 0 and lines.fit(curve, y, clusters, groups).is_significant
    return Curve(float(r2), float(line_r2), bool(is_significant), knots, coefficients)


def spline(lengths: Floats, knots: Floats) -> Floats:
    """The basis of cubic splines that go on straight beyond the outer knots: float64 (n, k).

    Truncated powers of the lengths, scaled from 0 at the first knot to 1 at the last; the first two
    are those of a straight line.
    """
    start, width = knots[0], max(np.ptp(knots), 1)
    x = (lengths - start) / width
    u = np.clip(x, 0, 1)
    above = [np.maximum(u - knot, 0) for knot in (knots[1:-1] - start) / width]
    basis = np.stack([np.ones_like(u), u, u**2, u**3, *(a**3 for a in above)], axis=1)
    slopes = [np.zeros_like(u), np.ones_like(u), 2 * u, 3 * u**2, *(3 * a**2 for a in above)]
    result: Floats = basis + np.stack(slopes, axis=1) * (x - u)[:, None]
    return result
