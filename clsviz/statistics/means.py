"""Why a mean of more vectors is shorter: averaging alone, and what the vectors themselves add to it.

The squared norm of a mean of m vectors is A / m + (1 − 1/m) C, where A is the mean of their squared norms and C the
mean product of two different ones: an identity, for each sentence with its own A and C. With the means of A and C over
all sentences in their place, it is what averaging alone would make of the number of tokens.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError
from clsviz.measurements import Means
from clsviz.statistics.intervals import Floats, Interval
from clsviz.statistics.line import fit


@dataclass(frozen=True)
class Trend:
    """A regression line, as `line.fit` has it: what it is of, n sentences, is said where it is used."""

    n: int
    slope: float
    slope_interval: Interval
    r_squared: float
    r_squared_interval: Interval

    @property
    def sign(self) -> int:
        """1 where it rises, −1 where it falls, 0 where the 95% interval leaves that open."""
        low, high = self.slope_interval
        return 1 if low > 0 else -1 if high < 0 else 0


@dataclass(frozen=True)
class Averaging:
    """How the norm of the mean of all tokens after the last layer goes with length, and what averaging does to it.

    A trend is against the sentence's length in tokens, and None where there is no line.

    norm: of the norm of the mean. is_flat: whether its standard deviation is below 0.1% of its mean.
    accounted_for: 1 − Var(y − ŷ) / Var(y), where y is the squared norm of the mean and ŷ what averaging alone gives.
    on_averaging: of y on ŷ: its slope is 1 where averaging is all there is.
    token_square, token_product: A and C, means over the sentences.
    squares: of the sentences' mean squared norm of a token. agreement: of the mean product of two different tokens,
        relative to that.
    fixed: of the norm of the mean of FIXED random word tokens. same: of the norm of the mean of all tokens, in the
        sentences that have so many.
    dealt: of the norm of the mean of as many tokens from any of the sentences.
    """

    norm: Trend | None
    is_flat: bool
    accounted_for: float | None
    on_averaging: Trend | None
    token_square: float
    token_product: float
    squares: Trend | None
    agreement: Trend | None
    fixed: Trend | None
    same: Trend | None
    dealt: Trend | None


_FLAT = 0.001


def averaging(measured: Means, index: NDArray[np.intp], clusters: NDArray[np.intp] | None = None) -> Averaging:
    """What averaging makes of some of the sentences; clusters: of these, as `line.fit` takes them.

    Raises UndefinedFitError where they determine no line, or where some sentence has a single token.
    """
    lengths, m = measured.n_tokens[index].astype(float), measured.n_pooled[index].astype(float)
    norms, squares = (a[index].astype(float) for a in (measured.mean_norms[:, -1], measured.token_squares))
    if (m < 2).any():
        raise UndefinedFitError("A sentence has a single token, which no other one agrees with.")
    products = (m * norms**2 - squares) / (m - 1)
    fixed = measured.fixed_norms[index].astype(float)
    has_fixed = ~np.isnan(fixed)

    def trend(x: Floats, y: Floats, of: "NDArray[np.bool_] | slice" = slice(None)) -> Trend | None:
        try:
            line = fit(x[of], y[of], None if clusters is None else clusters[of])
        except UndefinedFitError:
            return None
        return Trend(line.n, line.slope, line.slope_interval, line.r_squared, line.r_squared_interval)

    on_length = fit(lengths, norms, clusters)  # raises where there is none
    square, product = float(squares.mean()), float(products.mean())
    alone = square / m + (1 - 1 / m) * product
    return Averaging(
        norm=Trend(
            on_length.n, on_length.slope, on_length.slope_interval, on_length.r_squared, on_length.r_squared_interval
        ),
        is_flat=on_length.norm_sd < _FLAT * on_length.norm_mean,
        accounted_for=float(1 - np.var(norms**2 - alone) / np.var(norms**2)),
        on_averaging=trend(alone, norms**2),
        token_square=square,
        token_product=product,
        squares=trend(lengths, squares),
        agreement=trend(lengths, products / squares),
        fixed=trend(lengths, fixed, has_fixed),
        same=trend(lengths, norms, has_fixed),
        dealt=trend(lengths, measured.dealt_norms[index].astype(float)),
    )
