"""What taking the length out of vectors leaves: for a linear probe, for a nonlinear one, and among neighbours."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel

from clsviz.errors import UndefinedFitError
from clsviz.statistics.directions import N_NEIGHBOURS, directions_of, neighbours
from clsviz.statistics.leace import leace
from clsviz.statistics.length_bias import neighbour_correlation
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.results.erasure import AFTER, BEFORE, CONTROL, MOST_SENTENCES, Erasure, Left
from clsviz.statistics.ridge import blas_threads, explain_constant_vectors, explain_untestable_lengths, ridge_predict

Floats = NDArray[np.float64]


_KERNEL_SCALE = 0.3
"""Times the squared distance of two standardised vectors over their width, which is 2 on average."""


_PENALTIES = (0.01, 0.1, 1.0)


def erasure(vectors: NDArray[np.floating], lengths: Sequence[float], folds: NDArray[np.intp]) -> Iterator[Erasure]:
    """Erase the length from vectors (n, width), fold by fold: yields what is known after each.

    The eraser (`leace`), like the probes, is fitted on the sentences outside the fold, and the first 2,500 sentences
    are used. The nonlinear probe is a kernel ridge regression with a Gaussian kernel on standardised dimensions, whose
    penalty is chosen on the last fifth of the training sentences. Raises UndefinedFitError as `ridge_probe` does.
    """
    x, y = np.asarray(vectors, dtype=float)[:MOST_SENTENCES], np.asarray(lengths, dtype=float)[:MOST_SENTENCES]
    folds = folds[:MOST_SENTENCES]
    explain_untestable_lengths(y, folds)
    explain_constant_vectors(x)
    tested = [fold for fold in np.unique(folds) if np.ptp(y[folds == fold]) > 0]
    found = Erasure(len(y), len(tested))
    for n_done, fold in enumerate(tested, start=1):
        held_out = folds == fold
        versions = {
            BEFORE: x,
            AFTER: leace(x[~held_out], y[~held_out]).erase(x),
            CONTROL: leace(x[~held_out], shuffled(y[~held_out])).erase(x),
        }
        left = {name: _with_fold(found.left[name], erased, y, held_out) for name, erased in versions.items()}
        found = replace(found, n_done=n_done, left=left)
        yield found


def _with_fold(left: Left, x: Floats, y: Floats, held_out: NDArray[np.bool_]) -> Left:
    try:
        linear = ridge_predict(x, y, held_out)
    except UndefinedFitError:
        linear = np.full(np.count_nonzero(held_out), y[~held_out].mean())
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        nonlinear = _nonlinear(x, y, held_out)
    return Left(
        (*left.linear, float(r2_score(y[held_out], linear))),
        (*left.nonlinear, float(r2_score(y[held_out], nonlinear))),
        (*left.neighbours, _neighbours(x[held_out], y[held_out])),
    )


def _nonlinear(x: Floats, y: Floats, held_out: NDArray[np.bool_]) -> Floats:
    """The held-out lengths as kernel ridge regression predicts them from the others."""
    train = ~held_out
    mean, sd = x[train].mean(axis=0), x[train].std(axis=0)
    varies = sd > 1e-6 * np.abs(mean)
    if not varies.any():
        return np.full(np.count_nonzero(held_out), y[train].mean())
    z = (x[:, varies] - mean[varies]) / sd[varies]
    kernel = rbf_kernel(z, z[train], gamma=_KERNEL_SCALE / z.shape[1])
    inner, target = kernel[train], y[train] - y[train].mean()
    n_fitted = len(target) - len(target) // 5

    def errors(penalty: float) -> float:
        probe = KernelRidge(alpha=penalty, kernel="precomputed").fit(inner[:n_fitted, :n_fitted], target[:n_fitted])
        return float(((probe.predict(inner[n_fitted:, :n_fitted]) - target[n_fitted:]) ** 2).sum())

    probe = KernelRidge(alpha=min(_PENALTIES, key=errors), kernel="precomputed").fit(inner, target)
    predicted: Floats = probe.predict(kernel[held_out]) + y[train].mean()
    return predicted


def _neighbours(x: Floats, y: Floats) -> float:
    """Spearman's ρ of the lengths with the mean lengths of the nearest by cosine; NaN where it is undefined."""
    if len(x) <= N_NEIGHBOURS:
        return np.nan
    try:
        return neighbour_correlation(y, y[neighbours(directions_of(x))])
    except UndefinedFitError:
        return np.nan
