"""What a fast precision costs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Audit:
    """What a fast precision costs: norms of n sentences, measured in it and exactly.

    largest_error, mean_error: of the norm, absolute. norm_sd: standard deviation of the exact norms.
    r_squared_change: R² of the fast norms less that of the exact ones; None where there is no line.
    """

    n: int
    largest_error: float
    mean_error: float
    norm_sd: float
    r_squared_change: float | None

    @property
    def is_measurable(self) -> bool:
        """Whether the norm varies by more than the largest error."""
        return self.norm_sd > self.largest_error or self.largest_error == 0


def audit(lengths: ArrayLike, exact: ArrayLike, fast: ArrayLike) -> Audit:
    """Compare the norms of the same sentences, at least one, measured exactly and in a fast precision."""
    x, y, z = (np.asarray(values, dtype=float) for values in (lengths, exact, fast))
    change = None
    if len(x) >= 3 and min(x.std(), y.std(), z.std()) > 0:
        change = float(np.corrcoef(x, z)[0, 1] ** 2 - np.corrcoef(x, y)[0, 1] ** 2)
    errors = np.abs(z - y)
    return Audit(len(x), float(errors.max()), float(errors.mean()), float(y.std()), change)
