"""Norm vs length: a point for each sentence, the line through them, and your own sentences."""

from dataclasses import replace
from functools import partial

import streamlit as st

from clsviz import figures
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, measure
from clsviz.results.norms import answer
from clsviz.results.numbers import counted
from clsviz.results.result import Result
from clsviz.results.select import kind_of
from clsviz.sources import corpora
from clsviz.ui import cards, chart, layout, progress, share, sidebar, typed, work
from clsviz.ui.app import PAGES
from clsviz.ui.server import server, session

HEIGHT, STRIP_HEIGHT = 480, 120

READING = (
    "A point is a sentence. Its norm is the vector’s size; "
    "R² is the share of the differences between norms that the line accounts for."
)

ANSWER_SECONDS = 1.5
"""An answer that takes longer comes after the points."""


experiment: Experiment = st.session_state.experiment
machine, kind = server(), kind_of(experiment)

prepared = work.prepared(experiment, HEIGHT)
weights, n_sentences = prepared.weights, len(prepared.sample)
cost = work.cost(weights, n_sentences, experiment)

measuring: Job[Measured] = machine.model.ask(
    ("measure", kind, sidebar.measurement_of(experiment)),
    lambda job: measure(job, prepared, experiment, kind, machine.chunks, machine.worker),
    session(),
    model=weights.fingerprint,
)
measured = progress.require(
    machine.model,
    measuring,
    "Measuring",
    f"The server loads {weights.label}, and measures {counted(n_sentences)}{cost}.",
    HEIGHT,
)
key = measured.key, len(measured.norms), experiment

result: Result | None = None
if measured.is_complete:
    work.note_speed(measured, experiment.precision)
    answering: Job[Result] = machine.analysis.ask(
        ("norms", *key),
        lambda job: answer(job, measured, experiment, machine.results),
        session(),
    )
    result = progress.wait(answering, ANSWER_SECONDS)
if result is None:
    try:
        result = work.points(*key, measured)
    except ClsvizError as error:
        layout.error(error)
        st.stop()
if measured.is_complete:
    progress.follow(machine.analysis, answering, "Computing the answer", answering.result)

cards.show_reading(measured.sample.corpus, experiment)
layout.head(result)
picture, strip, own = st.container(), st.container(), st.container()
with own:
    sentences = typed.show(measured.weights, experiment)
    typed.show_measured(sentences, result)
scatter_json, strip_json = work.pictures((*key, result.is_complete), result)
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
        layers = result.details["layers"]
        chart.show(
            strip_json,
            key="strip",
            alt="R² of the line after every layer",
            height=STRIP_HEIGHT,
            table=measured.key,
            on_pick=partial(sidebar.take_layer, [str(one["layer"]) for one in layers]),
        )
share.show(result, share.revisions_of(measured), sentences)
layout.caveats(result)
cards.show_table("All points as a table", result.table, cards.COLUMNS, "Every point")
sample = f"{counted(len(measured.norms))}, seed {experiment.seed}"
cards.show_method(result, weights, measured.sample.corpus, sample)
cards.show_original()
st.page_link(
    PAGES / "where_length_lives.py", label="Then where is it?", icon=":material/arrow_forward:"
)
