"""Parts that several pages take: samples, measurements and answers, their cost, and pictures."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from clsviz import figures
from clsviz.experiment import Experiment, Precision
from clsviz.figures.style import Figure
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import measure, prepare
from clsviz.sources.prepared import Measured, Prepared
from clsviz.results.norms import answer, norms
from clsviz.numbers import seconds
from clsviz.results.result import Result
from clsviz.results.select import kind_of, norms_of
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.ui import layout, progress, sidebar
from clsviz.ui.server import Server, server

FEW: Final = 500
"""Fewer sentences say little about the speed."""


def prepared(experiment: Experiment, height: int) -> Prepared:
    """The model and the sample of an experiment; the page stops until they are ready."""
    machine, key = server(), ("prepare", sidebar.source_of(experiment))
    preparing: Job[Prepared] = progress.start(machine.fetch, key, prepare, experiment, machine.root)
    reason = "The server looks for the model, and reads the corpus."
    return progress.require(machine.fetch, preparing, "Preparing", reason, height)


def prepare_others(
    job: Job[list[Prepared]], first: Prepared, others: Sequence[tuple[str, int]]
) -> Steps:
    """Prepare other models, each with a seed of its random weights, for the same sentences."""
    yield
    job.result = [
        replace(first, weights=models.find(name, seed, job.show)) for name, seed in others
    ]


def measuring(prepared: Prepared, experiment: Experiment, kind: str) -> Job[Measured]:
    """The job that measures a sample."""
    machine, weights = server(), prepared.weights
    key = "measure", kind, sidebar.measurement_of(experiment)
    inputs = prepared, experiment, kind, machine.measurements, machine.worker
    return progress.start(machine.model, key, measure, *inputs, weights=weights)


def measured(prepared: Prepared, experiment: Experiment, reason: str, height: int) -> Measured:
    """The norms of a sample as far as they are measured; the page stops before the first.

    reason: a sentence on the wait for them, to which the cost is added.
    """
    job = measuring(prepared, experiment, kind_of(experiment))
    reason += f"{cost(prepared.weights, len(prepared.sample), experiment)}."
    measured = progress.require(server().model, job, "Measuring", reason, height)
    n_weights = count_weights(measured.weights.folder)
    if measured.is_complete and measured.n_new >= FEW and n_weights:
        server().speeds[experiment.precision] = measured.n_new * n_weights / measured.seconds
    return measured


def answered(measured: Measured, experiment: Experiment) -> Result:
    """The answer on norms, or the points so far; the page stops where there can be neither."""
    machine, key = server(), (measured.key, len(measured.norms), experiment)
    result: Result | None = None
    if measured.is_complete:
        inputs = measured, experiment, machine.results
        answering: Job[Result] = progress.start(machine.analysis, ("norms", *key), answer, *inputs)
        result = progress.wait(answering, progress.ANSWER_SECONDS)
    with layout.showing_errors(stops=True):
        result = result or points(repr(key), experiment, measured)
    if measured.is_complete:
        progress.follow(machine.analysis, answering, "Computing the answer", answering.result)
    return result


def store_vectors(
    job: Job[bool], prepared: Prepared, experiment: Experiment, machine: Server
) -> Steps:
    """Measure vectors into the store, from where analyses read them: a job would hold them all.

    Raises SettingError, with the first sentences, where the model lacks the layer or the vector.
    """
    part: Job[Measured] = Job()
    for _ in measure(part, prepared, experiment, "vectors", machine.measurements, machine.worker):
        job.show(part.done, part.total, part.unit)
        if part.result is not None:
            norms_of(part.result.norms, experiment, prepared.weights.label)
        yield
    job.result = True


def cost(weights: Weights, n_sentences: int, experiment: Experiment) -> str:
    """About how long measuring takes, to follow other words; "" where that is not known."""
    n_weights = count_weights(weights.folder)
    duration = estimate(n_weights, n_sentences, experiment.precision)
    return f", about {seconds(duration)} in all" if duration else ""


def estimate(n_weights: int, n_sentences: int, precision: Precision) -> float | None:
    """Seconds for a number of sentences; None where nothing has been measured yet.

    n_weights: of the model, as `count_weights` has it: the time grows with them.
    """
    speed = server().speeds.get(precision)
    return n_sentences * n_weights / speed if speed and n_weights else None


@functools.lru_cache(maxsize=64)
def count_weights(folder: Path) -> int:
    """The weights that every token passes: all but those of embeddings; 0 where unknown."""
    from safetensors import safe_open

    total = 0
    for path in folder.glob("model*.safetensors"):
        with safe_open(path, "numpy") as file:
            names = [name for name in file.keys() if "embed" not in name]  # noqa: SIM118
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in names)
    return total


def picture(
    key: tuple[object, ...], result: Result, draw: Callable[[Result], Figure] | None = None
) -> str:
    """The figure of a result as JSON, or another one of it."""
    return _picture(repr(key), result, draw)


@st.cache_resource(max_entries=16, show_spinner=False)
def points(key: str, _experiment: Experiment, _measured: Measured) -> Result:
    """The sentences that are measured so far, without an answer."""
    partial = replace(_measured, is_complete=False)
    return norms(partial, _experiment, server().results)


@st.cache_resource(max_entries=32, show_spinner=False)
def _picture(key: str, _result: Result, _draw: Callable[[Result], Figure] | None) -> str:
    figure: str = (_draw or figures.DRAW[_result.kind])(_result).to_json()
    return figure
