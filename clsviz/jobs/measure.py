"""Measuring a sample, a slice of about a second at a time."""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.worker import Runner
from clsviz.measurements import FORMS, Arrays, Kind, Last, Means, Norms
from clsviz.sources import models, sampling
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.store.measurements import MERGED, Measurements, n_sentences

SLICE_SECONDS = 1.0
FIRST_SLICE = 16
"""Sentences whose time is not known yet: so many long ones take a large model half a minute."""

GROWTH = 1.5
"""A result is published with so many times the sentences of the last: pages are drawn for it."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model and a sample, ready to be measured."""

    weights: Weights
    sample: Sample


@dataclass(frozen=True, eq=False)
class Measured:
    """The norms of the first `len(norms)` sentences of a sample, by one model.

    key: the name under which they are stored. n_new: sentences that were measured now, which took
    so many seconds; the others were stored.
    is_complete: True if every sentence of the sample is measured.
    means: norms of the mean of these sentences, where all of them are measured too.
    """

    key: str
    weights: Weights
    sample: Sample
    norms: Norms
    n_new: int
    seconds: float
    is_complete: bool
    means: Means | None = None


def prepare(job: Job[Prepared], experiment: Experiment, root: Path) -> Steps:
    """Find the model and draw the sample of an experiment, downloading what this machine lacks."""
    weights = models.find(experiment.model, experiment.seed, job.show)
    yield
    job.result = Prepared(weights, sampling.draw(experiment, root, job.show))


def measure(
    job: Job[Measured],
    prepared: Prepared,
    experiment: Experiment,
    kind: Kind,
    measurements: Measurements,
    runner: Runner,
) -> Steps:
    """Measure a sample: what is stored is read, the rest is run and stored.

    kind: norms, or vectors, which are measured of the first `probe_size` sentences.
    """
    weights, sample = prepared.weights, prepared.sample
    if kind == "vectors":
        sample = replace(sample, order=sample.order[: experiment.probe_size])
    key, total = key_of(prepared, experiment, kind), len(sample)
    measured, slices = measurements.read(key, total), list[Arrays]()
    n_stored = merged = done = sum(map(n_sentences, measured))
    size, seconds, published = FIRST_SLICE, 0.0, 0
    job.show(done, total, "sentences")
    if done < total:
        runner.load(weights, experiment.precision)
    while True:
        job.show(done, total, "sentences")
        if done and (done >= GROWTH * published or done == total):
            norms = FORMS[kind].from_slices([*measured, *slices])
            stored = (
                measurements.read(key.replace(kind, "means", 1), total) if done == total else []
            )
            has_means = sum(map(n_sentences, stored)) == done
            means = Means.from_slices(stored) if has_means else None
            counts = done - n_stored, seconds, done == total
            job.result = Measured(key, weights, sample, norms, *counts, means)
            published = done
        if done == total:
            return
        yield
        sentences = sample.sentences(done, min(done + size, total))
        began = time.monotonic()
        arrays = runner.run(weights, experiment.precision, sentences, kind)
        last = time.monotonic() - began
        seconds += last
        size = max(FIRST_SLICE, round(len(sentences) * SLICE_SECONDS / last))
        measurements.append(key, done, arrays)
        slices.append(arrays)
        done += len(sentences)
        if len(slices) == MERGED:
            measured.append(measurements.merge(key, merged, slices))
            slices, merged = [], done


def last_vectors(
    job: Job[Any],
    prepared: Prepared,
    experiment: Experiment,
    measurements: Measurements,
    runner: Runner,
    n_done: int = 0,
    n_all: int = 0,
) -> Generator[None, None, tuple[Last, float]]:
    """Measure a sample after the last layer, as a part of a job; returns it, and the seconds.

    n_done, n_all: texts of the parts before, and of all parts, for the progress of the job.
    Raises SettingError, with the first texts, where the model lacks the pooling.
    """
    part: Job[Measured] = Job()
    for _ in measure(part, prepared, experiment, "last", measurements, runner):
        job.show(n_done + part.done, max(n_all, n_done + part.total), "texts")
        if part.result is not None and isinstance(part.result.norms, Last):
            part.result.norms.of(experiment.pooling)
        yield
    assert part.result  # it has taken its last step
    assert isinstance(part.result.norms, Last)
    return part.result.norms, part.result.seconds


def key_of(prepared: Prepared, experiment: Experiment, kind: Kind) -> str:
    """The name under which a measurement of a sample, large or small, is stored."""
    weights, sample = prepared.weights.fingerprint, prepared.sample
    return f"{kind}-{weights}-{sample.corpus.fingerprint}-{sample.seed}-{experiment.precision}"


def measure_texts(
    job: Job[Arrays],
    weights: Weights,
    experiment: Experiment,
    kind: Kind,
    texts: Sequence[str],
    runner: Runner,
) -> Steps:
    """Measure sentences that a visitor typed; nothing of them is stored."""
    runner.load(weights, experiment.precision)
    job.result = runner.run(weights, experiment.precision, texts, kind)
    yield from ()
