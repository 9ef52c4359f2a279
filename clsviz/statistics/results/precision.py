"""What the fast precision cost."""

from dataclasses import dataclass

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
