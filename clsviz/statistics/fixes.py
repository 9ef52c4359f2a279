"""What can be done where texts of some lengths are found too often: to vectors, or to their scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.settings import Fix
from clsviz.statistics.erasure import Map, Remedy, fit_remedy
from clsviz.statistics.intervals import Floats

_TEXTS_PER_DIMENSION = 10
"""Fewer do not tell the covariances that whitening divides by."""

_FLOOR = 1
"""Percentile of the spreads of texts, below which none is taken to be."""

POWERS = {Fix.SQRT_TOKENS: 0.5, Fix.TOKENS_TENTH: 0.1}

_REMEDIES = {Fix.CENTRED: Remedy.CENTRED, Fix.WHITENED: Remedy.WHITENED, Fix.ERASED: Remedy.ERASED}


def _unchanged(vectors: ArrayLike) -> Floats:
    return np.asarray(vectors)


@dataclass(frozen=True, eq=False)
class FittedFix:
    """A fix that was fitted to some searches, to be applied to any: (query · text − shift) · scale.

    apply: is done to vectors of queries and of texts. shift, scale: float64 (n_texts,), of each indexed text, or None.
    formula, coefficients: the same for a reader; n is the length of a text in tokens.
    """

    formula: str
    apply: Map = _unchanged
    shift: Floats | None = None
    scale: Floats | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)


def fit_vectors(fix: Fix, vectors: ArrayLike, lengths: NDArray[np.int32]) -> FittedFix:
    """Centring, whitening or LEACE of log length, fitted to vectors (n, width) of texts with these lengths (n,).

    Raises UndefinedFitError where the texts are too few: whitening takes ten for each dimension, the others ten.
    """
    n, width = np.shape(vectors)
    least = _TEXTS_PER_DIMENSION * (width if fix is Fix.WHITENED else 1)
    if n < least:
        raise UndefinedFitError(f"{fix} takes at least {least:,} texts, and there are only {n:,}.")
    formula = {
        Fix.CENTRED: "vector - mean of the texts' vectors",
        Fix.WHITENED: "principal components of vector - mean, each divided by its standard deviation",
        Fix.ERASED: "vector - a (b · (vector - mean)), the least change without covariance with log(n)",
    }[fix]
    return FittedFix(formula, fit_remedy(_REMEDIES[fix], vectors, np.log(np.maximum(lengths, 1))))


def times_power(fix: Fix, power: float, lengths: NDArray[np.int32]) -> FittedFix:
    """Scores times a power of the length."""
    scale = np.maximum(lengths, 1).astype(float) ** power
    return FittedFix("score * n**p", scale=scale, coefficients={"p": power})


def calibrate(queries: ArrayLike, texts: ArrayLike, lengths: NDArray[np.int32]) -> FittedFix:
    """Scores in standard deviations from what texts of their length get: (score − m(n)) / s(n).

    m and s are quadratic in log n, fitted by least squares to the mean score of each text, (n_texts, width), with all
    of these queries, (n, width), and to its root mean square distance from m; s is at least its first percentile over
    the texts.
    """
    asked, indexed = np.asarray(queries, float), np.asarray(texts, float)
    logs = np.log(np.maximum(lengths, 1))
    # Means over queries of a score and of its square, without a score: sums of products are products of sums.
    means = indexed @ asked.mean(axis=0)
    squares = np.einsum("ij,ij->i", indexed @ (asked.T @ asked / len(asked)), indexed)
    m = np.polynomial.polynomial.polyfit(logs, means, 2)
    mean: Floats = np.polynomial.polynomial.polyval(logs, m).astype(float)
    distances = np.sqrt(np.maximum(squares - 2 * mean * means + mean**2, 0))
    s = np.polynomial.polynomial.polyfit(logs, distances, 2)
    spread = np.polynomial.polynomial.polyval(logs, s)
    least = max(float(np.percentile(spread, _FLOOR)), 1e-9)
    names = ("m0", "m1", "m2", "s0", "s1", "s2", "s_least")
    return FittedFix(
        "(score - (m0 + m1 log(n) + m2 log(n)²)) / max(s0 + s1 log(n) + s2 log(n)², s_least)",
        shift=mean,
        scale=1 / np.maximum(spread, least),
        coefficients=dict(zip(names, [*map(float, m), *map(float, s), least], strict=True)),
    )
