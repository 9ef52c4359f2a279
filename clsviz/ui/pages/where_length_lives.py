"""Where length lives: the errors of probes by layer, and what checks say about them."""

from dataclasses import asdict
from functools import partial

import streamlit as st

from clsviz import api
from clsviz.analyses.probes import SEEDS
from clsviz.numbers import counted
from clsviz.results.probes import findings
from clsviz.settings import Experiment, heeded
from clsviz.ui import cards, chart, layout, share, sidebar, work

HEIGHT = 440

READING = (
    "A probe predicts the length of sentences that it has not seen from their vectors: the lower, "
    "the better length can be read. R² is the share of the differences between lengths that it "
    "accounts for. A click on a point takes its layer."
)

LABELS = {
    "vector": "Vector",
    "layer": "Layer",
    "probe_error": "Probe misses by",
    "probe_r_squared": "R² of the probe",
    "probe_r_squared_low": "R² from",
    "probe_r_squared_high": "R² to",
    "norm_error": "Norm misses by",
    "norm_r_squared": "R² of the norm",
    "random_low": "Random weights from",
    "random_high": "Random weights to",
}
"""Columns of the table."""

experiment: Experiment = st.session_state.experiment
settings = asdict(heeded("probe", experiment))
is_measured = st.session_state.get("random") == settings
question = {**settings, "random_weights": is_measured or None}  # None: where they are stored
result = work.answered(api.probe, question, HEIGHT)
has_random = bool(result.details["random_weights"])
n_vectors = result.n_drawn

cards.show_reading(result.corpus, experiment)
layout.head(result)
rows = zip(result.table["layer"], result.table["vector"], strict=True)
names = [str(layer) if vector == "cls" else vector for layer, vector in rows]
fingerprints = "-".join(result.about[f"{name}_fingerprint"] for name in ("model", "corpus"))
chart.draw(result, HEIGHT, table=fingerprints, on_pick=partial(sidebar.take_layer, names))
st.caption(READING)
share.show(result, share.revisions_of(result))
layout.caveats(result)
for title, text in findings(result):
    with st.expander(layout.escape(title)):
        st.markdown(layout.escape(text))
if not has_random:
    with st.expander("Would random weights do as well?"):
        n = len(SEEDS) * n_vectors
        st.markdown(
            f"The same architecture, before any training. Measuring {counted(n)}, with random "
            f"weights of {len(SEEDS)} seeds, adds a band to the picture"
            f"{work.cost(result.weights, n)}; then it is stored."
        )
        icon = ":material/play_arrow:"
        if st.button("Measure", key="measure-random", icon=icon, disabled=is_measured):
            st.session_state.random = settings
            st.rerun()
cards.show_table("All vectors as a table", result.table, LABELS, "The errors of every vector")
cards.show_method(result, f"the first {counted(n_vectors)} drawn, seed {experiment.seed}")
