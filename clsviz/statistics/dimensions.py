"""Which dimensions of the vectors make up their norm, and what a LayerNorm's gain and bias do to it."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.statistics.correlation import explain_undefined, r_squared
from clsviz.statistics.results.dimensions import (
    AS_IT_IS,
    WITHOUT_BIAS,
    WITHOUT_EITHER,
    WITHOUT_GAIN,
    Dimensions,
    NormOf,
)

Floats = NDArray[np.float64]


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
    varies = not _is_constant(norms) and sd > _TIMES_ROUNDING * _rounding(vectors, norms, errors)
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


def _is_constant(norms: Floats) -> bool:
    """Whether the norms are the same up to rounding, by the rule that `fit` applies."""
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
    """Standard deviation of the rounding error in each number of the stored vectors, (n, width)."""
    deviations = vectors - vectors.mean(axis=0)
    errors: Floats = np.hypot(_HALF_PRECISION * deviations, _resolution(vectors))
    return errors


def _resolution(vectors: Floats) -> Floats:
    """The smallest difference that survives storage in each dimension, (width,), even close to the mean."""
    largest = np.abs(vectors - vectors.mean(axis=0)).max()
    resolution: Floats = _SINGLE_PRECISION * (largest + np.abs(vectors).max(axis=0))
    return resolution


def _rounding(vectors: Floats, norms: Floats, errors: Floats) -> float:
    """Standard deviation of the norm's rounding error, propagated to first order from independent `errors`."""
    directions = np.divide(vectors, norms[:, None], out=np.zeros_like(vectors), where=norms[:, None] > 0)
    return float(np.sqrt(((directions * errors) ** 2).sum(axis=1).mean()))
