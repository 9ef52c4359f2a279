"""What a model is made of: its parameters, how it is built, and how it reads a sentence."""

import pandas as pd
import streamlit as st

from clsviz import figures, words
from clsviz.encoder import Anatomy
from clsviz.models import Weights
from clsviz.ui.markdown import escape
from clsviz.ui.parts import own, plot
from clsviz.ui.parts.chart import palette

_TABLE_HEIGHT = 320


_BAR_HEIGHT, _AXES_HEIGHT = 26, 84


def anatomy_of(weights: Weights) -> Anatomy | None:
    """What the model is made of; None, with the reason shown here, while it is being loaded."""
    return own.try_sentences("anatomy", weights, [], lambda encoder: encoder.anatomy)


def show_parameters(anatomy: Anatomy, label: str) -> None:
    """Where the weights are: a picture by group, and the table of all."""
    groups = anatomy.group_table()
    height = max(_TABLE_HEIGHT, _AXES_HEIGHT + _BAR_HEIGHT * len(groups))
    picture, table = st.columns([2, 3], gap="medium")
    with picture:
        st.subheader("Where the weights are", anchor=False)
        plot.show(
            figures.weights_by_group(groups, palette()),
            height=height,
            key="weights",
            alt=words.anatomy.largest_group(groups, label),
        )
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


def show_facts(anatomy: Anatomy, weights: Weights) -> None:
    """How the model is built, how it reads a sentence, and its special tokens."""
    built, reading, special = st.columns([4, 5, 5], gap="medium")
    with built:
        st.subheader("How it is built", anchor=False)
        _list(words.anatomy.model_facts(anatomy, weights))
    with reading:
        st.subheader("How it reads a sentence", anchor=False)
        _list(words.anatomy.tokenizer_facts(anatomy))
    with special:
        st.subheader("Special tokens", anchor=False)
        tokens = anatomy.tokenizer.special_tokens
        st.dataframe(
            pd.DataFrame(
                [(token.id, token.token, words.anatomy.role(token.role)) for token in tokens],
                columns=["Id", "Token", "Role"],
            ),
            hide_index=True,
            column_config={
                "Id": st.column_config.NumberColumn(format="%d", width="small"),
                "Token": st.column_config.TextColumn(width="small"),
            },
            alt="The special tokens with their ids",
        )


def _list(facts: dict[str, str]) -> None:
    st.markdown("\n".join(f"- **{escape(name)}:** {escape(text)}" for name, text in facts.items()))
