"""Which dimensions of the vectors carry their norm, and what a LayerNorm's gain and bias do to it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.statistics.line import explain_undefined, r_squared

Floats = NDArray[np.float64]


DOMINANT_TIMES = 5
"""A dimension dominates that holds at least so many times its equal share of the squared norm."""


MOST_DOMINANT = 10


AS_IT_IS, WITHOUT_BIAS = "as it is", "without bias"


WITHOUT_GAIN, WITHOUT_EITHER = "without gain", "without gain and bias"


_HALF_PRECISION = 2.0**-10 / 12**0.5
"""Standard deviation of what float16 rounds off a number, as a share of it, at most: 10 binary digits are kept."""


_SINGLE_PRECISION = 2.0**-24
"""What float32 rounds off, as a share, and float16 of the numbers nearest to 0, as a share of the largest."""


_TIMES_ROUNDING = 3.0


_LOST = 1e-3
"""Where rounding would shift a component of z by more than this, it is lost: z has a variance of 1."""


@dataclass(frozen=True, eq=False)
class Dimensions:
    """What each dimension holds of the norm, numbered from 0.

    shares: float64 (width,), of the squared norm, summed over the sentences; they add up to 1.
    variance_shares: float64 (width,), of the variance of the squared norm: the covariance of x_d² with |x|², over that
        variance; they add up to 1, and are negative where a dimension evens the norm out. None where it does not vary.
    order: intp (width,), dimensions by share, the largest first.
    dominant: those, at most 10, that hold at least 5 times their equal share, 1 / width, by share.
    r_squared: of the regression of the norm on length, None where it is undefined, and then `problem` says why; the
        same “without”, of the norm over all dimensions but the dominant. norm_sd has n - 1 degrees of freedom.
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
    """The norm of the vectors, or of what they were before a LayerNorm's gain, bias or both.

    r_squared: of its regression on length, None where that is undefined, and then `problem` says why.
    varies: whether it does by more than rounding. left_out: dimensions whose gain is too near 0 to be undone.
    """

    name: str
    norm_mean: float
    norm_sd: float
    r_squared: float | None
    problem: str
    varies: bool
    left_out: int = 0


