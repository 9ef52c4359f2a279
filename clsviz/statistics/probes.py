"""What probes read from vectors: after each layer, on another corpus, and from two principal components."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.measurements import POOLED, Vectors
from clsviz.settings import Pooling
from clsviz.statistics.intervals import Bootstrap, Floats, Interval
from clsviz.statistics.line import explain_undefined, r_squared
from clsviz.statistics.ridge import (
    blas_threads,
    explain_constant_vectors,
    explain_untestable_lengths,
    guess_error,
    ridge_predict,
    ridge_probe,
    unit,
)


class Readout(StrEnum):
    """The part of a vector that length is predicted from."""

    NORM = "norm"
    VECTOR = "vector"
    DIRECTION = "direction"


Step = tuple[Pooling, int | None, Readout]
"""Pooling, layer and readout to predict length from; the layer of the pooler output is None."""


@dataclass(frozen=True)
class CurvePoint:
    """What a probe reads with the first n sentences alone: held-out R², its 95% interval, and the mean error."""

    n: int
    r_squared: float
    interval: Interval
    error: float


@dataclass(frozen=True, eq=False)
class Reading:
    """How well length can be predicted from one readout of one vector.

    layer: 0 is the embedding output; None for the pooler output, which has no layer of its own.
    r_squared: for the norm, R² of its regression on length over all sentences; otherwise R² of a cross-validated ridge
        probe (see `ridge.Probe`). None if undefined, and then `problem` says why.
    fold_r_squared: for each fold where it is defined; for the norm, the squared correlation within the fold; otherwise
        R² on the held-out sentences.
    norm_mean, norm_sd: of the norm, ddof=1; NaN for the other readouts.
    predictions: float64 (n,), the lengths that the probes predict; None for the norm, and in every stored result.
    error: mean absolute error of the held-out lengths, in their unit, as predicted by the probe, or by a line on the
        norm; NaN where r_squared is None.
    norm_r_squared: for the direction, R² of the same probe of the norm in the place of the length: how far the
        direction alone tells the norm. NaN where that is undefined, and for the other readouts. norm_fold_r_squared: of
        every fold.
    interval: of the R² of a probe, at 95%, by drawing other sentences to test it on (`Bootstrap.r_squared`); None where
        it is not known. beyond_cls: of how much higher that R² is than that of the whole [CLS] vector after the same
        layer, on the same sentences; None where it is not known, and of that vector itself.
    linear_share: of the variance of whole vectors, the share that is linear in length; linear_over_mean: that variance
        relative to the squared norm of the mean vector. NaN for the other readouts.
    curve: after the last layer, what a probe reads with fewer sentences, and with all.
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
    interval: Interval | None = None
    beyond_cls: Interval | None = None
    linear_share: float = np.nan
    linear_over_mean: float = np.nan
    curve: tuple[CurvePoint, ...] = ()


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
        return self.best_of(Pooling.CLS)

    def best_of(self, pooling: Pooling) -> Reading | None:
        """The same of another vector."""
        made = [reading for reading in self.line(pooling, Readout.VECTOR) if reading and reading.r_squared is not None]
        return max(made, key=lambda reading: reading.r_squared or 0.0, default=None)

    def is_read(self, pooling: Pooling) -> bool:
        """Whether a vector is read whole after every layer that has it; its norms are read before."""
        steps = [step for step in self.steps if step[0] is pooling and step[2] is Readout.VECTOR]
        return all(step in self.readings for step in steps)

    @property
    def is_complete(self) -> bool:
        """Whether all readings are made."""
        return len(self.readings) == len(self.steps)

    def table(self) -> pd.DataFrame:
        """One row per reading, in the order they were made.

        Columns: layer (Int64, missing for the pooler output), pooling, readout, r_squared, lower, upper (its 95%
        interval), lowest_fold, highest_fold, error, guess_error, norm_mean, norm_sd, norm_r_squared, linear_share,
        linear_over_mean (NaN where undefined) and problem.
        """
        rows = [
            {
                "layer": reading.layer,
                "pooling": str(reading.pooling),
                "readout": str(reading.readout),
                "r_squared": np.nan if reading.r_squared is None else reading.r_squared,
                "lower": reading.interval[0] if reading.interval else np.nan,
                "upper": reading.interval[1] if reading.interval else np.nan,
                "lowest_fold": min(reading.fold_r_squared, default=np.nan),
                "highest_fold": max(reading.fold_r_squared, default=np.nan),
                "error": reading.error,
                "guess_error": self.guess_error,
                "norm_mean": reading.norm_mean,
                "norm_sd": reading.norm_sd,
                "norm_r_squared": reading.norm_r_squared,
                "linear_share": reading.linear_share,
                "linear_over_mean": reading.linear_over_mean,
                "problem": reading.problem,
            }
            for reading in self.readings.values()
        ]
        columns = ["layer", "pooling", "readout", "r_squared", "lower", "upper", "lowest_fold", "highest_fold"]
        columns += ["error", "guess_error", "norm_mean", "norm_sd", "norm_r_squared", "linear_share"]
        columns += ["linear_over_mean", "problem"]
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
    clusters = np.arange(len(index)) if clusters is None else clusters
    bootstrap, n_different = Bootstrap(clusters), len(np.unique(clusters))
    of = len(index), vectors.width, vectors.n_layers, vectors.has_pooler
    profile = Profile(*of, {}, guessing, n_different, len(vectors.poolings))
    for step in profile.steps:
        pooling, layer, readout = step
        norms = vectors.norms(pooling, layer)[index]
        if readout is Readout.NORM:
            reading = _norm_reading(step, norms, lengths, folds)
        else:
            of_step = vectors.of(pooling, layer)[index]
            reading = _with_intervals(_probe_reading(step, of_step, lengths, folds), lengths, folds, bootstrap, profile)
            if readout is Readout.VECTOR and layer in (None, vectors.n_layers) and reading.r_squared is not None:
                curve = learning_curve(of_step, lengths, folds, clusters, reading)
                reading = replace(reading, curve=curve)
        if readout is Readout.DIRECTION and reading.r_squared is not None:
            of_norm, of_folds = _norm_from(vectors.of(pooling, layer)[index], norms, folds)
            reading = replace(reading, norm_r_squared=of_norm, norm_fold_r_squared=of_folds)
        profile = replace(profile, readings={**profile.readings, step: reading})
        yield profile


