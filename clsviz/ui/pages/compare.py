"""Compare models: search, probe and norm of several models on the same sentences."""

from dataclasses import replace
from typing import Final

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job
from clsviz.sources.prepared import Prepared
from clsviz.results import compare as comparing
from clsviz.numbers import counted
from clsviz.results.result import Result
from clsviz.sources import models
from clsviz.sources.chunks import Chunks
from clsviz.sources.searches import Searches
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.server import server

ROW_HEIGHT, AXIS_HEIGHT = 90, 90

READING: Final = (
    "A line is a 95% interval. Right text among ten: how often a search finds it. A probe predicts "
    "lengths from the last layer’s [CLS] vector: the less it misses them by, the more of the "
    "length can be read there. R²: what a line in length accounts for of the differences between "
    "norms, the vectors’ sizes."
)

CHUNKS: Final = "Finds chunks: how often the chunk that a sentence is in comes first."

LABELS: Final = {
    "label": "Model",
    "recall_at_10": "Right text among ten",
    "ndcg_at_10": "nDCG",
    "exposure_shortest": "Exposure, shortest fifth",
    "exposure_longest": "Exposure, longest fifth",
    "chunk_tokens": "Tokens of a chunk, advised",
    "chunk_recall_at_1": "Finds chunks",
    "last_probe_error": "Last probe misses by",
    "guess_error": "Guessing",
    "probe_r_squared": "R² of the best probe",
    "probe_layer": "Its layer",
    "r_squared": "R² of the norm",
    "norm_mean": "Mean norm",
    "norm_sd": "Deviation of norms",
    "mean_tokens": "Tokens a sentence",
    "n_layers": "Layers",
}
"""Columns of the table."""


experiment: Experiment = st.session_state.experiment
names, machine = sidebar.models(), server()
view = replace(sidebar.search(), column="", encoding="")
is_example = len(names) == 1
if is_example:
    base = names[0].removeprefix(models.UNTRAINED)
    names.append(base if names[0] != base else models.UNTRAINED + base)
height = ROW_HEIGHT * len(names) + AXIS_HEIGHT
first = work.prepared(experiment, height)
corpus = first.sample.corpus
key: tuple[object, ...] = ("models", first.weights.fingerprint, sidebar.source_of(experiment))
others = [(name, experiment.seed) for name in names[1:]]
preparing: Job[list[Prepared]] = progress.start(
    machine.fetch, (*key, *names), work.prepare_others, first, others
)
reason = "The server looks for the models."
prepared = [first, *progress.require(machine.fetch, preparing, "Preparing", reason, height)]
if is_example and comparing.find(prepared, experiment, machine.results) is None:
    st.header(layout.escape(comparing.QUESTION), anchor=False)
    st.info(
        "Choose another model to compare with, in the sidebar: both are measured on the same "
        "sentences.",
        icon=":material/compare_arrows:",
    )
    label = prepared[1].weights.label
    st.button(
        f"Compare with {layout.escape(label)}",
        on_click=sidebar.change,
        args=("others", names[1:]),
        icon=":material/play_arrow:",
    )
    st.stop()

key = "searches of all", view, sidebar.has_chunks()
finding: Job[tuple[Searches | str, Chunks | str]] = progress.start(
    machine.fetch, key, comparing.find_texts, view, sidebar.has_chunks(), machine.root
)
reason = "The server makes searches of the corpus."
searches, cut = progress.require(machine.fetch, finding, "Preparing", reason, height)
known = None if isinstance(searches, str) else searches
plan = comparing.Plan(prepared, experiment, view, searches, cut)
stores = machine.measurements, machine.worker, machine.results
fingerprints = [one.weights.fingerprint for one in prepared]
chunks_of = cut.fingerprint if isinstance(cut, Chunks) else cut
searched = known.fingerprint if known else searches
sources = *fingerprints, corpus.fingerprint, searched, chunks_of, view.pooling
n = min(len(first.sample), experiment.probe_size)
reason = f"The server measures {counted(n)} with {counted(len(names), 'model')}"
if known:
    reason += f", and {counted(known.texts.table.num_rows, 'text')} of the search"
if isinstance(cut, Chunks):
    reason += f", and {counted(cut.n_chunks, 'chunk')} of texts"
key = "compare", *sources, sidebar.measurement_of(experiment)
measuring: Job[float] = progress.start(
    machine.model, key, comparing.measure_all, plan, stores, weights=first.weights
)
seconds = progress.require(machine.model, measuring, "Measuring", f"{reason}.", height)
key = "compare", *sources, experiment, view  # its command names files, which may be a visitor's
answering: Job[Result] = progress.start(
    machine.analysis, key, comparing.answer, plan, seconds, stores
)
progress.wait(answering, progress.ANSWER_SECONDS)
reason = "The server fits probes, and ranks the texts."
result = progress.require(machine.analysis, answering, "Comparing", reason, height)

cards.show_reading(corpus, experiment)
layout.head(result)
if is_example:
    st.caption("An example: choose models to compare with in the sidebar.")
chart.show(
    work.picture(key, result),
    key="models",
    alt=f"{result.question} {result.verdict}",
    height=height,
)
st.caption(READING + f" {CHUNKS}" * isinstance(cut, Chunks))
revisions = [one.weights.revision for one in prepared]
pinned = list(map(share.pin, names, revisions))
share.show(
    result,
    {**share.revisions_of(first), "search_corpus": known.texts.reading.revision if known else ""},
    others=() if is_example else pinned[1:],
)
layout.caveats(result)
cards.show_table("All numbers as a table", result.table, LABELS, "The numbers of every model")
method = f"the first {counted(n)} drawn, seed {experiment.seed}"
cards.show_method(result, first.weights, corpus, method)
