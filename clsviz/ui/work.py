"""Parts that several pages take: a prepared sample, the speed of measuring, shared pictures."""

import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from clsviz import figures
from clsviz.experiment import Experiment, Precision
from clsviz.figures import scatter
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure, prepare
from clsviz.results.norms import norms
from clsviz.results.numbers import seconds
from clsviz.results.result import Result
from clsviz.results.select import norms_of
from clsviz.sources.models import Weights
from clsviz.ui import progress, sidebar
from clsviz.ui.server import Server, server, session

FEW: Final = 500
"""Fewer sentences say little about the speed."""


def prepared(experiment: Experiment, height: int) -> Prepared:
    """The model and the sample of an experiment; the page stops until they are ready."""
    machine = server()
    job: Job[Prepared] = machine.fetch.ask(
        ("prepare", sidebar.source_of(experiment)),
        lambda job: prepare(job, experiment, machine.root),
        session(),
    )
    reason = "The server looks for the model, and reads the corpus."
    return progress.require(machine.fetch, job, "Preparing", reason, height)


def cost(weights: Weights, n_sentences: int, experiment: Experiment) -> str:
    """About how long measuring takes, to follow other words; "" where that is not known."""
    n_weights = count_weights(weights.folder)
    duration = estimate(n_weights, n_sentences, experiment.precision)
    return f", about {seconds(duration)} in all" if duration else ""


def store_vectors(
    job: Job[bool], prepared: Prepared, experiment: Experiment, machine: Server
) -> Steps:
    """Measure vectors into the store, from where analyses read them: a job would hold them all.

    Raises SettingError, with the first sentences, where the model lacks the layer or the vector.
    """
    part: Job[Measured] = Job()
    for _ in measure(part, prepared, experiment, "vectors", machine.chunks, machine.worker):
        job.show(part.done, part.total, part.unit)
        if part.result is not None:
            norms_of(part.result.norms, experiment, prepared.weights.label)
        yield
    job.result = True


def note_speed(measured: Measured, precision: Precision) -> None:
    """Note the speed of what was measured now."""
    if measured.n_new >= FEW and (n_weights := count_weights(measured.weights.folder)):
        server().speeds[precision] = measured.n_new * n_weights / measured.seconds


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


@st.cache_resource(max_entries=16, show_spinner=False)
def points(key: str, n: int, experiment: Experiment, _measured: Measured) -> Result:
    """The sentences that are measured so far, without an answer."""
    partial = replace(_measured, is_complete=False)
    return norms(partial, experiment, server().results)


@st.cache_resource(max_entries=16, show_spinner=False)
def picture(key: tuple[object, ...], _result: Result) -> str:
    """The figure of a result as JSON."""
    figure: str = figures.DRAW[_result.kind](_result).to_json()
    return figure


@st.cache_resource(max_entries=16, show_spinner=False)
def pictures(key: tuple[object, ...], _result: Result) -> tuple[str, str]:
    """The scatter and the strip of layers as JSON."""
    has_layers = any(entry["r_squared"] is not None for entry in _result.details["layers"])
    strip = scatter.strip(_result).to_json() if has_layers else ""
    return figures.DRAW[_result.kind](_result).to_json(), strip
