"""Vectors on their first two principal components, and what these two numbers tell of length."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA

from clsviz.statistics.results.projection import MOST_PROJECTED, Projection
from clsviz.statistics.ridge import blas_threads, explain_constant_vectors, explain_untestable_lengths, ridge_probe


def projection(vectors: NDArray[np.floating], lengths: ArrayLike, folds: NDArray[np.intp]) -> Projection:
    """Project vectors (n, width) by PCA (Pearson 1901); lengths and folds are (n,).

    The components are those of all vectors given, the first 5,000 at most. They know no length, and what predicts it
    from the two coordinates is tested on held-out sentences. Raises UndefinedFitError as `ridge_probe` does.
    """
    x, y = np.asarray(vectors, dtype=float)[:MOST_PROJECTED], np.asarray(lengths, dtype=float)[:MOST_PROJECTED]
    folds = folds[:MOST_PROJECTED]
    explain_untestable_lengths(y, folds)
    explain_constant_vectors(x)
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        pca = PCA(2, svd_solver="covariance_eigh")
        coordinates = pca.fit_transform(x - x.mean(axis=0))  # centred before, or a large mean would cost digits
    probe = ridge_probe(coordinates, y, folds)
    first, second = pca.explained_variance_ratio_.tolist()
    return Projection(coordinates.astype(np.float32), (first, second), probe.r_squared, probe.fold_r_squared)
