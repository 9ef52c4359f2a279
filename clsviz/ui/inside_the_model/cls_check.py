"""What becomes of [CLS] in one sentence: where it begins, and whether the pooler output follows from it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, words
from clsviz.analysis.typed import CHECK_EXAMPLE, Check
from clsviz.encoder import Anatomy
from clsviz.experiment import Experiment
from clsviz.models import Weights
from clsviz.ui.markdown import escape
from clsviz.ui.parts import own, share

_FIRST = 5
"""How many numbers of a vector are shown."""


_TABLE_HEIGHT = 320


_MOST_LAYERS = 13
"""Shown without scrolling."""


_NORM_COLUMNS = {
    "layer": "Layer",
    "norm": "Norm",
    "from_direction": "From the direction",
    "difference": "Difference",
}


_COLUMNS = {"component": "Dimension", "cls": "[CLS]", "expected": "tanh(W [CLS] + b)", "pooler": "Pooler output"}


def measure(weights: Weights, typed: Sequence[str]) -> Check | None:
    """The first typed sentence, or an example, measured; None, with the reason shown here, until it is."""
    sentence = next(iter(typed), CHECK_EXAMPLE)
    work = partial(analysis.typed.check, sentence=sentence)
    return own.try_sentences("pooler_check", weights, [sentence], work)


def show_beginning(anatomy: Anatomy, check: Check, *, untrained: bool) -> None:
    """The vector that [CLS] enters the model with."""
    st.markdown(escape(words.anatomy.beginning(anatomy, check, untrained=untrained)))
    st.code(_first_numbers(anatomy.cls_embedding), language=None, wrap_lines=True)


def _first_numbers(vector: NDArray[np.float32]) -> str:
    numbers = "  ".join(f"{value:+.6f}".replace("-", "−") for value in vector[:_FIRST])
    return f"{numbers}  … {len(vector) - _FIRST:,} more" if len(vector) > _FIRST else numbers


def show_check(anatomy: Anatomy, check: Check, n_typed: int) -> None:
    """The sentence's tokens, the verdict, and the vectors it rests on."""
    st.markdown(escape(words.anatomy.checked_sentence(anatomy, check, n_typed)))
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(f"As the model reads it: {len(check.tokens):,} tokens")
        st.dataframe(
            pd.DataFrame(
                [(position, token, token_id) for position, (token, token_id) in enumerate(check.tokens)],
                columns=["Position", "Token", "Id"],
            ),
            hide_index=True,
            height=_TABLE_HEIGHT,
            column_config={
                name: st.column_config.NumberColumn(format="%d", width="small") for name in ("Position", "Id")
            },
            alt="The tokens of the sentence with their ids",
        )
    with right:
        _show(*words.anatomy.verdict(anatomy, check))
        table = analysis.typed.dimension_table(anatomy, check).drop(columns="input_embedding")
        digits = st.column_config.NumberColumn(format="%.6f")
        st.dataframe(
            table.dropna(subset="cls").rename(columns=_COLUMNS),
            hide_index=True,
            height=_TABLE_HEIGHT - 72,
            column_config=dict.fromkeys(_COLUMNS.values(), digits)
            | {_COLUMNS["component"]: st.column_config.NumberColumn(format="%d", width="small")},
            alt="[CLS] after the last layer and the pooler output, one dimension per row",
        )


def _show(is_right: bool | None, said: str) -> None:
    if is_right is None:
        st.info(escape(said))
    elif is_right:
        st.success(escape(said), icon=":material/check:")
    else:
        st.warning(escape(said), icon=":material/warning:")


def show_direction(check: Check) -> None:
    """Whether the norm follows from the direction: the verdict, and both norms after every layer."""
    st.markdown(words.anatomy.NORM_AND_DIRECTION)
    left, right = st.columns(2, gap="medium")
    with left:
        st.dataframe(
            analysis.typed.norm_table(check).rename(columns=_NORM_COLUMNS),
            hide_index=True,
            height="content" if len(check.layers) <= _MOST_LAYERS else _TABLE_HEIGHT,
            column_config={
                "Layer": st.column_config.NumberColumn(format="%d", width="small"),
                **dict.fromkeys(("Norm", "From the direction"), st.column_config.NumberColumn(format="%.6f")),
                "Difference": st.column_config.NumberColumn(format="%+.6f"),
            },
            placeholder="–",
            alt="The norm of [CLS] after every layer, measured and recomputed from its direction",
        )
    with right:
        _show(*words.anatomy.norm_verdict(check))


def downloads(experiment: Experiment, weights: Weights, anatomy: Anatomy, check: Check | None) -> None:
    """The tables as files, made when asked for; without the sentence's while it is not measured."""
    about = {
        "model": experiment.model,
        "model_commit": weights.commit or None,
        "model_fingerprint": weights.fingerprint,
        "architecture": anatomy.architecture.model_class,
        "max_length": anatomy.max_length,
    }
    name = f"clsviz-{weights.fingerprint[:12]}"

    def draw() -> None:
        share.table_downloads("Parameters", f"{name}-parameters", anatomy.parameter_table, lambda: about)
        if check is not None:
            share.table_downloads(
                escape("Values of [CLS]"),
                f"{name}-cls",
                lambda: analysis.typed.dimension_table(anatomy, check),
                lambda: about | {"tokens": [token_id for _, token_id in check.tokens]},
            )
            share.table_downloads(
                "Norms by layer",
                f"{name}-norms",
                lambda: analysis.typed.norm_table(check),
                lambda: about | {"tokens": [token_id for _, token_id in check.tokens]},
            )

    share.menu(draw, 1 if check is None else 3)
