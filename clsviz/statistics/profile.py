"""How well length can be predicted after each layer: from the norm, from the whole vector, from its direction."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from clsviz.errors import UndefinedFitError
from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.statistics.line import explain_undefined, r_squared
from clsviz.statistics.ridge import guess_error, ridge_probe, unit
from clsviz.vectors import Vectors

Floats = NDArray[np.float64]


_ROUNDING = 2.0**-10 / 12**0.5 / 1.4
"""Typical relative error of a number stored as float16: uniform within half a unit in the last place, mantissa 1.4."""


_TIMES_ROUNDING = 10
"""Directions that vary by less than this many rounding errors get no probe: the errors correlate with length too."""


class Readout(StrEnum):
    """The part of a vector that length is predicted from."""

    NORM = "norm"
    VECTOR = "vector"
    DIRECTION = "direction"


Step = tuple[Pooling, int | None, Readout]
"""Pooling, layer and readout to predict length from; the layer of the pooler output is None."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How well length can be predicted from one readout of one vector.

    layer: 0 is the embedding output; None for the pooler output, which has no layer of its own.
    r_squared: for the norm, R² of its regression on length over all sentences; otherwise R² of a cross-validated ridge
        probe (see `ridge.Probe`). None if undefined, and then `problem` says why.
    fold_r_squared: for each fold where it is defined; for the norm, the squared correlation within the fold; otherwise
        R² on the held-out sentences.
    norm_mean, norm_sd: of the norm, ddof=1; NaN for the other readouts.
    predictions: float64 (n,), the lengths that the probes predict; None for the norm.
    error: mean absolute error of the held-out lengths, in their unit, as predicted by the probe, or by a line on the
        norm; NaN where r_squared is None.
    norm_r_squared: for the direction, R² of the same probe of the norm in the place of the length: how far the
        direction alone tells the norm. NaN where that is undefined, and for the other readouts. norm_fold_r_squared: of
        every fold.
    """

    pooling: Pooling
    layer: int | None
    readout: Readout
    r_squared: float | None = None
    fold_r_squared: tuple[float, ...] = ()
    problem: str = ""
    norm_mean: float = np.nan
    norm_sd: float = np.nan
    predictions: Floats | None = None
    error: float = np.nan
    norm_r_squared: float = np.nan
    norm_fold_r_squared: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Profile:
    """The readings made so far on n sentences, by pooling, layer and readout, in the order of `steps`.

    width: dimensions of a vector. guess_error: the error that a reading's is to be compared with: of guessing the mean
    length of the sentences in the other folds.
    """

    n: int
    width: int
    n_layers: int
    has_pooler: bool
    readings: Mapping[Step, Reading]
    guess_error: float = np.nan

    def get(self, pooling: Pooling, layer: int | None, readout: Readout) -> Reading | None:
        """One reading, or None if it is not made yet; layer None is the last. The pooler output ignores the layer."""
        if pooling is Pooling.POOLER:
            layer = None
        elif layer is None:
            layer = self.n_layers
        return self.readings.get((pooling, layer, readout))

    def line(self, pooling: Pooling, readout: Readout) -> list[Reading | None]:
        """Readings after each layer from 0 on; that of the pooler output stands at the last layer, its input."""
        if pooling is Pooling.POOLER:
            return [*[None] * self.n_layers, self.get(pooling, None, readout)]
        return [self.get(pooling, layer, readout) for layer in range(self.n_layers + 1)]

    @property
    def best(self) -> Reading | None:
        """The reading of the whole [CLS] vector with the highest R², the earliest on a tie; None if there is none."""
        made = [
            reading for reading in self.line(Pooling.CLS, Readout.VECTOR) if reading and reading.r_squared is not None
        ]
        return max(made, key=lambda reading: reading.r_squared or 0.0, default=None)

    @property
    def is_complete(self) -> bool:
        """Whether all readings are made."""
        return len(self.readings) == len(steps(self.n_layers, self.has_pooler))

    def table(self) -> pd.DataFrame:
        """One row per reading, in the order they were made.

        Columns: layer (Int64, missing for the pooler output), pooling, readout, r_squared, lowest_fold, highest_fold,
        error, guess_error, norm_mean, norm_sd, norm_r_squared (NaN where undefined) and problem.
        """
        rows = [
            {
                "layer": reading.layer,
                "pooling": str(reading.pooling),
                "readout": str(reading.readout),
                "r_squared": np.nan if reading.r_squared is None else reading.r_squared,
                "lowest_fold": min(reading.fold_r_squared, default=np.nan),
                "highest_fold": max(reading.fold_r_squared, default=np.nan),
                "error": reading.error,
                "guess_error": self.guess_error,
                "norm_mean": reading.norm_mean,
                "norm_sd": reading.norm_sd,
                "norm_r_squared": reading.norm_r_squared,
                "problem": reading.problem,
            }
            for reading in self.readings.values()
        ]
        columns = ["layer", "pooling", "readout", "r_squared", "lowest_fold", "highest_fold", "error", "guess_error"]
        columns += ["norm_mean", "norm_sd", "norm_r_squared", "problem"]
        return pd.DataFrame(rows, columns=columns).astype({"layer": "Int64"})


def steps(n_layers: int, has_pooler: bool) -> list[Step]:
    """All readings of a model, in the order they are made: quick ones first, then the most wanted."""
    layers = range(n_layers + 1)
    pooler = [Pooling.POOLER] if has_pooler else []
    return [
        *((pooling, layer, Readout.NORM) for pooling in POOLED for layer in layers),
        *((pooling, None, Readout.NORM) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.VECTOR) for layer in layers),
        *((pooling, None, Readout.VECTOR) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.DIRECTION) for layer in layers),
        *((pooling, layer, Readout.VECTOR) for pooling in POOLED[1:] for layer in layers),
    ]


def readings(
    vectors: Vectors, index: NDArray[np.intp], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Iterator[Profile]:
    """Predict the lengths, step by step: yields the profile after each of `steps`, with one more reading.

    index: intp (n,), the sentences to use, such as those under a length cutoff. lengths, folds: (n,), of these
    sentences.
    """
    guessing = guess_error(lengths, folds)
    profile = Profile(len(index), vectors.width, vectors.n_layers, vectors.has_pooler, {}, guessing)
    for step in steps(vectors.n_layers, vectors.has_pooler):
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
    x = (norms - norms.mean())[:, None]  # some norms vary so little that their mean would cost digits
    lines = LinearRegression()
    return float(np.abs(cross_val_predict(lines, x, lengths, cv=PredefinedSplit(folds)) - lengths).mean())


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
