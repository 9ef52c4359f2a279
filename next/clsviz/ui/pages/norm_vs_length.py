"""Norm vs length: a point for each sentence, the line through them, and your own sentences."""

from dataclasses import replace

import streamlit as st

from clsviz import figures
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.figures import scatter
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, Prepared, measure, prepare
from clsviz.results.norms import answer, norms
from clsviz.results.numbers import counted, seconds
from clsviz.results.result import Result
from clsviz.results.select import kind_of
from clsviz.sources import corpora
from clsviz.ui import cards, chart, layout, progress, share, sidebar, speed, typed
from clsviz.ui.server import server, session

HEIGHT, STRIP_HEIGHT = 480, 120

READING = (
    "A point is a sentence. Its norm is the vector’s size; "
    "R² is the share of the differences between norms that the line accounts for."
)

ANSWER_SECONDS = 1.5
"""An answer that takes longer comes after the points."""


@st.cache_resource(max_entries=16, show_spinner=False)
def points(key: str, n: int, experiment: Experiment, _measured: Measured) -> Result:
    """The sentences that are measured so far, without an answer; shared by all visitors."""
    partial = replace(_measured, is_complete=False)
    return norms(partial, experiment, server().results)


@st.cache_resource(max_entries=16, show_spinner=False)
def pictures(key: tuple[object, ...], _result: Result) -> tuple[str, str]:
    """The scatter and the strip of layers as JSON; shared by all visitors."""
    has_layers = any(entry["r_squared"] is not None for entry in _result.details["layers"])
    strip = scatter.strip(_result).to_json() if has_layers else ""
    return figures.DRAW[_result.kind](_result).to_json(), strip


def choose_layer(rows: list[int]) -> None:
    """Take the layer whose bar was clicked."""
    for row in rows[:1]:
        name = str(result.details["layers"][row]["layer"])
        if name.isdecimal():
            sidebar.change("layer", name)
            sidebar.change("pooling", "cls")
        else:
            sidebar.change("layer", "last")
            sidebar.change("pooling", name)


experiment: Experiment = st.session_state.experiment
shared, kind = server(), kind_of(experiment)

preparing: Job[Prepared] = shared.fetch.ask(
    ("prepare", sidebar.source_of(experiment)),
    lambda job: prepare(job, experiment, shared.root),
    session(),
)
prepared = progress.require(
    shared.fetch,
    preparing,
    "Preparing",
    "The server looks for the model, and reads the corpus.",
    HEIGHT,
)
weights, n_sentences = prepared.weights, len(prepared.sample)
duration = speed.estimate(speed.count_weights(weights.folder), n_sentences, experiment.precision)
cost = f", about {seconds(duration)} in all" if duration else ""

measuring: Job[Measured] = shared.model.ask(
    ("measure", kind, sidebar.measurement_of(experiment)),
    lambda job: measure(job, prepared, experiment, kind, shared.chunks, shared.worker),
    session(),
    model=weights.fingerprint,
)
measured = progress.require(
    shared.model,
    measuring,
    "Measuring",
    f"The server loads {weights.label}, and measures {counted(n_sentences)}{cost}.",
    HEIGHT,
)
key = measured.key, len(measured.norms), experiment

try:
    result = points(*key, measured)
except ClsvizError as error:
    layout.error(error)
    st.stop()
if measured.is_complete:
    speed.note(measured, experiment.precision)
    answering: Job[Result] = shared.analysis.ask(
        ("norms", *key),
        lambda job: answer(job, measured, experiment, shared.results),
        session(),
    )
    result = progress.wait(answering, ANSWER_SECONDS) or result
    progress.follow(shared.analysis, answering, "Computing the answer", answering.result)

cards.show_reading(measured.sample.corpus, experiment)
layout.head(result)
picture, strip, own = st.container(), st.container(), st.container()
with own:
    sentences = typed.show(measured.weights, experiment)
    typed.show_measured(sentences, result)
scatter_json, strip_json = pictures((*key, result.is_complete), result)
if sentences:
    marked = replace(result, picture={**result.picture, "typed": sentences})
    scatter_json = figures.DRAW[result.kind](marked).to_json()
with picture:
    picked = chart.show(
        scatter_json,
        key="scatter",
        alt=f"{result.question} {result.verdict}",
        height=HEIGHT,
        is_private=bool(sentences) or corpora.is_file(experiment.corpus),
        table=measured.key,
    )
    cards.show_picked(result, picked)
    st.caption(READING)
with strip:
    if strip_json or not result.is_complete:
        st.caption("R² of the line after each layer; a click on a bar takes its layer")
    if not result.is_complete:
        st.space(STRIP_HEIGHT)
    elif strip_json:
        chart.show(
            strip_json,
            key="strip",
            alt="R² of the line after every layer",
            height=STRIP_HEIGHT,
            table=measured.key,
            on_pick=choose_layer,
        )
share.show(result, measured, sentences)
layout.caveats(result)
cards.show_table(result)
cards.show_method(result, measured)
cards.show_original()
