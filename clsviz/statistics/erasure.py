"""Taking the length out of vectors, what that leaves, and other remedies for a search that follows the length."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import Floats
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.ridge import blas_threads, explain_constant_vectors, explain_untestable_lengths, ridge_predict
from clsviz.statistics.similarity import (
    N_NEIGHBOURS,
    directions_of,
    lengths_of_nearest,
    neighbour_correlation,
    neighbours,
)


@dataclass(frozen=True, eq=False)
class Eraser:
    """The map that changes the vectors it was fitted to the least, and leaves no covariance with the length in them.

    mean, along, weights: float64 (width,): it takes along · (weights · (vector − mean)) from each vector.
    """

    mean: Floats
    along: Floats
    weights: Floats

    def erase(self, vectors: ArrayLike) -> Floats:
        """Vectors (n, width), of the sentences it was fitted to or of others, without the length: float64 again."""
        x = np.asarray(vectors, dtype=float)
        erased: Floats = x - np.outer((x - self.mean) @ self.weights, self.along)
        return erased


def leace(vectors: ArrayLike, lengths: ArrayLike) -> Eraser:
    """Fit an eraser of lengths (n,) to vectors (n, width): least-squares concept erasure (Belrose et al. 2023).

    Their closed form is x − W⁺ P W (x − μ), with W = (Σₓₓ^½)⁺ and P the orthogonal projection onto the columns of
    W Σₓz. For a single number z, such as the length, that is x − c (b · (x − μ)) / (b · c) with c = Σₓz and b = Σₓₓ⁺ c,
    the coefficients of the linear regression of z on x.

    Where lengths and vectors do not vary together, nothing is erased.
    """
    from scipy import linalg

    x, y = np.asarray(vectors, dtype=float), np.asarray(lengths, dtype=float)
    mean = x.mean(axis=0)
    deviations = x - mean
    covariances = deviations.T @ (y - y.mean())
    coefficients = linalg.pinvh(deviations.T @ deviations) @ covariances
    explained = float(coefficients @ covariances)  # of the sum of squares of the lengths
    if explained <= np.finfo(float).eps * float(((y - y.mean()) ** 2).sum()):
        return Eraser(mean, np.zeros_like(mean), np.zeros_like(mean))
    return Eraser(mean, covariances / explained, coefficients)


MOST_SENTENCES = 2500
"""The time of the nonlinear probe grows with their third power."""


BEFORE, AFTER, CONTROL = "before", "after", "shuffled lengths erased"


@dataclass(frozen=True)
class Left:
    """What is left of the length in one version of the vectors, for each fold that is done.

    linear, nonlinear: R² of the held-out lengths, by ridge regression and by kernel ridge regression. neighbours:
    Spearman's ρ of a held-out sentence's length with the mean length of its 10 nearest held-out ones by cosine.
    """

    linear: tuple[float, ...] = ()
    nonlinear: tuple[float, ...] = ()
    neighbours: tuple[float, ...] = ()


@dataclass(frozen=True)
class Erasure:
    """What is left of the length before and after erasing it, and after erasing shuffled lengths in its place.

    Lengths are shuffled anew for each fold, so that the folds show how far the control depends on the draw.
    n: sentences used. left: by version, with one number for each of the n_done folds. n_clusters: how many of the
    sentences differ by more than a few words; None in a result that was kept without it.
    """

    n: int
    n_folds: int
    n_done: int = 0
    left: dict[str, Left] = field(default_factory=lambda: {name: Left() for name in (BEFORE, AFTER, CONTROL)})
    n_clusters: int | None = None


_KERNEL_SCALE = 0.3
"""Times the squared distance of two standardised vectors over their width, which is 2 on average."""

_PENALTIES = (0.01, 0.1, 1.0, np.inf)


def erasure(vectors: NDArray[np.floating], lengths: Sequence[float], folds: NDArray[np.intp]) -> Iterator[Erasure]:
    """Erase the length from vectors (n, width), fold by fold: yields what is known after each.

    The eraser (`leace`), like the probes, is fitted on the sentences outside the fold, and the first 2,500 sentences
    are used. The nonlinear probe is a kernel ridge regression with a Gaussian kernel on standardised dimensions, whose
    penalty is chosen between the other folds, as `ridge_probe` chooses it. Raises UndefinedFitError as that does.
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
            CONTROL: leace(x[~held_out], shuffled(y[~held_out], seed=n_done)).erase(x),
        }
        left = {name: _with_fold(found.left[name], erased, y, folds, fold) for name, erased in versions.items()}
        found = replace(found, n_done=n_done, left=left)
        yield found


