"""Inside the model: the way of [CLS], the weights of every part, and what people ask about it."""

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import api
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

VIEWS: Final = ("The way of \\[CLS\\]", "Every token")

TOKENS: Final = (
    "Darker is a larger norm. Bars: how much of the attention of \\[CLS\\] goes to each token, a "
    "mean over heads: so the sentence gets in. “Layer” in the sidebar chooses another."
)

UNTOLD: Final = "Darker is a larger norm. The code of this model does not tell its attention."


def packed(vectors: NDArray[np.float32]) -> bytes:
    """The vectors as a file of NumPy, (n_tokens, n_layers + 1, width)."""
    file = io.BytesIO()
    np.save(file, vectors)
    return file.getvalue()


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
place = 0
name = st.segmented_control(
    "Picture", VIEWS, key="view", default=VIEWS[0], required=True, label_visibility="collapsed"
)
if name == VIEWS[0]:
    chart.show(
        work.picture(result),
        key="way",
        alt=f"{result.question} {result.verdict}",
        height=AXES_HEIGHT + ROW_HEIGHT * len(result.picture["steps"]),
        is_private=text != EXAMPLE,
    )
    st.caption("The norm is the vector’s size; M is a million weights, k a thousand.")
else:
    job = typed.tokens("tokens", weights, experiment, [text], has_attention=True)
    [tokens] = work.require(job, HEIGHT)
    first = slice(typed.MOST_TOKENS)
    picture = {
        "tokens": parts.tokens[first],
        "norms": np.linalg.norm(tokens.vectors[first], axis=2),
        "attention": tokens.attention[max(layer, 1) - 1 :, first][:1].ravel(),
        "layer": max(layer, 1),
    }
    chart.show(
        steps.tokens(replace(result, picture=picture)).to_json(),
        key="tokens",
        alt="The norm of every token after each layer, and the attention of [CLS]",
        height=AXES_HEIGHT + TOKEN_HEIGHT * len(picture["tokens"]),
        is_private=True,
    )
    st.caption(TOKENS if len(tokens.attention) else UNTOLD)
    place = st.selectbox("Token", range(len(parts.tokens)), format_func=parts.tokens.__getitem__)
    numbers = hidden_state(tokens.vectors[place], experiment, weights.label)
    st.download_button(
        "All vectors", partial(packed, tokens.vectors), "tokens.npy", on_click="ignore"
    )
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
