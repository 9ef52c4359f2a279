"""What the fast precision costs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clsviz.statistics.line import squared_correlation

_R_SQUARED_ERROR = 0.005
"""An R² that is off by less is right to its second decimal."""


@dataclass(frozen=True)
class Audit:
    """What the fast precision costs: the norms of n sentences in it, compared with the exact ones.

    largest_error, mean_error: absolute errors of the norm. norm_sd: standard deviation of the exact norms, ddof=0.
    r_squared_change: R² of the fast norms minus R² of the exact ones; None where there is no line.
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

    @property
    def keeps_r_squared(self) -> bool:
        """Whether the norm is measurable, and its R² right to the second decimal: small errors can follow length."""
        return self.is_measurable and abs(self.r_squared_change or 0.0) < _R_SQUARED_ERROR


def audit(lengths: ArrayLike, exact: ArrayLike, fast: ArrayLike) -> Audit:
    """Compare the norms of the same n > 0 sentences, (n,) each, measured exactly and in the fast precision."""
    x, y, z = (np.asarray(values, dtype=float) for values in (lengths, exact, fast))
    change = None
    if len(x) >= 3 and min(x.std(), y.std(), z.std()) > 0:
        change = squared_correlation(x, z) - squared_correlation(x, y)
    errors = np.abs(z - y)
    return Audit(len(x), float(errors.max()), float(errors.mean()), float(y.std()), change)