def _with_intervals(
    reading: Reading, lengths: NDArray[np.integer], folds: NDArray[np.intp], bootstrap: Bootstrap, profile: Profile
) -> Reading:
    """The reading with the interval of its R², and of how much that is beyond the whole [CLS] vector’s."""
    predictions, cls = reading.predictions, profile.get(Pooling.CLS, reading.layer, Readout.VECTOR)
    if predictions is None:
        return reading
    beyond = None
    if cls is not None and cls.predictions is not None:
        beyond = bootstrap.r_squared_difference(lengths, predictions, cls.predictions, folds)
    return replace(reading, interval=bootstrap.r_squared(lengths, predictions, folds), beyond_cls=beyond)


CURVE_SIZES = (350, 600, 1000, 2000)
"""How many sentences a learning curve has points for, beside all."""


def learning_curve(
    vectors: NDArray[np.float32],
    lengths: NDArray[np.integer],
    folds: NDArray[np.intp],
    clusters: NDArray[np.intp],
    whole: Reading,
) -> tuple[CurvePoint, ...]:
    """What probes read from the first 350, 600, 1,000 and 2,000 of n vectors (n, width), and from all.

    Each is a part of the next, with the same folds. lengths, folds, clusters: (n,). whole: the reading of all, with its
    interval. Sizes of which no probe can be fitted are left out.
    """
    points = []
    for n in [size for size in CURVE_SIZES if size < len(lengths)]:
        with suppress(UndefinedFitError):
            probe = ridge_probe(vectors[:n], lengths[:n], folds[:n])
            interval = Bootstrap(clusters[:n]).r_squared(lengths[:n], probe.predictions, folds[:n])
            points.append(CurvePoint(n, probe.r_squared, interval, probe.error))
    assert whole.r_squared is not None  # there is one
    assert whole.interval is not None
    return (*points, CurvePoint(len(lengths), whole.r_squared, whole.interval, whole.error))


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


