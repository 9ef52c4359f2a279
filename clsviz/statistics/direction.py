"""The norm of a LayerNorm's output, from its direction alone."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.ridge import unit
from clsviz.vectors import without_gain

Floats = NDArray[np.float64]


def norms_of_directions(vectors: ArrayLike, gain: ArrayLike, bias: ArrayLike) -> Floats:
    """The norms that vectors (n, width) must have to be a LayerNorm's output in their directions: float64 (n,).

    The output is x = gain · z + bias, and each z has a mean of 0 and a variance of 1 (Ba et al. 2016). For a direction
    u, the norm r is thus the root of Σ ((r u − bias) / gain)² = width, a quadratic equation. Where both its roots are
    positive, the one that gives z the mean nearest to 0 is taken. Only the directions of the vectors are used.

    gain, bias: (width,). Dimensions whose gain is 0 are left out, as if what their z had held were average: then the
    norms are no more than a guess. NaN where there is no root.
    """
    g, b = np.asarray(gain, dtype=float), np.asarray(bias, dtype=float)
    kept = np.flatnonzero(~without_gain(g))
    if not len(kept):
        return np.full(len(np.asarray(vectors)), np.nan)
    slopes, shift = unit(vectors)[:, kept] / g[kept], b[kept] / g[kept]
    square, linear = (slopes**2).sum(axis=1), slopes @ shift
    constant = shift @ shift - len(kept)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(linear**2 - square * constant)
        both = np.stack([(linear + root) / square, (linear - root) / square])
    means = np.abs(both * slopes.mean(axis=1) - shift.mean())
    means[~(both > 0)] = np.inf
    found: Floats = np.take_along_axis(both, means.argmin(axis=0)[None], axis=0)[0]
    return np.where(np.isfinite(means.min(axis=0)), found, np.nan)
