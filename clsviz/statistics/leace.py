"""Taking the length out of vectors, as far as linear probes can tell: LEACE (Belrose et al. 2023)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

Floats = NDArray[np.float64]


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
    x, y = np.asarray(vectors, dtype=float), np.asarray(lengths, dtype=float)
    mean = x.mean(axis=0)
    deviations = x - mean
    covariances = deviations.T @ (y - y.mean())
    coefficients = linalg.pinvh(deviations.T @ deviations) @ covariances
    explained = float(coefficients @ covariances)  # of the sum of squares of the lengths
    if explained <= np.finfo(float).eps * float(((y - y.mean()) ** 2).sum()):
        return Eraser(mean, np.zeros_like(mean), np.zeros_like(mean))
    return Eraser(mean, covariances / explained, coefficients)