def with_curve(
    reading: Reading,
    vectors: NDArray[np.float32],
    lengths: NDArray[np.integer],
    folds: NDArray[np.intp],
    clusters: NDArray[np.intp],
) -> Reading:
    """A reading of whole vectors, as `read_vector` gives it, with its interval and its learning curve."""
    if reading.predictions is None:
        return reading
    interval = Bootstrap(clusters).r_squared(lengths, reading.predictions, folds)
    reading = replace(reading, interval=interval)
    return replace(reading, curve=learning_curve(vectors, lengths, folds, clusters, reading))


def linear_variance(vectors: NDArray[np.float32], lengths: NDArray[np.integer]) -> tuple[float, float]:
    """Of the variance of vectors (n, width) the share that is linear in lengths (n,); and relative to the mean vector.

    Regressed on length, every dimension has a slope; the variance that is linear in length is the squared norm of the
    slopes times the variance of the lengths. It is set beside the variance of the vectors, and beside the squared norm
    of their mean. Of vectors that know no length the share is 1/(n − 1) on average. NaN where it is undefined.
    """
    x, y = np.asarray(vectors, dtype=float), np.asarray(lengths, dtype=float)
    if len(y) < 2 or np.ptp(y) == 0:
        return np.nan, np.nan
    mean, y = x.mean(axis=0), y - y.mean()
    linear = float(((y @ x) ** 2).sum() / (y @ y) / len(y))  # as y is centred, x need not be
    total, of_mean = float(x.var(axis=0).sum()), float(mean @ mean)
    return (linear / total if total > 0 else np.nan), (linear / of_mean if of_mean > 0 else np.nan)


def _probe_reading(
    step: Step, vectors: NDArray[np.float32], lengths: NDArray[np.integer], folds: NDArray[np.intp]
) -> Reading:
    try:
        features = _directions(vectors) if step[2] is Readout.DIRECTION else vectors
        probe = ridge_probe(features, lengths, folds)
    except UndefinedFitError as error:
        return Reading(*step, problem=str(error))
    reading = Reading(*step, probe.r_squared, probe.fold_r_squared, predictions=probe.predictions, error=probe.error)
    if step[2] is not Readout.VECTOR:
        return reading
    share, over_mean = linear_variance(vectors, lengths)
    return replace(reading, linear_share=share, linear_over_mean=over_mean)


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


@dataclass(frozen=True)
class Leg:
    """A probe after one layer: R² and mean absolute error of the lengths that it predicts; NaN where undefined.

    within: of held-out sentences of the corpus that it is trained on. across: of the other corpus, by a probe of all
    sentences of the first. there: of held-out sentences of the other corpus, by a probe trained on that, to compare.
    """

    layer: int
    within_r_squared: float = np.nan
    within_error: float = np.nan
    across_r_squared: float = np.nan
    across_error: float = np.nan
    there_r_squared: float = np.nan
    there_error: float = np.nan
    within_fold_r_squared: tuple[float, ...] = ()
    there_fold_r_squared: tuple[float, ...] = ()


@dataclass(frozen=True)
class Travel:
    """The legs of the layers done so far.

    n, n_there: sentences of either corpus. guess_error: of guessing, for held-out sentences of the first corpus, its
    mean length. guess_error_across: of guessing that mean for the other corpus. guess_error_there: of guessing its own.
    n_clusters, n_clusters_there: how many of them differ by more than a few words; None if that is not known.
    """

    n: int
    n_there: int
    n_layers: int
    guess_error: float
    guess_error_across: float
    guess_error_there: float
    legs: tuple[Leg, ...] = ()
    n_clusters: int | None = None
    n_clusters_there: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all layers are done."""
        return bool(self.legs) and self.legs[-1].layer == self.n_layers


@dataclass(frozen=True, eq=False)
class Sentences:
    """The vectors of a corpus's sentences: which are used, intp (n,), and their lengths and folds, (n,) each."""

    vectors: Vectors
    index: NDArray[np.intp]
    lengths: NDArray[np.integer]
    folds: NDArray[np.intp]


