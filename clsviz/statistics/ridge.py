"""How well a linear probe predicts the length of a sentence from its vector: cross-validated ridge regression."""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.statistics.intervals import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

N_FOLDS = 5


def folds_of(clusters: NDArray[np.intp], seed: int = 0) -> NDArray[np.intp]:
    """Assign each of n sentences to a fold: intp (n,), from 0 to N_FOLDS - 1.

    Sentences that are the same or nearly share a fold, so that no probe is tested on what it was trained on: clusters,
    intp (n,), says which these are. Raises UndefinedFitError if they are fewer than N_FOLDS.
    """
    from sklearn.model_selection import GroupKFold

    n_clusters = len(np.unique(clusters))
    if n_clusters < N_FOLDS:
        different = "All of these sentences are near-duplicates"
        if n_clusters != 1:
            different = f"These sentences are near-duplicates of only {n_clusters}"
        raise TooFewError(
            f"{different}; at least {N_FOLDS} must differ, because a probe is tested on sentences it has not seen."
        )
    folds = np.empty(len(clusters), np.intp)
    splits = GroupKFold(N_FOLDS, shuffle=True, random_state=seed).split(clusters, groups=clusters)
    for fold, (_, held_out) in enumerate(splits):
        folds[held_out] = fold
    return folds


@dataclass(frozen=True, eq=False)
class Probe:
    """What cross-validated probes predict of the lengths of n sentences.

    r_squared: mean over the folds; below 0 where the mean length would have been a better guess.
    fold_r_squared: R² on the held-out sentences of each fold. A fold is left out if its lengths are all the same (or
        if it holds one sentence), as there is no variance to explain.
    predictions: float64 (n,), each length as predicted by the probe that did not see the sentence.
    error: mean absolute difference between predictions and lengths, in the unit of the lengths.
    strengths: the ridge penalty chosen in each fold.
    """

    r_squared: float
    fold_r_squared: tuple[float, ...]
    predictions: Floats
    error: float
    strengths: tuple[float, ...]


STRENGTHS = (*np.logspace(-3, 6, 19).tolist(), math.inf)
"""Ridge penalties to choose from, for vectors whose every dimension is scaled to a variance of 1.

The last predicts the mean length of whoever was trained on, and is the best where vectors tell nothing.
"""

_FEWEST_FOLDS = 3
"""One to test on, one to choose the penalty on, one to train on."""

_CONSTANT = 1e-6
"""A spread below this fraction of the size is rounding: float32 vectors carry relative errors near 1e-7."""

_CANCELLED = 1e-6
"""A variance computed as a difference has lost too many digits below this fraction of what it was computed from."""


def ridge_probe(vectors: ArrayLike, lengths: ArrayLike, folds: NDArray[np.intp]) -> Probe:
    """Predict lengths (n,) from vectors (n, width) by ridge regression, each fold by a probe of the others.

    Scaling and penalty are chosen on the training sentences alone: the penalty by cross-validation between the other
    folds, so that sentences that are the same or nearly are kept apart there as well. (Generalised cross-validation
    takes copies for new sentences, and almost no penalty where about as many sentences are trained on as the vectors
    have dimensions.) folds: intp (n,), from `folds_of`. Raises UndefinedFitError where the vectors or the lengths allow
    no probe, or no test of one.
    """
    from sklearn.metrics import r2_score

    y = np.asarray(lengths, dtype=float)
    explain_untestable_lengths(y, folds)
    # more threads gain little on matrices this small, and stall on busy cores
    with blas_threads().limit(limits=1, user_api="blas"):
        ridges = _Ridges(np.asarray(vectors), y, folds)
        errors = {fold: np.zeros(len(STRENGTHS)) for fold in ridges.rows}
        for one, other in itertools.combinations(ridges.rows, 2):  # without them it serves for either
            predict = ridges.without(one, other)
            for held_out, tested in ((one, other), (other, one)):
                errors[held_out] += _squared_errors(predict(tested), y[ridges.rows[tested]])
        predictions, strengths, scores = np.empty(len(y)), [], []
        for fold, rows in ridges.rows.items():
            best = int(np.argmin(errors[fold]))
            predictions[rows] = ridges.without(fold)(fold)[:, best]
            strengths.append(STRENGTHS[best])
            if np.ptp(y[rows]) > 0:
                scores.append(float(r2_score(y[rows], predictions[rows])))
    error = float(np.abs(predictions - y).mean())
    return Probe(float(np.mean(scores)), tuple(scores), predictions, error, tuple(strengths))


