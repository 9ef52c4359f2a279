"""What makes up the norm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.results.line import Floats

AS_IT_IS, WITHOUT_BIAS = "as it is", "without bias"


WITHOUT_GAIN, WITHOUT_EITHER = "without gain", "without gain and bias"


@dataclass(frozen=True, eq=False)
class Dimensions:
    """How much of the norm each dimension holds; dimensions are numbered from 0.

    shares: float64 (width,), share of the squared norm, summed over the sentences; adds up to 1.
    variance_shares: float64 (width,), share of the variance of the squared norm: the covariance of x_d² and |x|²
        divided by that variance. Adds up to 1; negative where a dimension evens the norm out. None if the norm does
        not vary.
    order: intp (width,), the dimensions by share, largest first.
    dominant: the dimensions, at most 10, that hold at least 5 times an equal share (1 / width), by share.
    r_squared: R² of the norm on length; None if undefined, and then `problem` says why. norm_sd: ddof=1.
    r_squared_without, problem_without, norm_mean_without, norm_sd_without: the same for the norm over all dimensions
        except the dominant ones.
    """

    shares: Floats
    variance_shares: Floats | None
    order: NDArray[np.intp]
    dominant: tuple[int, ...]
    r_squared: float | None
    problem: str
    r_squared_without: float | None
    problem_without: str
    norm_mean: float
    norm_sd: float
    norm_mean_without: float
    norm_sd_without: float


@dataclass(frozen=True)
class NormOf:
    """The norm of the vectors as they are, or with a LayerNorm's gain, bias or both undone.

    r_squared: R² of the norm on length; None if undefined, and then `problem` says why. norm_sd: ddof=1.
    varies: whether the norm varies by more than rounding. left_out: number of dimensions whose gain is too close to 0
        to undo.
    """

    name: str
    norm_mean: float
    norm_sd: float
    r_squared: float | None
    problem: str
    varies: bool
    left_out: int = 0