def travel(here: Sentences, there: Sentences, pooling: Pooling) -> Iterator[Travel]:
    """Train probes on the sentences here, and read those there, layer by layer: yields what is known after each.

    The probes are those of `ridge_probe`, of the vectors of one pooling; the pooler output stands at the last layer.
    Those across see no sentence from there.
    """
    found = Travel(
        len(here.index),
        len(there.index),
        here.vectors.n_layers,
        guess_error(here.lengths, here.folds),
        float(np.abs(there.lengths - here.lengths.mean()).mean()) if len(there.index) and len(here.index) else np.nan,
        guess_error(there.lengths, there.folds),
    )
    last = here.vectors.n_layers
    for layer in [last] if pooling is Pooling.POOLER else range(last + 1):
        found = replace(found, legs=(*found.legs, _leg(here, there, pooling, layer)))
        yield found


def _leg(here: Sentences, there: Sentences, pooling: Pooling, layer: int) -> Leg:
    from sklearn.metrics import r2_score

    x, z = (of.vectors.of(pooling, layer)[of.index] for of in (here, there))
    leg = Leg(layer)
    try:
        probe = ridge_probe(x, here.lengths, here.folds)
        leg = replace(leg, within_r_squared=probe.r_squared, within_error=probe.error)
        leg = replace(leg, within_fold_r_squared=probe.fold_r_squared)
        probe = ridge_probe(z, there.lengths, there.folds)
    except UndefinedFitError:
        return leg  # there is nothing to train on, or to compare with
    lengths, folds = (np.concatenate(both) for both in ((here.lengths, there.lengths), (here.folds, [-1] * len(z))))
    predicted = ridge_predict(np.concatenate([x, z]), lengths, folds, -1)
    return replace(
        leg,
        across_r_squared=float(r2_score(there.lengths, predicted)),
        across_error=float(np.abs(predicted - there.lengths).mean()),
        there_r_squared=probe.r_squared,
        there_error=probe.error,
        there_fold_r_squared=probe.fold_r_squared,
    )


MOST_PROJECTED = 5000
"""Sentences that are projected and drawn."""


@dataclass(frozen=True, eq=False)
class Projection:
    """n vectors on the two directions along which they vary most.

    coordinates: float32 (n, 2), distances from the mean vector along each direction, in the unit of the vectors.
    shares: of the variance of the vectors, which each direction holds.
    r_squared: held-out R² of length from the two coordinates alone, by the probe of `ridge_probe`; fold_r_squared: in
        each fold.
    """

    coordinates: NDArray[np.float32]
    shares: tuple[float, float]
    r_squared: float
    fold_r_squared: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many sentences are projected."""
        return len(self.coordinates)


def projection(vectors: NDArray[np.floating], lengths: ArrayLike, folds: NDArray[np.intp]) -> Projection:
    """Project vectors (n, width) by PCA (Pearson 1901); lengths and folds are (n,).

    The components are those of all vectors given, the first 5,000 at most. They know no length, and what predicts it
    from the two coordinates is tested on held-out sentences. Raises UndefinedFitError as `ridge_probe` does.
    """
    from sklearn.decomposition import PCA

    x, y = np.asarray(vectors, dtype=float)[:MOST_PROJECTED], np.asarray(lengths, dtype=float)[:MOST_PROJECTED]
    folds = folds[:MOST_PROJECTED]
    explain_untestable_lengths(y, folds)
    explain_constant_vectors(x)
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        pca = PCA(2, svd_solver="covariance_eigh")
        coordinates = pca.fit_transform(x - x.mean(axis=0))  # centred before, or a large mean would cost digits
    probe = ridge_probe(coordinates, y, folds)
    first, second = pca.explained_variance_ratio_.tolist()
    return Projection(coordinates.astype(np.float32), (first, second), probe.r_squared, probe.fold_r_squared)
