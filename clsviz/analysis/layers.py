"""What norms and vectors say about length after every layer: readings, SentLen, dimensions, projection."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clsviz.analysis.view import advised, audit_of, check_layer, lengths_of, more_than, near_duplicates, under_cutoff
from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Means, Vectors
from clsviz.settings import DRAWS, Lengths, Pooling
from clsviz.statistics import line, probes, sentlen
from clsviz.statistics.dimensions import Dimensions, NormOf, dimensions, without_layer_norm
from clsviz.statistics.intervals import LEAST_TOLD, ROUNDING
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.probes import MOST_PROJECTED, Profile, Projection, Reading, Readout, readings
from clsviz.statistics.ridge import Probe, folds_of, ridge_probe
from clsviz.statistics.sentlen import CHANCE, Code, Result, online_code

MOST_DRAWN = 200
"""Sentences drawn after each layer: a browser has as many pictures to draw as the model has layers. And of those that
are selected, as many more."""


@dataclass(frozen=True, eq=False)
class AfterLayer:
    """The norms of one vector after one layer, and the line through them.

    norms: float32 (n_drawn,). mean, sd: of all sentences. r_squared, slope (norm per unit of length), intercept: of the
    line through all; None if there is none, and `problem` then says why, in two words.
    """

    layer: int
    norms: NDArray[np.float32]
    mean: float
    sd: float
    r_squared: float | None = None
    slope: float | None = None
    intercept: float | None = None
    problem: str = ""
    pooling: Pooling = Pooling.CLS


@dataclass(frozen=True, eq=False)
class EveryLayer:
    """The same n sentences after every layer, and mean-pooled after the last where that is known.

    index: intp (n_drawn,), the sentences that are drawn, among those measured. lengths: int32 (n_drawn,).
    """

    n: int
    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    layers: tuple[AfterLayer, ...]


def every_layer(found: Found, view: View, pooled: Vectors | Means | None = None) -> EveryLayer:
    """Norm against length after each layer, for the sentences that the view shows; its layer and pooling play no part.

    pooled: of the same sentences, for the norms of their mean-pooled vectors.
    """
    index, _ = under_cutoff(found.measurements, view)
    lengths = lengths_of(found, view, index)

    def after(found: Found, pooling: Pooling, layer: int) -> AfterLayer:
        return _after(found, replace(view, pooling=pooling, layer=layer), index, lengths)

    n_layers = found.measurements.n_layers
    layers = [after(found, Pooling.CLS, layer) for layer in range(n_layers + 1)]
    if pooled is not None and len(pooled) >= len(found.measurements):
        layers.append(after(replace(found, measurements=pooled, audit=None), Pooling.MEAN, n_layers))
    return EveryLayer(len(index), index[:MOST_DRAWN], lengths[:MOST_DRAWN], tuple(layers))  # the order is random


def with_selected(
    every: EveryLayer, found: Found, view: View, pooled: Vectors | Means | None, selected: NDArray[np.intp]
) -> EveryLayer:
    """What `every_layer` gives, with some sentences drawn as well, intp (n,), among those measured."""
    index, _ = under_cutoff(found.measurements, view)
    lengths = lengths_of(found, view, index)
    is_also = np.isin(index[MOST_DRAWN:], selected)
    drawn = np.append(np.arange(len(every.index)), MOST_DRAWN + np.flatnonzero(is_also)[:MOST_DRAWN])
    layers = []
    for after in every.layers:
        measured = found.measurements if pooled is None or after.pooling is Pooling.CLS else pooled
        layers.append(replace(after, norms=measured.norms(after.pooling, after.layer)[index[drawn]]))
    return replace(every, index=index[drawn], lengths=lengths[drawn], layers=tuple(layers))


def _after(found: Found, view: View, index: NDArray[np.intp], lengths: NDArray[np.int32]) -> AfterLayer:
    assert view.layer is not None  # each has its number
    norms = found.measurements.norms(view.pooling, view.layer)[index]
    y = norms.astype(float)
    mean, sd = (float(y.mean()), float(y.std(ddof=1))) if len(y) > 1 else (0.0, 0.0)
    after = AfterLayer(view.layer, norms[:MOST_DRAWN], mean, sd, pooling=view.pooling)
    audit = audit_of(found, view)
    if found.audit is not None and (audit is None or not audit.keeps_r_squared):
        return replace(after, problem="not measurable")
    try:
        r_squared = line.r_squared(lengths, norms)
    except UndefinedFitError:
        return replace(after, problem="constant" if len(y) > 1 and sd <= ROUNDING * mean else "no line")
    if len(y) < LEAST_TOLD:
        return replace(after, problem="too few")
    x = lengths - lengths.mean()
    slope = float(x @ (y - mean) / (x @ x))
    return replace(after, r_squared=r_squared, slope=slope, intercept=mean - slope * float(lengths.mean()))


@dataclass(frozen=True, eq=False)
class SentLen:
    """The SentLen task on a vector of that width, and on its norm alone; None if undefined, and `problem` says why.

    vector, norm: of the first draw of sentences. vector_draws, norm_draws: the accuracies of each of `DRAWS` draws, as
    far as they are made: with few sentences in the rarest bin, one draw's accuracy says little. vector_code, norm_code:
    the bits that the classes of the first draw's training sentences take.
    """

    width: int
    vector: Result | None
    norm: Result | None
    problem: str = ""
    vector_draws: tuple[float, ...] = ()
    norm_draws: tuple[float, ...] = ()
    vector_code: Code | None = None
    norm_code: Code | None = None


@dataclass(frozen=True, eq=False)
class NormBreakdown:
    """What makes up the norm: its dimensions, and the gain and bias of the LayerNorm that the vector comes from.

    Each is None if undefined; its problem then says why.
    """

    by_dimension: Dimensions | None
    by_dimension_problem: str
    layer_norm: list[NormOf] | None
    layer_norm_problem: str


def head(found: Found, n: int) -> Found:
    """The same with only the first n measured sentences."""
    return replace(found, measurements=found.measurements.head(n))


def profiles(found: Found, view: View) -> Iterator[Profile]:
    """How well length is predicted from each vector, step by step (`probes.readings`), for the sentences shown."""
    index, lengths = used_sentences(found, view)
    yield from readings(found.vectors, index, lengths, folds(found, view, index), near_duplicates(found, view)[index])


def shuffled_probes(found: Found, view: View, profile: Profile) -> list[Probe]:
    """The best layer's [CLS] probe with the lengths shuffled among the sentences, five times: R² should be about 0."""
    best = profile.best
    if best is None:
        return []
    index, lengths = used_sentences(found, view)
    vectors = found.vectors.of(Pooling.CLS, best.layer)[index]
    of_folds = folds(found, view, index)
    try:
        return [ridge_probe(vectors, shuffled(lengths, seed), of_folds) for seed in range(DRAWS)]
    except UndefinedFitError:
        return []


