"""Compare models: search, probe and norm of several models on the same sentences."""

from dataclasses import asdict
from typing import Final

import streamlit as st

from clsviz import api
from clsviz.numbers import counted
from clsviz.settings import Experiment
from clsviz.sources.chunks import Chunks
from clsviz.sources.searches import Searches
from clsviz.ui import cards, layout, share, sidebar, work

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

experiment: Experiment = st.session_state.experiment
names, search = sidebar.models(), sidebar.search()
is_example = len(names) == 1
height = ROW_HEIGHT * max(2, len(names)) + AXIS_HEIGHT
settings = {
    **asdict(experiment),
    "models": names,
    "search_corpus": search.corpus,
    "search_pooling": search.pooling,
    "chunks": bool(st.session_state.get("chunks")),
}
del settings["model"]
result = work.answered(api.compare, settings, height)
(numbers,) = result.answered
inputs = numbers.inputs

layout.head(result)
if is_example:
    st.caption("An example: choose models to compare with in the sidebar.")
work.draw(result, height)
st.caption(READING + f" {CHUNKS}" * isinstance(inputs.chunks, Chunks))
revisions = [one.weights.revision for one in inputs.prepared]
pinned = [share.pin(*pair) for pair in zip(names, revisions, strict=False)]
known = inputs.searches
revision_of_search = known.texts.reading.revision if isinstance(known, Searches) else ""
cards.show_reading(result.corpus, experiment)
share.show(
    result,
    {**share.revisions_of(result), "search_corpus": revision_of_search},
    others=() if is_example else pinned[1:],
)
layout.caveats(result)
cards.show_table("All numbers as a table", result.table, LABELS, "The numbers of every model")
cards.show_method(result, f"the first {counted(result.n_drawn)} drawn, seed {experiment.seed}")
