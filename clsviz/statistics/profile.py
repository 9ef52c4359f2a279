"""How well length can be predicted after each layer: from the norm, from the whole vector, from its direction."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError
from clsviz.settings import Pooling
from clsviz.statistics.correlation import explain_undefined, r_squared
from clsviz.statistics.results.profile import Profile, Reading, Readout, Step
from clsviz.statistics.ridge import guess_error, ridge_probe, unit
from clsviz.vectors import Vectors

Floats = NDArray[np.float64]


_ROUNDING = 2.0**-10 / 12**0.5 / 1.4
"""Typical relative error of a number stored as float16: uniform within half a unit in the last place, mantissa 1.4."""


_TIMES_ROUNDING = 10
"""Directions that vary by less than this many rounding errors get no probe: the errors correlate with length too."""


def readings(
    vectors: Vectors,
    index: NDArray[np.intp],
    lengths: NDArray[np.integer],
    folds: NDArray[np.intp],
    clusters: NDArray[np.intp] | None = None,
) -> Iterator[Profile]:
    """Predict the lengths, step by step: yields the profile after each of `steps`, with one more reading.

    index: intp (n,), the sentences to use, such as those under a length cutoff. lengths, folds: (n,), of these
    sentences. clusters: intp (n,), of those that are the same or nearly; None if all differ.
    """
    guessing = guess_error(lengths, folds)
    n_different = len(index) if clusters is None else len(np.unique(clusters))
    of = len(index), vectors.width, vectors.n_layers, vectors.has_pooler
    profile = Profile(*of, {}, guessing, n_different, len(vectors.poolings))
    for step in profile.steps:
        pooling, layer, readout = step
        norms = vectors.norms(pooling, layer)[index]
        if readout is Readout.NORM:
            reading = _norm_reading(step, norms, lengths, folds)
        else:
            reading = _probe_reading(step, vectors.of(pooling, layer)[index], lengths, folds)
        if readout is Readout.DIRECTION and reading.r_squared is not None:
            of_norm, of_folds = _norm_from(vectors.of(pooling, layer)[index], norms, folds)
            reading = replace(reading, norm_r_squared=of_norm, norm_fold_r_squared=of_folds)
        profile = replace(profile, readings={**profile.readings, step: reading})
        yield profile


def _norm_reading(
    step: Step, norms: NDArray[np.float32], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Reading:
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    reading = Reading(*step)
    if len(y) >= 2:
        reading = replace(reading, norm_mean=float(y.mean()), norm_sd=float(y.std(ddof=1)))
    scores = []
    for fold in np.unique(folds):
        with suppress(UndefinedFitError):
            scores.append(r_squared(x[folds == fold], y[folds == fold]))
    try:
        explained = r_squared(x, y)
    except UndefinedFitError as error:
        return replace(reading, problem=str(error))
    return replace(reading, r_squared=explained, fold_r_squared=tuple(scores), error=_line_error(x, y, folds))


def _line_error(lengths: Floats, norms: Floats, folds: NDArray[np.intp]) -> float:
    """Mean absolute error of the lengths of each fold, predicted by the line of length on norm through the others."""
    if len(np.unique(folds)) < 2:
        return np.nan
    errors = np.empty(len(lengths))
    for fold in np.unique(folds):
        train, test = folds != fold, folds == fold
        # Some norms vary by their last digits alone.
        x, y = norms - norms[train].mean(), lengths - lengths[train].mean()
        squares = x[train] @ x[train]
        slope = x[train] @ y[train] / squares if squares else 0.0
        errors[test] = np.abs(y[test] - slope * x[test])
    return float(errors.mean())


def _norm_from(
    vectors: NDArray[np.float32], norms: NDArray[np.float32], folds: NDArray[np.intp]
) -> tuple[float, tuple[float, ...]]:
    """R² of the norms as a probe of the directions predicts them, and in every fold; NaN where that is undefined."""
    with suppress(UndefinedFitError):
        y = norms.astype(float)
        explain_undefined(np.arange(len(y), dtype=float), y)
        probe = ridge_probe(unit(vectors), y - y.mean(), folds)
        return probe.r_squared, probe.fold_r_squared
    return np.nan, ()


def read_vector(
    pooling: Pooling,
    layer: int | None,
    vectors: NDArray[np.float32],
    lengths: NDArray[np.integer],
    folds: NDArray[np.intp],
) -> Reading:
    """How well a probe predicts lengths (n,) from whole vectors (n, width) of that pooling and layer."""
    return _probe_reading((pooling, layer, Readout.VECTOR), vectors, lengths, folds)


def _probe_reading(
    step: Step, vectors: NDArray[np.float32], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Reading:
    try:
        features = _directions(vectors) if step[2] is Readout.DIRECTION else vectors
        probe = ridge_probe(features, lengths, folds)
    except UndefinedFitError as error:
        return Reading(*step, problem=str(error))
    return Reading(*step, probe.r_squared, probe.fold_r_squared, predictions=probe.predictions, error=probe.error)


def _directions(vectors: NDArray[np.float32]) -> Floats:
    """Directions of vectors that were stored in 16 bits; raises UndefinedFitError if they vary by rounding alone.

    Rounding turns vectors of one direction a little, by an amount that depends on their norm: a probe would recover the
    norm from that, although the direction holds nothing.
    """
    if not len(vectors):
        return unit(vectors)
    directions = unit(vectors)
    norms = np.linalg.norm(vectors, axis=1)
    distances = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    rounding = _ROUNDING * np.divide(distances, norms, out=np.zeros_like(norms), where=norms > 0)
    spread = ((directions - directions.mean(axis=0)) ** 2).sum(axis=1)
    if np.sqrt(spread.mean()) < _TIMES_ROUNDING * np.sqrt((rounding**2).mean()):
        raise UndefinedFitError(
            "The direction is the same for all sentences up to rounding, so length cannot be predicted from it."
        )
    return directions
