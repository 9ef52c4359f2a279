"""The regression line, and R² on a flat distribution of lengths."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


Interval = tuple[float, float]


CUTOFFS = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200, 260, 320, 400, 512)


CUTOFF_COLUMNS = ["length_cutoff", "n", "r_squared", "lower", "upper", "slope"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression line of norm on length, with 95% intervals, infinite ones where the data cannot bound them.

    The intervals of slope, intercept and line allow the spread to change along the line, and clusters of sentences to
    depart from it together: their covariance is that of the cluster jackknife (CV3; MacKinnon, Nielsen and Webb 2023),
    or where there are none robust to unequal spread (HC3; MacKinnon and White 1985). That of R² is by
    `r_squared_interval`. Of these and that of the slope both hold 0, or neither.
    """

    n: int
    n_clusters: int
    """How many independent groups of sentences the intervals take them for; n if all are."""
    slope: float
    """Change of the norm per token."""
    intercept: float
    r_squared: float
    spearman: float
    """Spearman's rank correlation of norm and length."""
    slope_interval: Interval
    intercept_interval: Interval
    r_squared_interval: Interval
    rests_on_few: bool
    """Whether a few sentences, or clusters of them, decide how wide that interval is: then it may be too narrow."""
    norm_mean: float
    norm_sd: float
    covariance: Floats
    """Covariance of intercept and slope, (2, 2)."""
    degrees_of_freedom: int
    """Of that covariance."""
    t: float
    """How many standard errors the intervals of slope, intercept and line reach to either side: Student’s, for them."""

    def predict(self, lengths: ArrayLike) -> Floats:
        """The norm on the line at each length, float64."""
        return self.intercept + self.slope * np.asarray(lengths, dtype=float)

    def band(self, lengths: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper end of the line's 95% interval at each length (n,), float64 (n,) each."""
        x = np.asarray(lengths, dtype=float)
        if not np.isfinite(self.covariance).all():
            return np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        design = np.stack([np.ones_like(x), x], axis=-1)
        error = np.sqrt(np.einsum("ni,ij,nj->n", design, self.covariance, design))
        margin = error * self.t
        line = self.predict(x)
        return line - margin, line + margin


FLAT_LENGTHS = range(4, 40)
"""Lengths that nearly every corpus has."""


@dataclass(frozen=True)
class Flat:
    """R² of the line if each length of FLAT_LENGTHS were as frequent as any other; absent: those that no sentence has.

    Two corpora with the same norm at each length have the same, whatever their lengths.
    """

    r_squared: float
    absent: tuple[int, ...]
