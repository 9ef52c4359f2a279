"""What a model is made of, on the page: its parameters, how it is built, and how it reads a sentence."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.elements.lib import streamlit_plotly_theme as theme

from clsviz import words
from clsviz.models import Weights
from clsviz.settings import Precision
from clsviz.ui.markdown import escape
from clsviz.ui.state import server

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from clsviz.encoder.anatomy import Anatomy


_TABLE_HEIGHT = 320


_BAR_HEIGHT, _AXES_HEIGHT = 26, 84


_ROLES = {
    "cls": "whole sentence",
    "sep": "end of a sentence",
    "pad": "fills up batches",
    "unk": "what the vocabulary lacks",
    "mask": "hidden word, in training",
    "bos": "beginning of a text",
    "eos": "end of a text",
}


@st.cache_resource(max_entries=8, show_spinner=False)
def anatomy_of(fingerprint: str, _weights: Weights) -> "Anatomy":
    """What the model is made of, also when its encoder is no longer loaded."""
    return server.jobs().encoders.get(_weights, Precision.EXACT).anatomy


def answer(anatomy: "Anatomy") -> str:
    """What the page says in one sentence."""
    built = anatomy.architecture
    heads = f" with {built.n_heads} attention heads each" if built.n_heads else ""
    layers = f" of {built.n_layers} layers{heads}" if built.n_layers else ""
    width = f", whose vectors have {built.hidden_size:,} numbers" if built.hidden_size else ""
    article = "an" if built.model_class[0] in "AEIOU" else "a"
    return (
        f"{anatomy.n_weights:,} weights in {len(anatomy.parameters)} named parameters: {article} {built.model_class}"
        f"{layers}{width}, and a vocabulary of {anatomy.n_embedded:,} tokens."
    )


def show_figures(anatomy: "Anatomy") -> None:
    """The four numbers that people ask for."""
    built = anatomy.architecture
    with st.grid(4, min_column_width=140):
        st.metric(
            "Weights",
            f"{anatomy.n_weights / 1e6:,.1f} M",
            border=True,
            help="Numbers that training sets; every word embedding counts.",
        )
        st.metric(
            "Named parameters",
            f"{len(anatomy.parameters):,}",
            border=True,
            help="Tensors that hold the weights: matrices, tables of vectors, biases.",
        )
        st.metric(
            "Layers",
            "–" if built.n_layers is None else f"{built.n_layers}",
            border=True,
            help="Blocks of attention and feed-forward, one after the other; layer 0 is the embedding output.",
        )
        st.metric(
            "Width",
            "–" if built.hidden_size is None else f"{built.hidden_size:,}",
            border=True,
            help="Numbers in the vector of a token, [CLS] among them.",
        )


def show_parameters(anatomy: "Anatomy", label: str) -> None:
    """Where the weights are: a picture by group, and the table of all."""
    groups = anatomy.group_table()
    height = max(_TABLE_HEIGHT, _AXES_HEIGHT + _BAR_HEIGHT * len(groups))
    largest = groups.nlargest(1, "weights").iloc[0]
    picture, table = st.columns([2, 3], gap="medium")
    with picture:
        st.subheader("Where the weights are", anchor=False)
        alt = f"Weights of {label} by group: the largest, {largest['group']}, has {largest['share']:.0%} of them."
        st.plotly_chart(bars(groups), height=height, key="weights", config={"displayModeBar": False}, alt=alt)
    with table:
        st.subheader("All parameters", anchor=False)
        st.dataframe(
            anatomy.parameter_table(),
            hide_index=True,
            height=height,
            column_config={
                "name": st.column_config.TextColumn("Name", width=310),
                "shape": st.column_config.TextColumn("Shape", width=100),
                "weights": st.column_config.NumberColumn("Weights", format="localized", width=100),
                "group": st.column_config.TextColumn("Group", width=100),
                "part": st.column_config.TextColumn("Part", width=100),
            },
            alt=f"The {len(anatomy.parameters)} named parameters of {label}",
        )


def bars(groups: pd.DataFrame) -> "go.Figure":
    """Weights by group, the parts of a layer told apart."""
    import plotly.graph_objects as go

    rest = groups["weights"] - groups["attention"] - groups["feed_forward"]
    parts = [
        ("Attention", groups["attention"], theme.CATEGORY_0),
        ("Feed-forward", groups["feed_forward"], f"{theme.CATEGORY_0}73"),
        ("Neither", rest, f"{theme.CATEGORY_2}8c"),
    ]
    figure = go.Figure()
    for name, weights, colour in parts:
        figure.add_bar(
            x=weights,
            y=groups["group"],
            name=name,
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{y}}, {name.lower()}: %{{x:,}} weights<extra></extra>",
        )
    figure.add_bar(  # of no length: it carries the labels at the ends of the others
        x=np.zeros(len(groups)),
        y=groups["group"],
        orientation="h",
        text=[f"{share:.1%}" for share in groups["share"]],
        textposition="outside",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )
    return figure.update_layout(
        barmode="stack",
        bargap=0.25,
        xaxis={"title": "Weights", "tickformat": "~s", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True, "ticksuffix": " "},
        legend={
            "orientation": "h",
            "entrywidth": 0,
            "traceorder": "normal",
            "x": -0.15,  # over the names of the bars too: a phone has no room for it in one line else
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
        },
        margin={"l": 8, "r": 48, "t": 28, "b": 8},
    )


def show_facts(anatomy: "Anatomy", weights: Weights) -> None:
    """How the model is built, how it reads a sentence, and its special tokens."""
    built, reading, special = st.columns([4, 5, 5], gap="medium")
    with built:
        st.subheader("How it is built", anchor=False)
        listed(model_facts(anatomy, weights))
    with reading:
        st.subheader("How it reads a sentence", anchor=False)
        listed(tokenizer_facts(anatomy))
    with special:
        st.subheader("Special tokens", anchor=False)
        rows = [
            (token.id, token.token, _ROLES.get(token.role, token.role)) for token in anatomy.tokenizer.special_tokens
        ]
        st.dataframe(
            pd.DataFrame(rows, columns=["Id", "Token", "Stands for"]),
            hide_index=True,
            column_config={
                "Id": st.column_config.NumberColumn(format="%d", width="small"),
                "Token": st.column_config.TextColumn(width="small"),
            },
            alt="The special tokens with their ids",
        )


def model_facts(anatomy: "Anatomy", weights: Weights) -> dict[str, str]:
    """How the model is built, by name."""
    built = anatomy.architecture
    pooler = "a dense layer and tanh" if anatomy.pooler else "of another kind than BERT’s"
    facts = {
        "Class": f"{built.model_class} (type {built.model_type})",
        "Attention": f"{built.n_heads} heads in every layer" if built.n_heads else "",
        "Feed-forward": f"{built.inner_size:,} wide, {built.activation}" if built.inner_size else built.activation,
        "LayerNorm": f"ε = {words.number(built.layer_norm_eps)}" if built.layer_norm_eps is not None else "",
        "Positions": built.positions,
        "Pooler": pooler if anatomy.has_pooler else "none",
        "Weights": "random, as a control" if weights.untrained else "",
        "Fingerprint": weights.fingerprint[:16],
    }
    return {name: text for name, text in facts.items() if text}


def tokenizer_facts(anatomy: "Anatomy") -> dict[str, str]:
    """What the tokenizer does, by name."""
    facts = anatomy.tokenizer
    unlike = "" if facts.n_tokens == anatomy.n_embedded else f"; the model has room for {anatomy.n_embedded:,}"
    letters = {True: "capitals become small", False: "capitals stay", None: ""}[facts.lower_cases]
    accents = {True: "accents are dropped", False: "accents stay", None: ""}[facts.strips_accents]
    before, after = (" ".join(token for token, _ in side) for side in (facts.prefix, facts.suffix))
    types = {*facts.types[0], facts.types[1], *facts.types[2]}
    place = anatomy.cls_place
    ordinal = {0: "first", -1: "last"}.get(place, f"at place {place}")
    limit = f"{facts.model_max_length:,} tokens by the tokenizer; " if facts.model_max_length else ""
    return {
        "Class": facts.class_name,
        "Vocabulary": f"{facts.n_tokens:,} tokens{unlike}",
        "Letters": ", ".join(filter(None, [letters, accents])) or "not said",
        "Around a sentence": f"{before} … {after}".strip(),
        "[CLS]": f"{ordinal}; written {anatomy.cls[0]}, id {anatomy.cls[1]:,}",
        "Token types": f"{types.pop()} for all" if len(types) == 1 else f"{facts.types[1]} for words; others around",
        "Padding": f"on the {facts.padding_side}; here always on the right, and masked",
        "Longest": f"{limit}{anatomy.max_length:,} are read here",
    }


def listed(facts: dict[str, str]) -> None:
    """Facts, one a line."""
    st.markdown("\n".join(f"- **{escape(name)}:** {escape(text)}" for name, text in facts.items()))