def ridge_predict(vectors: ArrayLike, lengths: ArrayLike, folds: NDArray[np.intp], held_out: int) -> Floats:
    """The lengths of the sentences of one fold as a probe of the others predicts them, float64 (n_held_out,).

    vectors (n, width), lengths (n,) and folds (n,) are of all sentences; otherwise as in `ridge_probe`. Raises
    UndefinedFitError where the vectors do not vary.
    """
    y = np.asarray(lengths, dtype=float)
    with blas_threads().limit(limits=1, user_api="blas"):
        ridges = _Ridges(np.asarray(vectors), y, folds)
        errors = np.zeros(len(STRENGTHS))
        for inner in ridges.rows:
            if inner != held_out:
                errors += _squared_errors(ridges.without(held_out, inner)(inner), y[ridges.rows[inner]])
        predicted: Floats = ridges.without(held_out)(held_out)[:, int(np.argmin(errors))]
    return predicted


def _squared_errors(predictions: Floats, lengths: Floats) -> Floats:
    """Of predictions (n, strengths), summed over the sentences."""
    errors: Floats = ((predictions - lengths[:, None]) ** 2).sum(axis=0)
    return errors


@functools.cache
def blas_threads() -> "ThreadpoolController":
    """What sets the number of threads of numpy's and scipy's BLAS; to find them takes some 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def guess_error(lengths: ArrayLike, folds: NDArray[np.intp]) -> float:
    """Mean absolute error of guessing, for each fold, the mean length of the others; NaN where there is no other."""
    y = np.asarray(lengths, dtype=float)
    if len(np.unique(folds)) < 2:
        return math.nan
    return float(np.mean(np.concatenate([np.abs(y[folds == f] - y[folds != f].mean()) for f in np.unique(folds)])))


def unit(vectors: ArrayLike) -> Floats:
    """The directions of vectors (n, width), float64: each vector divided by its norm; zero vectors stay zero."""
    x = np.asarray(vectors, dtype=float)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    directions: Floats = np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)
    return directions


def explain_untestable_lengths(lengths: Floats, folds: NDArray[np.intp]) -> None:
    """Raise UndefinedFitError, saying why, where these lengths cannot tell a good probe from a bad one."""
    n = len(lengths)
    if n < 2 * N_FOLDS:
        there = "are none" if not n else "is only 1" if n == 1 else f"are only {n}"
        raise TooFewError(f"A probe needs at least {2 * N_FOLDS} sentences, and there {there}.")
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {n:,} sentences have the same length, so there is nothing to predict.")
    if len(np.unique(folds)) < _FEWEST_FOLDS:
        raise TooFewError("All sentences are in one or two folds, so no probe can be trained and tested.")
    if all(np.ptp(lengths[folds == fold]) == 0 for fold in np.unique(folds)):
        raise TooFewError("Within every fold all sentences have the same length, so no probe can be tested.")


def explain_constant_vectors(vectors: NDArray[np.floating]) -> None:
    """Raise UndefinedFitError where vectors (n, width) are not finite or do not vary."""
    centre = vectors.mean(axis=0, dtype=float)
    _explain_constant(((vectors - centre) ** 2).mean(axis=0), centre)


def _explain_constant(variances: Floats, centre: Floats) -> None:
    variance, size = float(variances.sum()), float(centre @ centre)
    if not np.isfinite(variance):
        raise UndefinedFitError("The vectors hold numbers that are not finite, so they predict nothing.")
    if variance <= _CONSTANT**2 * (size + variance):
        raise UndefinedFitError("The vector is the same for all sentences, so length cannot be predicted from it.")


class _Ridges:
    """Ridge regressions of lengths (n,) on vectors (n, width), each trained without some of the folds.

    rows: which sentences each fold has. Where there are more of them than dimensions, a regression is solved from sums
    and sums of products, which are taken once for each fold and added up for each regression.
    """

    def __init__(self, vectors: NDArray[np.floating], lengths: Floats, folds: NDArray[np.intp]) -> None:
        self._lengths = lengths
        self._centre = vectors.mean(axis=0, dtype=float)
        self._x = vectors - self._centre  # once, in float64: a large offset would cost digits in the sums of squares
        self._variances = (self._x**2).mean(axis=0)
        _explain_constant(self._variances, self._centre)
        self.rows = {int(fold): np.flatnonzero(folds == fold) for fold in np.unique(folds)}
        self._sums: dict[int, tuple[Floats, Floats, Floats]] = {}
        if len(lengths) > vectors.shape[1]:
            for fold, rows in self.rows.items():
                x = self._x[rows]
                self._sums[fold] = x.sum(axis=0), x.T @ x, x.T @ lengths[rows]

    def without(self, *left_out: int) -> Callable[[int], Floats]:
        """Train on the other folds; gives what predicts the lengths of a fold, (n_fold, strengths)."""
        used = [fold for fold in self.rows if fold not in left_out]
        rows = np.concatenate([self.rows[fold] for fold in used])
        n, mean_length = len(rows), self._lengths[rows].mean()
        if n > self._x.shape[1]:
            total, gram, right = (sum(sums) for sums in zip(*(self._sums[fold] for fold in used), strict=True))
            mean = total / n
            gram -= n * np.outer(mean, mean)
            weights = self._scales(np.diag(gram) / n, mean)
            right -= n * mean_length * mean
            slopes = _solve(gram * weights[:, None] * weights, weights * right)
        else:  # the products of sentences make a smaller matrix with the same nonzero eigenvalues
            trained = self._x[rows]
            mean = trained.mean(axis=0)
            trained -= mean
            weights = self._scales((trained**2).mean(axis=0), mean)
            trained *= weights
            slopes = trained.T @ _solve(trained @ trained.T, self._lengths[rows] - mean_length)
        slopes *= weights[:, None]
        return lambda fold: mean_length + (self._x[self.rows[fold]] - mean) @ slopes

    def _scales(self, variances: Floats, mean: Floats) -> Floats:
        """The factors that scale the dimensions to a variance of 1; 0 where a dimension varies by rounding alone.

        StandardScaler leaves such a dimension unscaled; as it is 0 throughout once centred, it predicts nothing there
        either.
        """
        rounding = np.maximum(_CONSTANT**2 * (self._centre + mean) ** 2, _CANCELLED * self._variances)
        varies = variances > rounding
        return np.divide(1, np.sqrt(np.where(varies, variances, 1)), out=np.zeros_like(variances), where=varies)


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solve (matrix + strength * identity) @ solution = right for every strength, for a symmetric matrix (k, k).

    Gives the solutions (k, strengths). Reducing the matrix to three diagonals by Householder reflections serves as well
    as diagonalising it, in a third of the time.
    """
    from scipy.linalg import lapack

    finite, none = STRENGTHS[:-1], np.zeros((len(matrix), 1))
    if len(matrix) == 1:
        return np.hstack([right[:, None] / (matrix + np.array(finite)), none])
    work = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    reflected, diagonal, off_diagonal, factors, _ = lapack.dsytrd(matrix, lower=1, lwork=work)
    reflections = np.asfortranarray(reflected[1:, :-1])  # below the first row, in the layout of a QR decomposition

    def reflect(columns: Floats, transpose: str) -> Floats:
        turned = columns.copy()
        turned[1:] = lapack.dormqr("L", transpose, reflections, factors, columns[1:], 64 * len(matrix))[0]
        return turned

    turned = reflect(right[:, None], "T")
    solutions = [lapack.dptsv(diagonal + strength, off_diagonal, turned)[2] for strength in finite]
    return np.hstack([reflect(np.hstack(solutions), "N"), none])
