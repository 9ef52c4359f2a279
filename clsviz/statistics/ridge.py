"""How well a linear probe reads the length of a sentence from its vector: cross-validated ridge regression."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.linalg import lapack
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from clsviz.errors import UndefinedFitError
from clsviz.statistics.folds import N_FOLDS

Floats = NDArray[np.float64]


STRENGTHS = tuple(float(strength) for strength in np.logspace(-3, 6, 19))
"""Ridge penalties that are tried, on vectors whose every dimension is scaled to a variance of 1."""


_CONSTANT = 1e-6
"""A spread below this share of the size is rounding: float32 vectors carry relative errors of some 1e-7."""


_CANCELLED = 1e-6
"""A variance below this share of the one it was computed from, as a difference, has lost too many digits to it."""


@dataclass(frozen=True, eq=False)
class Probe:
    """What cross-validated probes read of the length of n sentences.

    r_squared: mean over the folds; below 0 where the mean length would have been the better guess.
    fold_r_squared: of the held-out sentences of each fold, those left out whose lengths are all the same (or that hold
        one sentence): there is no variance to explain.
    predictions: float64 (n,), lengths in tokens, each read by the probe that did not see the sentence.
    strengths: the ridge penalty of each fold.
    """

    r_squared: float
    fold_r_squared: tuple[float, ...]
    predictions: Floats
    strengths: tuple[float, ...]


def ridge_probe(vectors: ArrayLike, lengths: ArrayLike, folds: NDArray[np.intp]) -> Probe:
    """Read lengths (n,) from vectors (n, width) by ridge regression, fold by fold, each from the other folds.

    Scaling and penalty are found on the training sentences alone: the penalty by generalised cross-validation (Golub,
    Heath and Wahba 1979). Raises UndefinedFitError where nothing can be read, or not told.
    """
    y, x = np.asarray(lengths, dtype=float), np.asarray(vectors)
    _explain_unreadable_lengths(y, folds)
    with threadpool_limits(1, "blas"):  # several threads gain little on matrices this small, and wait on busy cores
        return _probe(x, y, folds)


def _probe(vectors: NDArray[np.floating], y: Floats, folds: NDArray[np.intp]) -> Probe:
    centre = vectors.mean(axis=0, dtype=float)
    x = vectors - centre  # once, in float64: large offsets would cost digits in the sums of squares
    gram = x.T @ x
    _explain_unreadable_vectors(gram, centre, len(x))
    predictions, strengths, scores = np.empty(len(y)), [], []
    for fold in np.unique(folds):
        held_out = folds == fold
        predictions[held_out], strength = _read_fold(x, y, held_out, gram, centre)
        strengths.append(strength)
        if np.ptp(y[held_out]) > 0:
            scores.append(float(r2_score(y[held_out], predictions[held_out])))
    return Probe(float(np.mean(scores)), tuple(scores), predictions, tuple(strengths))


def unit(vectors: ArrayLike) -> Floats:
    """The directions of vectors (n, width): each divided by its norm, float64; those of norm 0 stay 0."""
    x = np.asarray(vectors, dtype=float)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    directions: Floats = np.divide(x, norms, out=np.zeros_like(x), where=norms > 0)
    return directions


def _explain_unreadable_lengths(lengths: Floats, folds: NDArray[np.intp]) -> None:
    """Raise UndefinedFitError with the reason where these lengths cannot tell a good probe from a bad one."""
    n = len(lengths)
    if n < 2 * N_FOLDS:
        raise UndefinedFitError(
            f"A probe needs at least {2 * N_FOLDS} sentences; here are {n}. Raise the length cutoff, or take more."
        )
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {n:,} sentences are of the same length: there is nothing to read.")
    if len(np.unique(folds)) < 2:
        raise UndefinedFitError("All sentences are in one fold, so no probe can be tested. Take more sentences.")
    if all(np.ptp(lengths[folds == fold]) == 0 for fold in np.unique(folds)):
        raise UndefinedFitError("In every fold all sentences are of one length: no probe can be tested. Take more.")


def _explain_unreadable_vectors(gram: Floats, centre: Floats, n: int) -> None:
    """Raise UndefinedFitError with the reason where nothing can be read from vectors of this Gram matrix and mean."""
    variance, size = np.trace(gram) / n, float(centre @ centre)
    if not np.isfinite(variance):
        raise UndefinedFitError("The vector holds numbers that are not finite, so nothing can be read from it.")
    if variance <= _CONSTANT**2 * (size + variance):
        raise UndefinedFitError("The vector is the same for all sentences, so nothing can be read from it.")


def _read_fold(x: Floats, y: Floats, held_out: NDArray[np.bool_], gram: Floats, centre: Floats) -> tuple[Floats, float]:
    """Lengths of the held-out sentences, as a probe of the others reads them, and its ridge penalty.

    x: all vectors less their mean `centre`. gram: x.T @ x, of which that of the training sentences is what the held-out
    ones leave.
    """
    tested, n = x[held_out], len(x) - int(np.count_nonzero(held_out))
    mean, mean_length = -tested.sum(axis=0) / n, y[~held_out].mean()  # the sum of all x is 0
    deviations = np.where(held_out, 0, y - mean_length)
    if n > x.shape[1]:
        inner = gram - tested.T @ tested - n * np.outer(mean, mean)
        weights = _scales(np.diag(inner) / n, np.diag(gram) / n, centre + mean)
        values, slopes = _solve(inner * weights[:, None] * weights, weights * (x.T @ deviations))
    else:  # the products of the sentences make a smaller matrix, of the same spectrum
        trained = x[~held_out] - mean
        weights = _scales((trained**2).mean(axis=0), np.diag(gram) / n, centre + mean)
        trained *= weights
        values, shares = _solve(trained @ trained.T, deviations[~held_out])
        slopes = trained.T @ shares
    slopes *= weights[:, None]
    read = x @ slopes - mean @ slopes  # (all sentences, strengths)
    residuals = deviations[~held_out, None] - read[~held_out]
    best = int(np.argmin(_generalised_errors(values, residuals)))
    return mean_length + read[held_out, best], STRENGTHS[best]


def _scales(variances: Floats, before: Floats, means: Floats) -> Floats:
    """What the dimensions are multiplied by to have a variance of 1; 0 where they vary by rounding alone.

    StandardScaler leaves dimensions that do not vary as they are, and as they are then 0 throughout, nothing is read
    from them either. before: the variances from which `variances` were computed by taking the held-out ones away.
    """
    varies = variances > np.maximum(_CONSTANT**2 * means**2, _CANCELLED * before)
    return np.divide(1, np.sqrt(np.where(varies, variances, 1)), out=np.zeros_like(variances), where=varies)


def _solve(matrix: Floats, right: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of a symmetric matrix (k, k) that are not 0 but for rounding, and solutions (k, strengths).

    Solved is (matrix + strength) @ solution = right for every strength. Reduced to three diagonals by Householder's
    reflections, the matrix is as good as diagonal for that, at a third of the time that its eigenvectors take.
    """
    if len(matrix) == 1:
        return matrix[matrix > 0], right[:, None] / (matrix + np.array(STRENGTHS))
    work = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
    reflected, diagonal, beside, factors, _ = lapack.dsytrd(matrix, lower=1, lwork=work)
    reflections = np.asfortranarray(reflected[1:, :-1])  # below the first row, as a QR decomposition keeps them

    def reflect(columns: Floats, how: str) -> Floats:
        turned = columns.copy()
        turned[1:] = lapack.dormqr("L", how, reflections, factors, columns[1:], 64 * len(matrix))[0]
        return turned

    values = linalg.eigvalsh_tridiagonal(diagonal, beside, check_finite=False)
    turned = reflect(right[:, None], "T")
    solutions = [lapack.dptsv(diagonal + strength, beside, turned)[2] for strength in STRENGTHS]
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    return values[kept], reflect(np.hstack(solutions), "N")


def _generalised_errors(values: Floats, residuals: Floats) -> Floats:
    """The generalised cross-validation error of each strength: n |residual|² / (n - trace of the hat matrix)².

    values: eigenvalues of the products of the n standardised training vectors. residuals: of their lengths, (n,
    strengths). One more dimension than the values say goes to the mean length.
    """
    n = len(residuals)
    traces = [1 + (values / (values + strength)).sum() for strength in STRENGTHS]
    errors: Floats = n * (residuals**2).sum(axis=0) / (n - np.array(traces)) ** 2
    return errors