def _with_fold(left: Left, x: Floats, y: Floats, folds: NDArray[np.intp], fold: int) -> Left:
    from sklearn.metrics import r2_score

    held_out = folds == fold
    try:
        linear = ridge_predict(x, y, folds, fold)
    except UndefinedFitError:
        linear = np.full(np.count_nonzero(held_out), y[~held_out].mean())
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        nonlinear = _nonlinear(x, y, folds, fold)
    near = np.nan  # where it is undefined
    if np.count_nonzero(held_out) > N_NEIGHBOURS:
        with suppress(UndefinedFitError):
            nearest = neighbours(directions_of(x[held_out])).index
            near = neighbour_correlation(y[held_out], lengths_of_nearest(y[held_out], nearest))
    return Left(
        (*left.linear, float(r2_score(y[held_out], linear))),
        (*left.nonlinear, float(r2_score(y[held_out], nonlinear))),
        (*left.neighbours, near),
    )


def _nonlinear(x: Floats, y: Floats, folds: NDArray[np.intp], fold: int) -> Floats:
    """The lengths of a fold as kernel ridge regression predicts them from the others."""
    from sklearn.metrics.pairwise import rbf_kernel

    train = folds != fold
    mean, sd = x[train].mean(axis=0), x[train].std(axis=0)
    varies = sd > 1e-6 * np.abs(mean)
    if not varies.any():
        return np.full(np.count_nonzero(~train), y[train].mean())
    z = (x[:, varies] - mean[varies]) / sd[varies]
    kernel = rbf_kernel(z, z[train], gamma=_KERNEL_SCALE / z.shape[1])
    known, lengths, others = kernel[train], y[train], folds[train]
    errors = dict.fromkeys(_PENALTIES, 0.0)
    for inner in np.unique(others):
        fitted, tested = others != inner, others == inner
        among, across = known[np.ix_(fitted, fitted)], known[np.ix_(tested, fitted)]
        for penalty in _PENALTIES:
            predicted = _kernel_ridge(among, lengths[fitted], across, penalty)
            errors[penalty] += float(((predicted - lengths[tested]) ** 2).sum())
    return _kernel_ridge(known, lengths, kernel[~train], min(_PENALTIES, key=lambda one: errors[one]))


def _kernel_ridge(among: Floats, lengths: Floats, across: Floats, penalty: float) -> Floats:
    """The lengths of others, from the kernels among those fitted (n, n) and of the others with these (n_others, n)."""
    from sklearn.kernel_ridge import KernelRidge

    mean = lengths.mean()
    if np.isinf(penalty):
        return np.full(len(across), mean)
    probe = KernelRidge(alpha=penalty, kernel="precomputed").fit(among, lengths - mean)
    predicted: Floats = probe.predict(across) + mean
    return predicted


class Remedy(StrEnum):
    """What is done to vectors before they are compared."""

    CENTRED = "centred"
    WHITENED = "whitened"
    ERASED = "leace"


Map = Callable[[ArrayLike], Floats]
"""What turns vectors (n, width) into others of n sentences."""

_LEAST_VARIANCE = 1e-6
"""Of the largest: a direction with less varies by the rounding of vectors that are stored in 16 bits."""

_SENTENCES_PER_DIMENSION = 2
"""With fewer, whitening makes all sentences about equally far apart; with no more than dimensions, exactly so."""


def fit_remedy(remedy: Remedy, vectors: ArrayLike, lengths: ArrayLike) -> Map:
    """Fit a remedy to vectors (n, width) of sentences with these lengths (n,); raises UndefinedFitError.

    centred: the mean is taken away (Mu and Viswanath 2018). whitened: principal components are scaled to a variance of
    1 (Su et al. 2021). leace: what predicts the length linearly is erased (Belrose et al. 2023).
    """
    from sklearn.decomposition import PCA

    x = np.asarray(vectors, float)
    if remedy is Remedy.CENTRED:
        mean = x.mean(axis=0)
        return lambda others: np.asarray(others, float) - mean
    if remedy is Remedy.ERASED:
        return leace(x, lengths).erase
    least = _SENTENCES_PER_DIMENSION * x.shape[1]
    if len(x) < least:
        raise UndefinedFitError(
            f"Whitening vectors of {x.shape[1]:,} dimensions takes at least {least:,} sentences, and there are "
            f"only {len(x):,}."
        )
    fitted = PCA(whiten=True, svd_solver="covariance_eigh").fit(x)
    kept = fitted.explained_variance_ > _LEAST_VARIANCE * fitted.explained_variance_[0]

    def whiten(others: ArrayLike) -> Floats:
        whitened: Floats = fitted.transform(np.asarray(others, float))[:, kept]
        return whitened

    return whiten