def dimensions(vectors: ArrayLike, lengths: ArrayLike) -> Dimensions:
    """What dimensions hold of the norm of vectors (n, width), and how length (n,) explains it with and without them.

    The vectors are taken to have been stored in 16 bits (`measurements.Packed`): no R² is given of a norm that varies
    by no more than their rounding. Raises UndefinedFitError for fewer than 3 sentences, and where all vectors are 0.
    """
    x, y = _checked(vectors, lengths)
    squares = x * x
    total = squares.sum(axis=1)
    if not total.any():
        raise UndefinedFitError("All components of all vectors are 0, so there is no norm to have a share in.")
    shares = squares.sum(axis=0) / total.sum()
    order = np.argsort(-shares, kind="stable")
    dominant = tuple(int(d) for d in order[:MOST_DOMINANT] if shares[d] * x.shape[1] >= DOMINANT_TIMES)
    errors = _errors(x)
    of_all = _norm_of(AS_IT_IS, x, errors, y)
    rest = np.setdiff1d(np.arange(x.shape[1]), dominant)
    of_rest = _norm_of("without the dominant dimensions", x[:, rest], errors[:, rest], y)
    return Dimensions(
        shares=shares,
        variance_shares=_variance_shares(squares, total) if of_all.varies else None,
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
    """The norm of vectors (n, width) that a LayerNorm put out, as they are and without its bias, its gain, and both.

    A LayerNorm (Ba et al. 2016) makes gain * z + bias of z, whose mean is 0 and whose variance is 1 in every vector:
    the norm of z is √width for all. That is so of vectors of one token, as [CLS]; a mean of several is no longer one.
    The bias alone makes z + bias of it. Dimensions whose gain is so near 0 that rounding hides z are left out of both.

    gain, bias: (width,). Raises UndefinedFitError where they are NaN, and for fewer than 3 sentences.
    """
    x, y = _checked(vectors, lengths)
    g, b = np.asarray(gain, dtype=float), np.asarray(bias, dtype=float)
    if np.isnan(g).any() or np.isnan(b).any():
        raise UndefinedFitError(
            "These vectors are not the output of a LayerNorm with gain and bias, so there are none to take away. "
            "Choose the output of a layer that ends with one."
        )
    errors = _errors(x)
    kept = np.flatnonzero(np.abs(g) * _LOST > _resolution(x))
    z, z_errors = (x[:, kept] - b[kept]) / g[kept], errors[:, kept] / np.abs(g[kept])
    left_out = len(g) - len(kept)
    whole, plain = _norm_of(AS_IT_IS, x, errors, y), _norm_of(WITHOUT_EITHER, z, z_errors, y, left_out)
    if whole.varies and not plain.varies:
        same = f"the same for all {len(y):,} sentences ({plain.norm_mean:.4f}), up to rounding"
        why = f"Without gain and bias the norm is {same}: the whole variation of the norm comes from gain and bias."
        plain = replace(plain, problem=why)
    return [
        whole,
        _norm_of(WITHOUT_BIAS, x - b, errors, y),
        _norm_of(WITHOUT_GAIN, z + b[kept], z_errors, y, left_out),
        plain,
    ]


def _checked(vectors: ArrayLike, lengths: ArrayLike) -> tuple[Floats, Floats]:
    """Both in double precision; raises UndefinedFitError for fewer than 3 sentences."""
    x, y = np.asarray(vectors, dtype=float), np.asarray(lengths, dtype=float)
    if len(y) < 3:
        explain_undefined(y, np.linalg.norm(x, axis=1))
    return x, y


def _norm_of(name: str, vectors: Floats, errors: Floats, lengths: Floats, left_out: int = 0) -> NormOf:
    """The norm of vectors whose components have such errors, both (n, width), and its regression on length."""
    norms = np.linalg.norm(vectors, axis=1)
    mean, sd = float(norms.mean()), float(norms.std(ddof=1))
    varies = not _is_constant(norms) and sd > _TIMES_ROUNDING * _rounding(vectors, norms, errors)
    explained, problem = None, ""
    try:
        explained = r_squared(lengths, norms)
        if not varies:
            explained = None
            problem = (
                f"The norm varies by no more than the rounding of the stored vectors does: its standard deviation is "
                f"{sd:.2g}, around {mean:.4f}."
            )
    except UndefinedFitError as error:
        problem = str(error)
    return NormOf(name, mean, sd, explained, problem, varies, left_out)


def _is_constant(norms: Floats) -> bool:
    """Whether the norms are the same up to rounding, as `analysis` takes it."""
    try:
        explain_undefined(np.arange(len(norms), dtype=float), norms)
    except UndefinedFitError:
        return True
    return False


def _variance_shares(squares: Floats, total: Floats) -> Floats:
    deviations = total - total.mean()
    shares: Floats = deviations @ (squares - squares.mean(axis=0)) / (deviations @ deviations)
    return shares


def _errors(vectors: Floats) -> Floats:
    """Standard deviation of the error that every component of stored vectors may have, (n, width)."""
    deviations = vectors - vectors.mean(axis=0)
    errors: Floats = np.hypot(_HALF_PRECISION * deviations, _resolution(vectors))
    return errors


def _resolution(vectors: Floats) -> Floats:
    """Differences of the components that are lost, however near to the mean they are, (width,)."""
    largest = np.abs(vectors - vectors.mean(axis=0)).max()
    resolution: Floats = _SINGLE_PRECISION * (largest + np.abs(vectors).max(axis=0))
    return resolution


def _rounding(vectors: Floats, norms: Floats, errors: Floats) -> float:
    """Standard deviation of the error of the norm, from those of the components: to first order, if independent."""
    directions = np.divide(vectors, norms[:, None], out=np.zeros_like(vectors), where=norms[:, None] > 0)
    return float(np.sqrt(((directions * errors) ** 2).sum(axis=1).mean()))
