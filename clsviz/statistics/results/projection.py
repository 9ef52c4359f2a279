"""Vectors projected onto their first two principal components."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_PROJECTED = 5000
"""Sentences that are projected and drawn."""


@dataclass(frozen=True, eq=False)
class Projection:
    """n vectors on the two directions along which they vary most.

    coordinates: float32 (n, 2), distances from the mean vector along each direction, in the unit of the vectors.
    shares: of the variance of the vectors, which each direction holds.
    r_squared: held-out R² of length from the two coordinates alone, by the probe of `ridge_probe`; fold_r_squared: in
        each fold.
    """

    coordinates: NDArray[np.float32]
    shares: tuple[float, float]
    r_squared: float
    fold_r_squared: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many sentences are projected."""
        return len(self.coordinates)