def classifications(found: Found, view: View) -> Iterator[SentLen]:
    """The SentLen task on the view's vector, draw by draw; about the number of words, whatever the view's unit.

    With shuffled lengths, the classes are shuffled among the sentences of the task.
    """
    index, _ = under_cutoff(found.measurements, view)
    sentences, clusters = [found.sentences[i] for i in index], near_duplicates(found, view)[index]
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    norms = found.vectors.norms(view.pooling, view.layer)[index]
    result = SentLen(found.vectors.width, None, None)
    first = None
    try:
        for seed in range(DRAWS):
            task = sentlen.task(sentences, seed, clusters=clusters)
            if view.lengths is Lengths.SHUFFLED:
                labels, drawn = task.labels.copy(), np.concatenate([task.train, task.dev, task.test])
                labels[drawn] = shuffled(labels[drawn])
                task = replace(task, labels=labels)
            first = first or task
            of_vector = sentlen.classify(vectors, task)
            draws = (*result.vector_draws, of_vector.accuracy)
            result = replace(result, vector=result.vector or of_vector, vector_draws=draws)
            try:
                of_norm = sentlen.classify(norms, task)
                draws = (*result.norm_draws, of_norm.accuracy)
                result = replace(result, norm=result.norm or of_norm, norm_draws=draws)
            except UndefinedFitError as error:
                result = replace(result, problem=str(error))
            yield result
        assert first is not None  # there is a draw
        result = replace(result, vector_code=online_code(vectors, first))
        if result.norm is not None:
            result = replace(result, norm_code=online_code(norms, first))
        yield result
    except TooFewError as error:
        more = more_than(found, view, sentlen.falls_short(sentences, clusters))
        yield replace(result, problem=f"{error} {more.advice}")
    except UndefinedFitError as error:
        yield replace(result, problem=str(error))


def classify(found: Found, view: View) -> SentLen:
    """The last of `classifications`."""
    *_, result = classifications(found, view)
    return result


def norm_breakdown(found: Found, view: View) -> NormBreakdown:
    """Which dimensions make up the norm of the view's vector, and what gain and bias do to it."""
    index, lengths = used_sentences(found, view)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    by_dimension, layer_norm, problems = None, None, ["", ""]
    try:
        by_dimension = dimensions(vectors, lengths)
    except UndefinedFitError as error:
        problems[0] = str(error)
    if view.pooling is Pooling.CLS:
        gain, bias = found.vectors.layer_norms[found.vectors.n_layers if view.layer is None else view.layer]
        try:
            layer_norm = without_layer_norm(vectors, lengths, gain, bias)
        except UndefinedFitError as error:
            problems[1] = str(error)
    else:
        problems[1] = "Only the vectors of single tokens, such as [CLS], come from a LayerNorm as they are."
    return NormBreakdown(by_dimension, problems[0], layer_norm, problems[1])


