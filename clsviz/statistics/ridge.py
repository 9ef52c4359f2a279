"""How well a linear probe predicts lengths: ridge regression, on sentences it was not fitted to."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import threadpoolctl
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.intervals import (
    CONSTANT,
    LARGER,
    N_FOLDS,
    OTHER,
    Floats,
    Interval,
    clusterings,
    middle,
    resample,
)

# Candidates, for dimensions of variance 1; the infinite one predicts the mean length.
PENALTIES = np.array([*np.logspace(-3, 6, 19), np.inf])
CANCELLED = 1e-9  # a variance that is less of the sums it is the difference of has no digits


def predict(vectors: ArrayLike, targets: ArrayLike, fold_of: NDArray[np.intp]) -> Floats:
    """Targets of n sentences as ridge regressions on the other folds predict them: float64 (n, m).

    vectors: (n, width). targets: (n, m), such as lengths. fold_of: (n,), from `intervals.folds`,
    which keeps near-duplicates together; the penalty of each target is chosen by the same folds,
    of those that the regression is fitted to, and dimensions are scaled on these alone.
    Raises Undefined where the vectors or a target do not vary, or are not finite.
    """
    x, y = np.asarray(vectors), np.asarray(targets, np.float64)
    centre = x.mean(axis=0, dtype=np.float64)
    _check(x, y, centre)
    rows = [np.flatnonzero(fold_of == fold) for fold in range(N_FOLDS)]
    parts = [np.hstack([np.ones((len(own), 1)), x[own] - centre, y[own]]) for own in rows]
    with threadpoolctl.threadpool_limits(1, user_api="blas"):  # more of them wait for each other
        moments = np.stack([part.T @ part for part in parts])
        errors = np.zeros((N_FOLDS, y.shape[1], len(PENALTIES)))
        for pair in combinations(range(N_FOLDS), 2):  # inner folds: each serves two outer ones
            predictions = _predictions(parts, moments, centre, pair)
            for test, outer in (pair, pair[::-1]):
                squares = (predictions[test] - y[rows[test], :, None]) ** 2
                errors[outer] += squares.sum(axis=0)
        result = np.empty(y.shape)
        for fold in range(N_FOLDS):
            predicted = _predictions(parts, moments, centre, (fold,))[fold]
            best = errors[fold].argmin(axis=1)
            result[rows[fold]] = predicted[:, np.arange(y.shape[1]), best]
    return result


def predict_by_line(norms: ArrayLike, lengths: ArrayLike, fold_of: NDArray[np.intp]) -> Floats:
    """The lengths (n,) as lines of length on norm through the other folds predict them."""
    x, y = np.asarray(norms, np.float64), np.asarray(lengths, np.float64)
    predictions = np.empty_like(y)
    for fold in range(N_FOLDS):
        test, train = fold_of == fold, fold_of != fold
        degree = int(np.ptp(x[train]) > 0)  # norms may all be the same
        predictions[test] = np.polynomial.Polynomial.fit(x[train], y[train], degree)(x[test])
    return predictions


def guess(lengths: ArrayLike, fold_of: NDArray[np.intp]) -> Floats:
    """The mean length of the other folds, for each of n sentences: float64 (n,)."""
    y = np.asarray(lengths, np.float64)
    return np.array([y[fold_of != fold].mean() for fold in range(N_FOLDS)])[fold_of]


def score(targets: Floats, predictions: Floats) -> tuple[float, float]:
    """R² and the mean absolute error of predictions (n,), or their means for m targets (n, m).

    R² is 1 minus the sum of squared errors over that around the mean; below 0 where the mean is the
    better guess.
    """
    errors = predictions - targets
    r2s = 1 - (errors**2).mean(axis=0) / targets.var(axis=0)
    return float(np.mean(r2s)), float(abs(errors).mean())


def r2_interval(
    lengths: Floats, predictions: Floats, clusters: ArrayLike, groups: ArrayLike | None = None
) -> Interval:
    """The interval of R² of predictions of n lengths; each argument is (n,).

    clusters, groups: as `clusterings` takes them. The same draws serve all predictions.
    """
    u = lengths - lengths.mean()
    columns = [np.ones_like(u), u, u * u, (predictions - lengths) ** 2]
    intervals = []
    for numbers in clusterings(clusters, groups):
        n, su, suu, squares = resample(columns, numbers)
        with np.errstate(divide="ignore", invalid="ignore"):  # a draw may have one length alone
            intervals.append(middle(1 - squares / (suu - su * su / n)))
    return max(intervals, key=np.ptp)


def _check(vectors: NDArray[np.floating], targets: Floats, centre: Floats) -> None:
    """Raise Undefined where no dimension varies by more than rounding, or a target does not."""
    if not np.ptp(targets, axis=0).all():
        raise Undefined(f"All {len(targets):,} sentences have the same length.", LARGER)
    if not np.isfinite(centre).all():
        raise Undefined("Some vectors are not finite numbers.", OTHER)
    if not (vectors.std(axis=0, dtype=np.float64) > CONSTANT * abs(centre)).any():
        raise Undefined("The vector is the same for all sentences, up to rounding.", OTHER)


def _predictions(
    parts: Sequence[Floats], moments: Floats, centre: Floats, held_out: Sequence[int]
) -> dict[int, Floats]:
    """Targets of each fold held out, by every penalty (n, m, n_penalties), from the others.

    parts: by fold, (n, 1 + width + m), of 1, vectors less the centre (width,), and targets.
    moments: (n_folds, 1 + width + m, 1 + width + m), sums of their products.
    """
    train = [fold for fold in range(N_FOLDS) if fold not in held_out]
    width = len(centre)
    total = moments[train].sum(axis=0)
    n, means = total[0, 0], total[0] / total[0, 0]
    products = (total - n * np.outer(means, means))[1:]
    mean, mean_target = means[1 : width + 1], means[width + 1 :]
    gram, relevant = products[:width, 1 : width + 1], products[:width, width + 1 :]
    variances = np.diag(gram) / n
    rounding = (CONSTANT * (centre + mean)) ** 2 + CANCELLED * (variances + mean**2)
    varies = variances > rounding
    scales = np.where(varies, 1 / np.sqrt(np.where(varies, variances, 1)), 0)
    if n > width:
        values, basis = np.linalg.eigh(gram * scales[:, None] * scales)
        projected = basis.T @ (scales[:, None] * relevant)
    else:  # products of sentences make the smaller matrix, of the same eigenvalues
        rows = np.vstack([parts[fold] for fold in train]) - means
        x = rows[:, 1 : width + 1] * scales
        values, vectors = np.linalg.eigh(x @ x.T)
        basis = x.T @ vectors
        projected = vectors.T @ rows[:, width + 1 :]
    shrunk = projected[..., None] / (np.maximum(values, 0)[:, None, None] + PENALTIES)
    slopes = scales[:, None] * (basis @ shrunk.reshape(len(shrunk), -1))
    shape = -1, len(mean_target), len(PENALTIES)
    return {
        fold: mean_target[:, None]
        + ((parts[fold][:, 1 : width + 1] - mean) @ slopes).reshape(shape)
        for fold in held_out
    }
