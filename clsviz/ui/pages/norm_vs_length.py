"""Norm vs length: a point for each sentence, the line through them, and your own sentences."""

from dataclasses import replace
from functools import partial

import streamlit as st

from clsviz.figures import scatter
from clsviz.numbers import counted
from clsviz.settings import Experiment
from clsviz.sources import corpora
from clsviz.ui import cards, chart, layout, share, sidebar, typed, work

HEIGHT, STRIP_HEIGHT = 480, 120

READING = (
    "A point is a sentence. Its norm is the vector’s size; "
    "R² is the share of the differences between norms that the line accounts for."
)

experiment: Experiment = st.session_state.experiment
result = work.norms(experiment, HEIGHT)
layers, measured = result.details["layers"], result.answered.measured

layout.head(result)
picture, strip, own = st.container(), st.container(), st.container()
with own:
    sentences = typed.show(measured.weights, experiment)
    typed.show_measured(sentences, result)
with picture:
    marked = replace(result, picture={**result.picture, "typed": sentences})
    is_private = bool(sentences) or corpora.is_file(experiment.corpus)
    picked = work.draw(
        marked if sentences else result, HEIGHT, is_private=is_private, table=measured.key
    )
    cards.show_picked(result, picked)
    st.caption(READING)
has_layers = any(entry["r_squared"] is not None for entry in layers)
with strip:
    if has_layers or not result.is_complete:
        are_hatched = any(entry["is_nearly_constant"] for entry in layers)
        hatched = " Hatched: on paper only, as norms are nearly constant." * are_hatched
        st.caption(f"R² of the line after each layer; a click on a bar takes its layer.{hatched}")
    if not result.is_complete:
        st.space(STRIP_HEIGHT)
    elif has_layers:
        chart.show(
            work.picture(result, scatter.strip),
            key="strip",
            alt="R² of the line after every layer",
            height=STRIP_HEIGHT,
            table=measured.key,
            on_pick=partial(sidebar.take_layer, [str(entry["layer"]) for entry in layers]),
        )
cards.show_reading(result.corpus, experiment)
share.show(result, share.revisions_of(result), sentences)
layout.caveats(result)
columns = ["sentence", "length", "norm", "n_tokens", "truncated", "is_used"]
cards.show_table("All points as a table", result.table, columns, "Every point")
cards.show_method(result, f"{counted(result.n_drawn)}, seed {experiment.seed}")
cards.show_original()