def summary(found: Found, view: View, profile: Profile) -> dict[str, object]:
    """The profile and its controls, ready for JSON; undefined values are None."""
    check_layer(view, found.vectors.n_layers)

    def row(layer: int) -> dict[str, object]:
        norm, direction = (
            profile.readings[Pooling.CLS, layer, readout] for readout in (Readout.NORM, Readout.DIRECTION)
        )
        return {
            "layer": layer,
            "norm_mean": finite_or_none(norm.norm_mean),
            "norm_sd": finite_or_none(norm.norm_sd),
            **_read("norm", norm),
            **_read_vector("probe", profile.get(Pooling.CLS, layer, Readout.VECTOR)),
            **_read_vector("direction", direction),
            "norm_from_direction_r_squared": finite_or_none(direction.norm_r_squared),
            "norm_from_direction_fold_r_squared": list(direction.norm_fold_r_squared),
            **_read_vector("mean_pool_probe", profile.get(Pooling.MEAN, layer, Readout.VECTOR)),
            **_read_vector("max_pool_probe", profile.get(Pooling.MAX, layer, Readout.VECTOR)),
            **linear_summary(profile.get(Pooling.CLS, layer, Readout.VECTOR)),
        }

    controls = shuffled_probes(found, view, profile)
    task = classify(found, view)
    return {
        "n_used": profile.n,
        "n_clusters": profile.n_clusters,
        "layers": [row(layer) for layer in range(profile.n_layers + 1)],
        "best_layer": profile.best.layer if profile.best else None,
        "guess_error": finite_or_none(profile.guess_error),
        **_read_vector("pooler_probe", profile.get(Pooling.POOLER, None, Readout.VECTOR)),
        "learning_curves": {
            name: curve_summary(profile.get(pooling, None, Readout.VECTOR))
            for name, pooling in (
                ("probe", Pooling.CLS),
                ("mean_pool_probe", Pooling.MEAN),
                ("max_pool_probe", Pooling.MAX),
                ("pooler_probe", Pooling.POOLER),
            )
        },
        **_read("shuffled_probe", controls[0] if controls else None),
        "shuffled_probe_draws": [control.r_squared for control in controls],
        "sentlen_accuracy": task.vector and task.vector.accuracy,
        "sentlen_interval": task.vector and list(task.vector.interval),
        "sentlen_draws": list(task.vector_draws),
        "sentlen_accuracy_norm_only": task.norm and task.norm.accuracy,
        "sentlen_draws_norm_only": list(task.norm_draws),
        "sentlen_code_bits": task.vector_code and task.vector_code.bits,
        "sentlen_code_bits_norm_only": task.norm_code and task.norm_code.bits,
        "sentlen_code_bits_uniform": task.vector_code and task.vector_code.uniform_bits,
        "sentlen_chance": CHANCE,
        "sentlen_n_train": task.vector and task.vector.n_train,
        "sentlen_n_test": task.vector and task.vector.n_test,
        "sentlen_problem": task.problem or None,
    }


def _read(name: str, reading: Reading | Probe | None) -> dict[str, object]:
    """R², its value in every fold and the mean absolute error of a reading, by keys that begin with its name."""
    return {
        f"{name}_r_squared": reading and reading.r_squared,
        f"{name}_fold_r_squared": list(reading.fold_r_squared) if reading else [],
        f"{name}_error": finite_or_none(reading.error) if reading else None,
    }


def _read_vector(name: str, reading: Reading | None) -> dict[str, object]:
    """The same of a probe, with the 95% interval of R²."""
    interval = reading.interval if reading else None
    return {**_read(name, reading), f"{name}_interval": interval and list(interval)}


def reading_summary(reading: Reading) -> dict[str, object]:
    """A reading after a layer, ready for JSON."""
    return {"layer": reading.layer, "r_squared": reading.r_squared, "error": finite_or_none(reading.error)}


def linear_summary(reading: Reading | None) -> dict[str, object]:
    """How much of the variance of a vector is linear in length, ready for JSON."""
    return {
        "linear_share": finite_or_none(reading.linear_share) if reading else None,
        "linear_over_squared_mean": finite_or_none(reading.linear_over_mean) if reading else None,
    }


def curve_summary(reading: Reading | None) -> list[dict[str, object]]:
    """The learning curve of a reading, ready for JSON; empty where there is none."""
    return [
        {"n": point.n, "r_squared": point.r_squared, "interval": list(point.interval), "error": point.error}
        for point in (reading.curve if reading else ())
    ]


def used_sentences(found: Found, view: View) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """The sentences that are used, and their lengths."""
    index, _ = under_cutoff(found.measurements, view)
    return index, lengths_of(found, view, index)


def folds(found: Found, view: View, index: NDArray[np.intp]) -> NDArray[np.intp]:
    """The fold of each sentence; a single fold if there are too few sentences, which the probes then report."""
    try:
        return folds_of(near_duplicates(found, view)[index])
    except UndefinedFitError:
        return np.zeros(len(index), np.intp)


def finite_or_none(value: float) -> float | None:
    """The number, or None in its place where it is undefined."""
    return value if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Projected:
    """The projection, and its sentences: index intp (n,) among those measured, and lengths int32 (n,)."""

    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    projection: Projection


def project(found: Found, view: View) -> Projected:
    """The vectors of the sentences shown on two principal components; raises UndefinedFitError where there are none."""
    index, lengths = used_sentences(found, view)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    with advised(found, view):
        projected = probes.projection(vectors, lengths, folds(found, view, index))
    return Projected(index[:MOST_PROJECTED], lengths[:MOST_PROJECTED], projected)
