"""How well a linear probe predicts the length of a sentence from its vector: cross-validated ridge regression."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics.intervals import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

N_FOLDS = 5


def folds_of(sentences: Sequence[str], seed: int = 0) -> NDArray[np.intp]:
    """Assign each of n sentences to a fold: intp (n,), from 0 to N_FOLDS - 1.

    Sentences that are the same or nearly share a fold (`clusters_of`), so that no probe is tested on what it
    was trained on. Raises UndefinedFitError if they are fewer than N_FOLDS clusters.
    """
    return folds_of_clusters(clusters_of(sentences), seed)


def folds_of_clusters(clusters: NDArray[np.intp], seed: int = 0) -> NDArray[np.intp]:
    """As `folds_of`, of sentences whose clusters (n,) are known."""
    from sklearn.model_selection import GroupKFold

    n_clusters = len(np.unique(clusters))
    if n_clusters < N_FOLDS:
        different = "All of these sentences are alike but for a few words"
        if n_clusters != 1:
            different = f"Only {n_clusters} of these sentences differ by more than a few words"
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


STRENGTHS = tuple(float(strength) for strength in np.logspace(-3, 6, 19))
"""Ridge penalties to choose from, for vectors whose every dimension is scaled to a variance of 1."""

_CONSTANT = 1e-6
"""A spread below this fraction of the size is rounding: float32 vectors carry relative errors near 1e-7."""

_CANCELLED = 1e-6
"""A variance computed as a difference has lost too many digits below this fraction of what it was computed from."""


def ridge_probe(vectors: ArrayLike, lengths: ArrayLike, folds: NDArray[np.intp]) -> Probe:
    """Predict lengths (n,) from vectors (n, width) by ridge regression, each fold by a probe of the others.

    Scaling and penalty are chosen on the training sentences alone, the penalty by generalised cross-validation (Golub,
    Heath and Wahba 1979). folds: intp (n,), from `folds_of`. Raises UndefinedFitError where the vectors or the lengths
    allow no probe, or no test of one.
    """
    y, x = np.asarray(lengths, dtype=float), np.asarray(vectors)
    explain_untestable_lengths(y, folds)
    with blas_threads().limit(
        limits=1, user_api="blas"
    ):  # more threads gain little on matrices this small, and stall on busy cores
        return _probe(x, y, folds)


def ridge_predict(vectors: ArrayLike, lengths: ArrayLike, held_out: NDArray[np.bool_]) -> Floats:
    """The lengths of held-out sentences as a probe of the others predicts them, float64 (n_held_out,).

    vectors (n, width), lengths (n,) and held_out (n,) are of all sentences; otherwise as in `ridge_probe`. Raises
    UndefinedFitError where the vectors do not vary.
    """
    y, vectors = np.asarray(lengths, dtype=float), np.asarray(vectors)
    with blas_threads().limit(limits=1, user_api="blas"):
        x, gram, centre = _centred(vectors)
        return _predict_fold(x, y, held_out, gram, centre)[0]


@functools.cache
def blas_threads() -> "ThreadpoolController":
    """What sets the number of threads of numpy's and scipy's BLAS; to find them takes some 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _probe(vectors: NDArray[np.floating], y: Floats, folds: NDArray[np.intp]) -> Probe:
    from sklearn.metrics import r2_score

    x, gram, centre = _centred(vectors)
    predictions, strengths, scores = np.empty(len(y)), [], []
    for fold in np.unique(folds):
        held_out = folds == fold
        predictions[held_out], strength = _predict_fold(x, y, held_out, gram, centre)
        strengths.append(strength)
        if np.ptp(y[held_out]) > 0:
            scores.append(float(r2_score(y[held_out], predictions[held_out])))
    error = float(np.abs(predictions - y).mean())
    return Probe(float(np.mean(scores)), tuple(scores), predictions, error, tuple(strengths))


def guess_error(lengths: ArrayLike, folds: NDArray[np.intp]) -> float:
    """Mean absolute error of guessing, for each fold, the mean length of the others; NaN where there is no other."""
    y = np.asarray(lengths, dtype=float)
    if len(np.unique(folds)) < 2:
        return math.nan
    return float(np.mean(np.concatenate([np.abs(y[folds == f] - y[folds != f].mean()) for f in np.unique(folds)])))


def _centred(vectors: NDArray[np.floating]) -> tuple[Floats, Floats, Floats]:
    """The vectors minus their mean, their Gram matrix and the mean; raises UndefinedFitError where they do not vary."""
    centre = vectors.mean(axis=0, dtype=float)
    x = vectors - centre  # once, in float64: a large offset would cost digits in the sums of squares
    gram = x.T @ x
    _explain_constant_vectors(gram, centre, len(x))
    return x, gram, centre


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
    if len(np.unique(folds)) < 2:
        raise TooFewError("All sentences are in one fold, so no probe can be tested.")
    if all(np.ptp(lengths[folds == fold]) == 0 for fold in np.unique(folds)):
        raise TooFewError("Within every fold all sentences have the same length, so no probe can be tested.")


