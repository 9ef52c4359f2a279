"""What is commonly done to vectors so that a search follows meaning and not form: three remedies."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA

from clsviz.errors import UndefinedFitError
from clsviz.statistics.leace import leace
from clsviz.statistics.results.similarity import Remedy

Floats = NDArray[np.float64]


Map = Callable[[ArrayLike], Floats]
"""What turns vectors (n, width) into others of n sentences."""


_LEAST_VARIANCE = 1e-6
"""Of the largest: a direction with less varies by the rounding of vectors that are stored in 16 bits."""


_SENTENCES_PER_DIMENSION = 2
"""With fewer, whitening makes all sentences about equally far apart; with no more than dimensions, exactly so."""


def fit(remedy: Remedy, vectors: ArrayLike, lengths: ArrayLike) -> Map:
    """Fit a remedy to vectors (n, width) of sentences with these lengths (n,); raises UndefinedFitError.

    centred: the mean is taken away (Mu and Viswanath 2018). whitened: principal components are scaled to a variance of
    1 (Su et al. 2021). leace: what predicts the length linearly is erased (Belrose et al. 2023).
    """
    return _FITS[remedy](np.asarray(vectors, float), np.asarray(lengths, float))


def _centring(vectors: Floats, lengths: Floats) -> Map:
    mean = vectors.mean(axis=0)
    return lambda others: np.asarray(others, float) - mean


def _whitening(vectors: Floats, lengths: Floats) -> Map:
    least = _SENTENCES_PER_DIMENSION * vectors.shape[1]
    if len(vectors) < least:
        raise UndefinedFitError(
            f"Whitening vectors of {vectors.shape[1]:,} dimensions takes at least {least:,} sentences, and there are "
            f"only {len(vectors):,}."
        )
    fitted = PCA(whiten=True, svd_solver="covariance_eigh").fit(vectors)
    kept = fitted.explained_variance_ > _LEAST_VARIANCE * fitted.explained_variance_[0]

    def whiten(others: ArrayLike) -> Floats:
        whitened: Floats = fitted.transform(np.asarray(others, float))[:, kept]
        return whitened

    return whiten


def _erasing(vectors: Floats, lengths: Floats) -> Map:
    return leace(vectors, lengths).erase


_FITS: dict[Remedy, Callable[[Floats, Floats], Map]] = {
    Remedy.CENTRED: _centring,
    Remedy.WHITENED: _whitening,
    Remedy.ERASED: _erasing,
}
