"""What probes read after each layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.statistics.results.line import Floats


@dataclass(frozen=True, eq=False)
class Probe:
    """What cross-validated probes predict of the lengths of n sentences.

    r_squared: mean over the folds; below 0 where the mean length would have been a better guess.
    fold_r_squared: R² on the held-out sentences of each fold. A fold is left out if its lengths are all the same (or
        if it holds one sentence), as there is no variance to explain.
    predictions: float64 (n,), each length as predicted by the probe that did not see the sentence.
    error: mean absolute difference between predictions and lengths, in the unit of the lengths.
    strengths: the ridge penalty chosen in each fold.
    """

    r_squared: float
    fold_r_squared: tuple[float, ...]
    predictions: Floats
    error: float
    strengths: tuple[float, ...]


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
    length of the sentences in the other folds. n_clusters: how many of the sentences differ by more than a few words;
    None in a result that was kept without it. n_poolings: how many of `POOLED` there are; one where all that is known
    of a sentence is a single vector.
    """

    n: int
    width: int
    n_layers: int
    has_pooler: bool
    readings: Mapping[Step, Reading]
    guess_error: float = np.nan
    n_clusters: int | None = None
    n_poolings: int = len(POOLED)

    @property
    def steps(self) -> list[Step]:
        """All readings, in the order they are made."""
        return steps(self.n_layers, self.has_pooler, self.n_poolings)

    @property
    def is_of_one_vector(self) -> bool:
        """Whether all that is known of a sentence is a single vector, from no known layer."""
        return self.n_poolings == 1

    @property
    def n_different(self) -> int:
        """How many different sentences there are, those that are nearly the same counted once."""
        return self.n if self.n_clusters is None else self.n_clusters

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
        return len(self.readings) == len(self.steps)

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


def steps(n_layers: int, has_pooler: bool, n_poolings: int = len(POOLED)) -> list[Step]:
    """All readings of a model, in the order they are made: quick ones first, then the most wanted."""
    layers, pooled = range(n_layers + 1), POOLED[:n_poolings]
    pooler = [Pooling.POOLER] if has_pooler else []
    return [
        *((pooling, layer, Readout.NORM) for pooling in pooled for layer in layers),
        *((pooling, None, Readout.NORM) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.VECTOR) for layer in layers),
        *((pooling, None, Readout.VECTOR) for pooling in pooler),
        *((Pooling.CLS, layer, Readout.DIRECTION) for layer in layers),
        *((pooling, layer, Readout.VECTOR) for pooling in pooled[1:] for layer in layers),
    ]
