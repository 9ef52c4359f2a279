"""Which dimensions of the vectors make up their norm, and what a LayerNorm's gain and bias do to it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.measurements import without_gain
from clsviz.statistics.intervals import ROUNDING, Floats
from clsviz.statistics.line import explain_undefined, r_squared
from clsviz.statistics.ridge import unit

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


DOMINANT_TIMES = 5
"""A dimension is dominant if it holds at least this many times an equal share of the squared norm."""

MOST_DOMINANT = 10

_HALF_PRECISION = 2.0**-10 / 12**0.5
"""Largest standard deviation of float16's rounding error, relative to the number: float16 keeps 10 binary digits."""

_SINGLE_PRECISION = 2.0**-24
"""Relative rounding error of float32; also float16's error for numbers nearest 0, relative to the largest number."""

_TIMES_ROUNDING = 3.0
"""A norm varies if its standard deviation is more than this many times that of its rounding error."""

_LOST = 1e-3
"""A dimension of z is lost if rounding could shift it by more than this: z has a variance of 1."""


def dimensions(vectors: ArrayLike, lengths: ArrayLike) -> Dimensions:
    """Each dimension's share of the norm of vectors (n, width), and R² of that norm on lengths (n,).

    The vectors are assumed to have been stored in 16 bits (`vectors.Packed`), so a norm that varies by no more than
    their rounding gets no R². Raises UndefinedFitError for fewer than 3 sentences, or if all vectors are 0.
    """
    x, y = _checked(vectors, lengths)
    squares = x * x
    total = squares.sum(axis=1)
    if not total.any():
        raise UndefinedFitError("All vectors are 0 in every dimension, so there is no norm to share out.")
    shares = squares.sum(axis=0) / total.sum()
    order = np.argsort(-shares, kind="stable")
    dominant = tuple(int(d) for d in order[:MOST_DOMINANT] if shares[d] * x.shape[1] >= DOMINANT_TIMES)
    errors, apart = _errors(x), total - total.mean()
    of_all = _norm_of(AS_IT_IS, x, errors, y)
    rest = np.setdiff1d(np.arange(x.shape[1]), dominant)
    of_rest = _norm_of("without the dominant dimensions", x[:, rest], errors[:, rest], y)
    return Dimensions(
        shares=shares,
        variance_shares=apart @ (squares - squares.mean(axis=0)) / (apart @ apart) if of_all.varies else None,
        order=order,
        dominant=dominant,
        r_squared=of_all.r_squared,
        problem=of_all.problem,
        r_squared_without=of_rest.r_squared,
        problem_without=of_rest.problem,
        norm_mean=of_all.norm_mean,
        norm_sd=of_all.norm_sd,
        norm_mean_without=of_rest.norm_mean,
        norm_sd_without=of_rest.norm_sd,
    )


def without_layer_norm(vectors: ArrayLike, lengths: ArrayLike, gain: ArrayLike, bias: ArrayLike) -> list[NormOf]:
    """The norm of a LayerNorm's output, vectors (n, width): as it is, without the bias, without the gain, without both.

    A LayerNorm (Ba et al. 2016) outputs gain * z + bias, where each z has a mean of 0 and a variance of 1, so that the
    norm of every z is √width. This holds for the vector of one token, such as [CLS], not for a mean over tokens.
    Without the gain the output is z + bias. Where the gain is so close to 0 that rounding hides z, the dimension is
    left out of the two norms without gain.

    gain, bias: (width,). Raises UndefinedFitError if they are NaN, and for fewer than 3 sentences.
    """
    x, y = _checked(vectors, lengths)
    g, b = np.asarray(gain, dtype=float), np.asarray(bias, dtype=float)
    if np.isnan(g).any() or np.isnan(b).any():
        raise UndefinedFitError(
            "These vectors are not the output of a LayerNorm with gain and bias, so there is nothing to undo. Choose a "
            "layer that ends with one."
        )
    errors = _errors(x)
    kept = np.flatnonzero(np.abs(g) * _LOST > _resolution(x))
    z, z_errors = (x[:, kept] - b[kept]) / g[kept], errors[:, kept] / np.abs(g[kept])
    left_out = len(g) - len(kept)
    whole, plain = _norm_of(AS_IT_IS, x, errors, y), _norm_of(WITHOUT_EITHER, z, z_errors, y, left_out)
    if whole.varies and not plain.varies:
        same = f"the same for all {len(y):,} sentences ({plain.norm_mean:#.5g}), up to rounding"
        why = f"Without gain and bias the norm is {same}: all variation of the norm comes from gain and bias."
        plain = replace(plain, problem=why)
    return [
        whole,
        _norm_of(WITHOUT_BIAS, x - b, errors, y),
        _norm_of(WITHOUT_GAIN, z + b[kept], z_errors, y, left_out),
        plain,
    ]


def _checked(vectors: ArrayLike, lengths: ArrayLike) -> tuple[Floats, Floats]:
    """Vectors and lengths in double precision; raises UndefinedFitError for fewer than 3 sentences."""
    x, y = np.asarray(vectors, dtype=float), np.asarray(lengths, dtype=float)
    if len(y) < 3:
        explain_undefined(y, np.linalg.norm(x, axis=1))
    return x, y


def _norm_of(name: str, vectors: Floats, errors: Floats, lengths: Floats, left_out: int = 0) -> NormOf:
    """The norm of vectors with the given rounding errors, both (n, width), and its regression on length."""
    norms = np.linalg.norm(vectors, axis=1)
    mean, sd = float(norms.mean()), float(norms.std(ddof=1))
    # the standard deviation of the norm's rounding error, propagated to first order from independent errors
    directions = np.divide(vectors, norms[:, None], out=np.zeros_like(vectors), where=norms[:, None] > 0)
    rounding = float(np.sqrt(((directions * errors) ** 2).sum(axis=1).mean()))
    varies = norms.std() > ROUNDING * mean and sd > _TIMES_ROUNDING * rounding
    explained, problem = None, ""
    try:
        explained = r_squared(lengths, norms)
        if not varies:
            explained = None
            problem = (
                f"The norm varies by no more than the rounding of the stored vectors: its standard deviation is "
                f"{sd:.2g}, around {mean:#.5g}."
            )
    except UndefinedFitError as error:
        problem = str(error)
    return NormOf(name, mean, sd, explained, problem, varies, left_out)


def _errors(vectors: Floats) -> Floats:
    """Standard deviation of the rounding error in each number of the stored vectors, (n, width)."""
    deviations = vectors - vectors.mean(axis=0)
    errors: Floats = np.hypot(_HALF_PRECISION * deviations, _resolution(vectors))
    return errors


def _resolution(vectors: Floats) -> Floats:
    """The smallest difference that survives storage in each dimension, (width,), even close to the mean."""
    largest = np.abs(vectors - vectors.mean(axis=0)).max()
    resolution: Floats = _SINGLE_PRECISION * (largest + np.abs(vectors).max(axis=0))
    return resolution


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