def explain_constant_vectors(vectors: NDArray[np.floating]) -> None:
    """Raise UndefinedFitError where vectors (n, width) are not finite or do not vary."""
    _centred(vectors)


def _explain_constant_vectors(gram: Floats, centre: Floats, n: int) -> None:
    """Raise UndefinedFitError where n vectors with this Gram matrix and mean are not finite or do not vary."""
    variance, size = np.trace(gram) / n, float(centre @ centre)
    if not np.isfinite(variance):
        raise UndefinedFitError("The vectors hold numbers that are not finite, so they predict nothing.")
    if variance <= _CONSTANT**2 * (size + variance):
        raise UndefinedFitError("The vector is the same for all sentences, so length cannot be predicted from it.")


def _predict_fold(
    x: Floats, y: Floats, held_out: NDArray[np.bool_], gram: Floats, centre: Floats
) -> tuple[Floats, float]:
    """The lengths of the held-out sentences, predicted by a probe trained on the others, and its ridge penalty.

    x: all vectors minus their mean `centre`. gram: x.T @ x; the held-out sentences are subtracted from it.
    """
    tested, n = x[held_out], len(x) - int(np.count_nonzero(held_out))
    mean, mean_length = -tested.sum(axis=0) / n, y[~held_out].mean()  # the sum of all x is 0
    deviations = np.where(held_out, 0, y - mean_length)
    if n > x.shape[1]:
        inner = gram - tested.T @ tested - n * np.outer(mean, mean)
        weights = _scales(np.diag(inner) / n, np.diag(gram) / n, centre + mean)
        values, slopes = _solve(inner * weights[:, None] * weights, weights * (x.T @ deviations))
    else:  # the products of sentences make a smaller matrix with the same nonzero eigenvalues
        trained = x[~held_out] - mean
        weights = _scales((trained**2).mean(axis=0), np.diag(gram) / n, centre + mean)
        trained *= weights
        values, shares = _solve(trained @ trained.T, deviations[~held_out])
        slopes = trained.T @ shares
    slopes *= weights[:, None]
    predicted = x @ slopes - mean @ slopes  # (all sentences, strengths)
    residuals = deviations[~held_out, None] - predicted[~held_out]
    best = int(np.argmin(_generalised_errors(values, residuals)))
    return mean_length + predicted[held_out, best], STRENGTHS[best]


def _scales(variances: Floats, before: Floats, means: Floats) -> Floats:
    """The factors that scale the dimensions to a variance of 1; 0 where a dimension varies by rounding alone.

    StandardScaler leaves such a dimension unscaled; as it is 0 throughout once centred, it predicts nothing there
    either. before: the variances that `variances` were computed from, by subtracting the held-out sentences.
    """
    varies = variances > np.maximum(_CONSTANT**2 * means**2, _CANCELLED * before)
    return np.divide(1, np.sqrt(np.where(varies, variances, 1)), out=np.zeros_like(variances), where=varies)


def _solve(matrix: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solve (matrix + strength * identity) @ solution = right for every strength, for a symmetric matrix (k, k).

    Gives the eigenvalues that are not 0 up to rounding, and the solutions (k, strengths). Reducing the matrix to three
    diagonals by Householder reflections serves as well as diagonalising it, in a third of the time.
    """
    from scipy import linalg
    from scipy.linalg import lapack

    if len(matrix) == 1:
        return matrix[matrix > 0], right[:, None] / (matrix + np.array(STRENGTHS))
    work = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    reflected, diagonal, off_diagonal, factors, _ = lapack.dsytrd(matrix, lower=1, lwork=work)
    reflections = np.asfortranarray(reflected[1:, :-1])  # below the first row, in the layout of a QR decomposition

    def reflect(columns: Floats, transpose: str) -> Floats:
        turned = columns.copy()
        turned[1:] = lapack.dormqr("L", transpose, reflections, factors, columns[1:], 64 * len(matrix))[0]
        return turned

    values = linalg.eigvalsh_tridiagonal(diagonal, off_diagonal, check_finite=False)
    turned = reflect(right[:, None], "T")
    solutions = [lapack.dptsv(diagonal + strength, off_diagonal, turned)[2] for strength in STRENGTHS]
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    return values[kept], reflect(np.hstack(solutions), "N")


def _generalised_errors(values: Floats, residuals: Floats) -> Floats:
    """The generalised cross-validation error of each strength: n |residual|² / (n - trace of the hat matrix)².

    values: eigenvalues of the Gram matrix of the n standardised training vectors. residuals: of the training lengths,
    (n, strengths). The mean length takes one more degree of freedom than the values show.
    """
    n = len(residuals)
    traces = [1 + (values / (values + strength)).sum() for strength in STRENGTHS]
    errors: Floats = n * (residuals**2).sum(axis=0) / (n - np.array(traces)) ** 2
    return errors
