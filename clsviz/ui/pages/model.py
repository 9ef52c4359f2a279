"""Inside the model: the way of [CLS], the weights of every part, and what people ask about it."""

from pathlib import Path
from typing import Final

import streamlit as st

from clsviz import api
from clsviz.analyses.typed import EXAMPLE
from clsviz.results.anatomy import answers, hidden_state, pooler
from clsviz.settings import Experiment
from clsviz.ui import chart, layout, share, typed, work

ROW_HEIGHT, AXES_HEIGHT, HEIGHT = 34, 50, 330
"""Pixels: of a part in the picture, of the rest of it, and of both for six layers."""

ROLES: Final = {
    "cls": "begins every sentence",
    "sep": "ends every sentence",
    "pad": "fills shorter sentences of a batch",
    "unk": "stands for what the vocabulary lacks",
    "mask": "stands for words to guess in training",
    "bos": "begins a text",
    "eos": "ends a text",
}

experiment: Experiment = st.session_state.experiment
text = next(iter(typed.texts()), EXAMPLE)
names = ("model", "seed", "precision")
settings = {**{name: getattr(experiment, name) for name in names}, "text": text}
result = work.require(work.asked(api.anatomy, settings, is_urgent=True), HEIGHT)
parts, weights = result.answered, result.weights
assert weights is not None  # it was taken apart
layer = parts.n_layers if experiment.layer is None else experiment.layer
with layout.showing_errors(stops=True):
    numbers = hidden_state(parts, experiment, weights.label)

layout.head(result)
with st.container(horizontal=True, vertical_alignment="center"):
    st.markdown(f"The way of [CLS] in “{layout.escape(text)}”")
    other = Path(__file__).with_name("sentence.py")
    st.page_link(other, label="Try another", icon=":material/edit:")
typed.show_tokens(parts)
height = AXES_HEIGHT + ROW_HEIGHT * len(result.picture["steps"])
chart.draw(result, height, is_private=text != EXAMPLE)
st.caption("The norm is the vector’s size; M is a million weights, k a thousand.")
share.show(result, {"model": weights.revision}, [{"sentence": one} for one in typed.texts()])
layout.caveats(result)

st.markdown("**What people ask about [CLS]**")
for title, reason in answers(parts, weights):
    with st.expander(layout.escape(title)):
        st.markdown(layout.escape(reason))
st.markdown("**The model in parts**")
title, reason = pooler(parts)
with st.expander(layout.escape(title)):
    st.markdown(layout.escape(reason))
with st.expander(f"The hidden state of \\[CLS\\] after layer {layer}, to copy"):
    st.code(numbers, language=None, wrap_lines=True)
    st.caption("“Layer” in the sidebar chooses another.")
with st.expander(f"{len(result.table)} parameters, by name"):
    st.dataframe(
        result.table,
        hide_index=True,
        column_config={"weights": st.column_config.NumberColumn(format="localized")},
        alt="The parameters of the model, with their shapes",
    )
with st.expander(f"{len(parts.special)} special tokens, and their ids"):
    rows = [[n, token, ROLES.get(role, role)] for role, token, n in parts.special]
    columns = dict(zip(("Id", "Token", "Role"), zip(*rows, strict=True), strict=True))
    st.dataframe(columns, hide_index=True, alt="The special tokens with their ids")
