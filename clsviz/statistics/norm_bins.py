"""Bins of norms, so fine that what is counted in them gives the same medians as the norms themselves."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from clsviz.statistics.intervals import Floats

N_BINS = 8192
"""A power of two, so that many coarser bins are made of whole ones."""

RESOLUTION = 1e-3
"""Half the width of a bin, as a share of the spread of the norms that the bins were decided from."""

N_OUTER = 256
"""Further bins on either side, each wider than the one before it; together they reach 150 times as far."""

_GROWTH = 1.02
"""How much further from the middle each of these begins than the one before it."""


_CENTRAL, _APART = (0.01, 0.99), 4.653
"""Two quantiles, and how many standard deviations of a normal distribution lie between them."""


@dataclass(frozen=True)
class NormBins:
    """Bins of norms: n inner ones of one width, and outer ones on either side, of which the last have no end.

    lowest: the lower edge of the first inner bin. width: of each.
    """

    lowest: float
    width: float
    n: int = N_BINS

    @classmethod
    def of(cls, norms: ArrayLike, n: int = N_BINS) -> Self:
        """The bins for norms like these, (m,): as wide as `RESOLUTION` says, and so 16 times as wide as the spread.

        The spread is the standard deviation, or what it would be if the distance between the lowest and the highest
        hundredth were that of a normal distribution, if that is less: so a few norms far out do not decide it. Norms
        that hardly vary count as if they varied by the rounding of float32. Raises ValueError if they are not finite.
        """
        y = np.asarray(norms, dtype=float)
        if not len(y):
            return cls(0.0, 1.0, n)
        if not np.isfinite(y).all():
            raise ValueError("a norm is not finite")
        rounding = max(float(np.abs(y).max()) * float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny))
        low, high = np.quantile(y, _CENTRAL).tolist()
        spread = min(float(y.std()), (high - low) / _APART) if high > low else float(y.std())
        width = 2 * RESOLUTION * max(spread, rounding)
        return cls((low + high) / 2 - width * n / 2, width, n)

    @property
    def n_columns(self) -> int:
        """How many bins there are, the outer ones included."""
        return self.n + 2 * N_OUTER

    @property
    def inner(self) -> slice:
        """Which of these are the inner ones."""
        return slice(N_OUTER, N_OUTER + self.n)

    @property
    def middle(self) -> float:
        """Between the lower and the upper half of the bins."""
        return self.lowest + self.width * self.n / 2

    @property
    def edges(self) -> Floats:
        """Where the inner bins begin, and the last one ends: float64 (n + 1,)."""
        return self.lowest + self.width * np.arange(self.n + 1, dtype=np.float64)

    @property
    def places(self) -> Floats:
        """Where norms in each bin are taken to be, less the middle: in its own middle; float64 (n_columns,)."""
        inner = self.width * (np.arange(self.n) + 0.5 - self.n / 2)
        outer = self.width * self.n / 2 * _GROWTH ** (np.arange(N_OUTER) + 0.5)
        return np.concatenate([-outer[::-1], inner, outer])

    def numbers(self, norms: Floats, out: Floats | None = None) -> Floats:
        """In which of all bins each norm is, from 0, as float64; in `out` if it is given. NaN is in none."""
        scaled = np.empty(norms.shape) if out is None else out
        np.subtract(norms, self.lowest, out=scaled)
        scaled *= 1 / self.width
        np.floor(scaled, out=scaled)
        outside = np.flatnonzero((scaled < 0) | (scaled >= self.n))
        scaled += N_OUTER
        if len(outside):
            away = (norms[outside] - self.middle) / (self.width * self.n / 2)
            steps = np.clip(np.floor(np.log(np.abs(away)) / np.log(_GROWTH)), 0, N_OUTER - 1)
            scaled[outside] = np.where(away < 0, N_OUTER - 1 - steps, N_OUTER + self.n + steps)
        return scaled
