"""How well the length of a sentence can be read after every layer: from the norm, the whole vector, its direction."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError
from clsviz.settings import Pooling
from clsviz.statistics.line import r_squared
from clsviz.statistics.ridge import ridge_probe, unit
from clsviz.vectors import Vectors

Floats = NDArray[np.float64]


_ROUNDING = 2.0**-10 / 12**0.5 / 1.4
"""Typical error of a number kept in float16, as a share of it: even within half of its last place, mantissas of 1.4."""


_TIMES_ROUNDING = 10
"""Directions that vary by less than so many rounding errors are not read: the errors go with the length as well."""


class Readout(StrEnum):
    """From what of a vector the length is read."""

    NORM = "norm"
    VECTOR = "vector"
    DIRECTION = "direction"


Step = tuple[Pooling, int | None, Readout]
"""A vector and what is read of it; the layer of the pooler output is None."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How well the length can be read from one readout of one vector.

    layer: 0 is the embedding output; None that of the pooler output, which has no layer of its own.
    r_squared: of the norm that of its simple regression on length over all sentences; else of a cross-validated ridge
        probe (see `probes.Probe`). None where it is undefined, and then `problem` says why.
    fold_r_squared: of each fold, where it is defined: of the norm the squared correlation within the fold, else of the
        held-out sentences.
    norm_mean, norm_sd: of the norm, ddof=1, in readings of the norm; else NaN.
    predictions: float64 (n,), the lengths that the probes read; None in readings of the norm.
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


@dataclass(frozen=True, eq=False)
class Profile:
    """What was read so far of n sentences: readings by pooling, layer and readout, in the order of `steps`.

    width: components of a vector.
    """

    n: int
    width: int
    n_layers: int
    has_pooler: bool
    readings: Mapping[Step, Reading]

    def get(self, pooling: Pooling, layer: int | None, readout: Readout) -> Reading | None:
        """One reading, or None where it is not made yet; layer None is the last, and not asked of the pooler output."""
        if pooling is Pooling.POOLER:
            layer = None
        elif layer is None:
            layer = self.n_layers
        return self.readings.get((pooling, layer, readout))

    def line(self, pooling: Pooling, readout: Readout) -> list[Reading | None]:
        """Readings after layer 0 to the last; the pooler output's stands at the last, from which it is made."""
        if pooling is Pooling.POOLER:
            return [*[None] * self.n_layers, self.get(pooling, None, readout)]
        return [self.get(pooling, layer, readout) for layer in range(self.n_layers + 1)]

    @property
    def best(self) -> Reading | None:
        """The reading of the whole [CLS] vector with the highest R², the earliest of equals; None without any."""
        made = [
            reading for reading in self.line(Pooling.CLS, Readout.VECTOR) if reading and reading.r_squared is not None
        ]
        return max(made, key=lambda reading: reading.r_squared or 0.0, default=None)

    @property
    def is_complete(self) -> bool:
        """Whether every step is made."""
        return len(self.readings) == len(steps(self.n_layers, self.has_pooler))

    def table(self) -> pd.DataFrame:
        """A row a reading, in the order in which they were made.

        Columns: layer (Int64, missing for the pooler output), pooling, readout, r_squared, lowest_fold, highest_fold,
        norm_mean, norm_sd (NaN where undefined) and problem.
        """
        rows = [
            {
                "layer": reading.layer,
                "pooling": str(reading.pooling),
                "readout": str(reading.readout),
                "r_squared": np.nan if reading.r_squared is None else reading.r_squared,
                "lowest_fold": min(reading.fold_r_squared, default=np.nan),
                "highest_fold": max(reading.fold_r_squared, default=np.nan),
                "norm_mean": reading.norm_mean,
                "norm_sd": reading.norm_sd,
                "problem": reading.problem,
            }
            for reading in self.readings.values()
        ]
        columns = ["layer", "pooling", "readout", "r_squared", "lowest_fold", "highest_fold", "norm_mean", "norm_sd"]
        return pd.DataFrame(rows, columns=[*columns, "problem"]).astype({"layer": "Int64"})


def steps(n_layers: int, has_pooler: bool) -> list[Step]:
    """What is read of a model, what is quick and what is asked first before the rest."""
    layers = range(n_layers + 1)
    pooler = [Pooling.POOLER] if has_pooler else []
    return [
        *((pooling, layer, Readout.NORM) for pooling in (Pooling.CLS, Pooling.MEAN, Pooling.MAX) for layer in layers),
        *((pooling, None, Readout.NORM) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.VECTOR) for layer in layers),
        *((pooling, None, Readout.VECTOR) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.DIRECTION) for layer in layers),
        *((pooling, layer, Readout.VECTOR) for pooling in (Pooling.MEAN, Pooling.MAX) for layer in layers),
    ]


def readings(
    vectors: Vectors, index: NDArray[np.intp], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Iterator[Profile]:
    """Read the lengths, step by step: after every one of `steps` the profile with one more reading.

    index: which of the sentences are used, (n,), such as those under a length cutoff. lengths, folds: of these, (n,).
    """
    profile = Profile(len(index), vectors.width, vectors.n_layers, vectors.has_pooler, {})
    for step in steps(vectors.n_layers, vectors.has_pooler):
        pooling, layer, readout = step
        if readout is Readout.NORM:
            reading = _norm_reading(step, vectors.norms(pooling, layer)[index], lengths, folds)
        else:
            reading = _probe_reading(step, vectors.of(pooling, layer)[index], lengths, folds)
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
        return replace(reading, r_squared=r_squared(x, y), fold_r_squared=tuple(scores))
    except UndefinedFitError as error:
        return replace(reading, problem=str(error))


def _probe_reading(
    step: Step, vectors: NDArray[np.float32], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Reading:
    try:
        read = _directions(vectors) if step[2] is Readout.DIRECTION else vectors
        probe = ridge_probe(read, lengths, folds)
    except UndefinedFitError as error:
        return Reading(*step, problem=str(error))
    return Reading(*step, probe.r_squared, probe.fold_r_squared, predictions=probe.predictions)


def _directions(vectors: NDArray[np.float32]) -> Floats:
    """Directions of vectors that were kept in 16 bits; raises UndefinedFitError where they vary by that rounding alone.

    Vectors of one direction and many norms are rounded a little to its sides, each norm in its own way: a probe would
    read from that the norm, which is not the direction's doing.
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
            "The direction is the same for all sentences but for rounding, so nothing can be read from it."
        )
    return directions
