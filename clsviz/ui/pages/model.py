"""Inside the model: the way of [CLS], the weights of every part, and what people ask about it."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import streamlit as st

from clsviz import api, figures
from clsviz.analyses.typed import EXAMPLE
from clsviz.figures import steps
from clsviz.results.anatomy import answers, hidden_state, pooler
from clsviz.settings import Experiment
from clsviz.ui import chart, layout, share, typed, work

ROW_HEIGHT, TOKEN_HEIGHT, AXES_HEIGHT, HEIGHT = 34, 22, 50, 330
"""Pixels: of a part in the picture, of a token, of the rest, and of both for six layers."""

ROLES: Final = {
    "cls": "begins every sentence",
    "sep": "ends every sentence",
    "pad": "fills shorter sentences of a batch",
    "unk": "stands for what the vocabulary lacks",
    "mask": "stands for words to guess in training",
    "bos": "begins a text",
    "eos": "ends a text",
}

WAY: Final = "The norm is the vector’s size; M is a million weights, k a thousand."

TOKENS: Final = (
    "The stronger the colour, the larger the norm. Bars: how much of the attention of \\[CLS\\] "
    "goes to each token, a mean over heads: so the sentence gets in. “Layer” chooses another."
)

experiment: Experiment = st.session_state.experiment
text = next(iter(typed.texts()), EXAMPLE)
names = ("model", "seed", "precision")
settings = {**{name: getattr(experiment, name) for name in names}, "text": text}
result = work.require(work.asked(api.anatomy, settings, is_urgent=True), HEIGHT)
parts, weights = result.answered, result.weights
assert weights is not None  # it was taken apart
layer = parts.n_layers if experiment.layer is None else experiment.layer
with layout.showing_errors(stops=True):
    numbers = hidden_state(parts.states, experiment, weights.label)

layout.head(result)
with st.container(horizontal=True, vertical_alignment="center"):
    st.markdown(f"The way of [CLS] in “{layout.escape(text)}”")
    other = Path(__file__).with_name("sentence.py")
    st.page_link(other, label="Try another", icon=":material/edit:")
typed.show_tokens(parts)
views = {"The way of \\[CLS\\]": figures.DRAW[result.kind], "Every token": steps.tokens}
view = st.segmented_control(
    "Picture",
    list(views),
    key="view",
    required=True,
    default=next(iter(views)),
    label_visibility="collapsed",
)
is_way, place = view != "Every token", 0
n_rows = len(result.picture["steps"] if is_way else result.picture["tokens"])
chart.show(
    work.picture(replace(result, about={**result.about, "layer": max(layer, 1)}), views[view]),
    key="way" if is_way else "tokens",
    alt=f"{result.question} {result.verdict}",
    height=AXES_HEIGHT + (ROW_HEIGHT if is_way else TOKEN_HEIGHT) * n_rows,
    is_private=text != EXAMPLE,
)
st.caption(WAY if is_way else TOKENS)
if not is_way:
    place = st.selectbox("Token", range(len(parts.tokens)), format_func=parts.tokens.__getitem__)
    numbers = hidden_state(parts.vectors[place], experiment, weights.label)
    np.save(file := io.BytesIO(), parts.vectors)
    st.download_button("Download all vectors", file.getvalue(), "tokens.npy", on_click="ignore")
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
token = layout.escape(parts.tokens[place])
with st.expander(f"The hidden state of {token} after layer {layer}, to copy"):
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
