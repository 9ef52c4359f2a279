"""What the pages speak of, made up: numbers whose answer is known."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from clsviz.analysis import ViewData
from clsviz.analysis.compare import Norms, Row
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Pooling
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.statistics.line import fit
from clsviz.statistics.probes import Profile, Reading, Readout

Values = Sequence[float | None]
"""By layer; None where there is no R²."""


def shown_of(lengths: np.ndarray, norms: np.ndarray, clusters: np.ndarray | None = None) -> ViewData:
    """As a view has it, of sentences of which none are alike unless it is said."""
    clusters = np.arange(len(lengths)) if clusters is None else clusters
    line = fit(lengths, norms, clusters) if len(set(lengths.tolist())) > 1 else None
    problem = "" if line else "All sentences have one length."
    return ViewData(np.arange(len(lengths)), lengths.astype(np.int32), norms, line, problem, clusters=clusters)


def found_of(experiment: Experiment) -> Found:
    """What is found where names already say which commit they mean."""
    weights = Weights(experiment.model, "", Path(), "f" * 64)
    return Found(weights, Sample(Corpus(experiment.selection, "A & B", "c" * 64, 400, experiment.corpus), [], ""))


CONSTANT = "The {} is the same for all sentences, so length cannot be predicted from it."


def profile_of(
    vector: Values,
    norm: Values = (None, 0.2, 0.1),
    direction: Values = (),
    mean: Values = (),
    pooler: float | None = None,
    n: int = 500,
    n_different: int | None = None,
    of_norm: float = 0.9,
    made: int | None = None,
) -> Profile:
    """A profile of a model with as many layers as there are values of the norm, less one.

    Errors follow from R²: a reading of 1 is off by nothing, a guess by 20. of_norm: R² of the norm from the direction.
    made: how many of the readings there are yet.
    """
    readings = {}
    for pooling, readout, values in (
        (Pooling.CLS, Readout.NORM, norm),
        (Pooling.CLS, Readout.VECTOR, vector),
        (Pooling.CLS, Readout.DIRECTION, direction),
        (Pooling.MEAN, Readout.VECTOR, mean),
        (Pooling.POOLER, Readout.VECTOR, [pooler] if pooler else []),
    ):
        for layer, value in enumerate(values):
            step = pooling, None if pooling is Pooling.POOLER else layer, readout
            reading = Reading(*step, value, (), "" if value is not None else CONSTANT.format(readout))
            if value is not None:
                reading = replace(reading, error=20 * (1 - max(value, 0)) ** 0.5)
            if readout is Readout.NORM:
                reading = replace(reading, norm_mean=7.0, norm_sd=0.0 if value is None else 0.5)
            if readout is Readout.DIRECTION:
                reading = replace(reading, norm_r_squared=of_norm)
            readings[step] = reading
    readings = dict(list(readings.items())[:made])
    return Profile(n, 24, len(norm) - 1, pooler is not None, readings, 20.0, n_different)


ROW_LENGTHS = np.random.default_rng(0).integers(3, 40, 500).astype(np.int32)


def row_of(label: str, strength: float, spread: float = 0.2, seed: int = 0, **settings: object) -> Row:
    """A row of 500 sentences whose norm follows the length so much."""
    noise = np.random.default_rng(seed).normal(size=500)
    norms = (7 + spread * (strength * (ROW_LENGTHS - ROW_LENGTHS.mean()) / ROW_LENGTHS.std() + noise)).astype(
        np.float32
    )
    shown = replace(shown_of(np.full(500, 7), norms), lengths=ROW_LENGTHS)
    try:
        shown = replace(shown, fit=fit(ROW_LENGTHS, norms), problem="")
    except UndefinedFitError as error:
        shown = replace(shown, problem=str(error))
    return Row(label, label, 600, True, Norms(shown, ROW_LENGTHS, np.array([np.nan, 0.5])), **settings)  # type: ignore[arg-type]
