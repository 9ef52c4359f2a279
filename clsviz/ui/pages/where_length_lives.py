"""Where length lives: the errors of probes by layer, and what checks say about them."""

from dataclasses import asdict
from functools import partial

import streamlit as st

from clsviz import api
from clsviz.analyses.probes import SEEDS
from clsviz.numbers import counted
from clsviz.results.probes import findings
from clsviz.settings import Experiment, heeded
from clsviz.ui import cards, layout, share, sidebar, work

HEIGHT, HEIGHT_WITH_RECALL = 440, 640

READING = (
    "A probe predicts the length of sentences that it has not seen from their vectors: the lower, "
    "the better length can be read. R² is the share of the differences between lengths that it "
    "accounts for. A click on a point takes its layer."
)

SEARCHED = (
    "Below: the share of right texts that a search by the same vectors has among its first ten."
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
    "recall_at_10": "Recall among ten",
    "recall_at_10_low": "Recall from",
    "recall_at_10_high": "Recall to",
    "random_low": "Random weights from",
    "random_high": "Random weights to",
}
"""Columns of the table."""

experiment: Experiment = st.session_state.experiment
search, titles = sidebar.search(), st.session_state.get("search_titles") or ""
settings = asdict(heeded("probe", experiment))
settings |= {"search_corpus": search.corpus, "search_titles": titles}
extras = {name: st.session_state.get(name) == settings for name in ("random_weights", "recall")}
question = {**settings, **{name: has or None for name, has in extras.items()}}  # None: if stored
result = work.answered(api.probe, question, HEIGHT)
has_random, has_recall = bool(result.details["random_weights"]), "recall_at_10" in result.table
n_vectors = result.n_drawn

layout.head(result)
rows = zip(result.table["layer"], result.table["vector"], strict=True)
names = [str(layer) if vector == "cls" else vector for layer, vector in rows]
fingerprints = "-".join(result.about[f"{name}_fingerprint"] for name in ("model", "corpus"))
height = HEIGHT_WITH_RECALL if has_recall else HEIGHT
work.draw(result, height, table=fingerprints, on_pick=partial(sidebar.take_layer, names))
st.caption(READING + f" {SEARCHED}" * has_recall)
cards.show_reading(result.corpus, experiment)
share.show(result, share.revisions_of(result))
layout.caveats(result)
for title, text in findings(result):
    with st.expander(layout.escape(title)):
        st.markdown(layout.escape(text))
n = len(SEEDS) * n_vectors
offers = {
    "Which layer finds the right text?": (
        *("recall", has_recall, "Titles search for their texts by the vector after every layer."),
        "Measuring the texts takes a while",
    ),
    "Would random weights do as well?": (
        *("random_weights", has_random, "The same architecture, before any training."),
        f"Measuring {counted(n)}, with random weights of {len(SEEDS)} seeds, adds a band to the "
        f"picture{work.cost(result.weights, n)}",
    ),
}
for title, (name, is_there, text, cost) in offers.items():
    if not is_there:
        with st.expander(title):
            st.markdown(f"{text} {cost}; then it is stored.")
            icon, is_asked = ":material/play_arrow:", extras[name]
            if st.button("Measure", key=f"measure-{name}", icon=icon, disabled=is_asked):
                st.session_state[name] = settings
                st.rerun()
labels = {name: label for name, label in LABELS.items() if name in result.table}
cards.show_table("All vectors as a table", result.table, labels, "The errors of every vector")
cards.show_method(result, f"the first {counted(n_vectors)} drawn, seed {experiment.seed}")
