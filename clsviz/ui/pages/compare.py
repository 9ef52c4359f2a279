"""Compare models: search, probe and norm of several models on the same sentences."""

from dataclasses import asdict, replace
from typing import Final, NoReturn

import streamlit as st

from clsviz import api
from clsviz.errors import NotMeasured
from clsviz.jobs.worker import NoRunner
from clsviz.numbers import counted
from clsviz.results.compare import QUESTION
from clsviz.settings import Experiment
from clsviz.sources.chunks import Chunks
from clsviz.sources.models import UNTRAINED
from clsviz.sources.searches import Searches
from clsviz.ui import cards, chart, layout, share, sidebar, work
from clsviz.ui.server import server

ROW_HEIGHT, AXIS_HEIGHT = 90, 90

READING: Final = (
    "A line is a 95% interval. Right text among ten: how often a search finds it. A probe predicts "
    "lengths from the vector: the less it misses them by, the more of the "
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


def invite(model: str) -> NoReturn:
    """Draw the way to a comparison with an example, which is not measured yet."""
    label = work.weights(replace(experiment, model=model), height).label
    st.header(layout.escape(QUESTION), anchor=False)
    st.info(
        "Choose another model to compare with, in the sidebar: both are measured on the same "
        "sentences.",
        icon=":material/compare_arrows:",
    )
    st.button(
        f"Compare with {layout.escape(label)}",
        on_click=sidebar.change,
        args=("others", [model]),
        icon=":material/play_arrow:",
    )
    st.stop()


experiment: Experiment = st.session_state.experiment
names, search = sidebar.models(), sidebar.search()
is_example = len(names) == 1
if is_example:
    base = names[0].removeprefix(UNTRAINED)
    names.append(base if names[0] != base else UNTRAINED + base)
height = ROW_HEIGHT * len(names) + AXIS_HEIGHT
settings = {
    **asdict(experiment),
    "models": names,
    "search_corpus": search.corpus,
    "search_pooling": search.pooling,
    "chunks": sidebar.has_chunks(),
}
del settings["model"]
workspace = replace(server().workspace, runner=NoRunner()) if is_example else None
job = work.asked(api.compare, settings, workspace)
work.wait(job)
if is_example and isinstance(job.error, NotMeasured):
    invite(names[1])
result = work.require(job, height)
(numbers,) = result.answered
inputs = numbers.inputs

cards.show_reading(result.corpus, experiment)
layout.head(result)
if is_example:
    st.caption("An example: choose models to compare with in the sidebar.")
chart.show(
    work.picture(result),
    key="models",
    alt=f"{result.question} {result.verdict}",
    height=height,
)
st.caption(READING + f" {CHUNKS}" * isinstance(inputs.chunks, Chunks))
revisions = [one.weights.revision for one in inputs.prepared]
pinned = list(map(share.pin, names, revisions))
known = inputs.searches
revision_of_search = known.texts.reading.revision if isinstance(known, Searches) else ""
share.show(
    result,
    {**share.revisions_of(result), "search_corpus": revision_of_search},
    others=() if is_example else pinned[1:],
)
layout.caveats(result)
cards.show_table("All numbers as a table", result.table, LABELS, "The numbers of every model")
cards.show_method(result, f"the first {counted(result.n_drawn)} drawn, seed {experiment.seed}")
