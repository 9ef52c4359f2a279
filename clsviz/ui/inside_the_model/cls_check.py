"""What becomes of [CLS] in one sentence, on the page: where it begins, and the pooler put to the test."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.models import Weights
from clsviz.settings import Precision
from clsviz.ui.markdown import escape
from clsviz.ui.parts import share
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.encoder.anatomy import Anatomy


EXAMPLE = "Sinan loves a beautiful day"
"""The sentence that is read where the visitor typed none."""


_TOLERANCE = 1e-5
"""Largest difference of a pooler output, whose numbers are between −1 and 1, that rounding in float32 explains."""


_FIRST = 5
"""Numbers of a vector that are shown."""


_MOST_CHARACTERS = 120
"""Of the sentence that is named."""


_TABLE_HEIGHT = 320


@dataclass(frozen=True, eq=False)
class Check:
    """One sentence, as the model reads it: its tokens with their ids, and its vectors float32 (width).

    pooler: empty where the model has none. embedded_norm: L2 norm of [CLS] after layer 0.
    """

    sentence: str
    tokens: list[tuple[str, int]]
    cls: NDArray[np.float32]
    pooler: NDArray[np.float32]
    embedded_norm: float


def measure(weights: Weights) -> Check:
    """Measure the first line that the visitor typed, or an example; once, as long as neither changes."""
    sentence = next((line.strip() for line in st.session_state.text.splitlines() if line.strip()), EXAMPLE)
    if st.session_state.get("checked_of") != (weights.fingerprint, sentence):
        encoder = server.jobs().encoders.get(weights, Precision.EXACT)
        cls, pooler = encoder.cls_and_pooler([sentence])
        # By itself: `vectors` has all in one, but not of models whose layers are of several shapes.
        norm = float(encoder.measure([sentence]).cls_norms[0, 0])
        st.session_state.checked = Check(sentence, encoder.framed_tokens(sentence), cls[0], pooler[0], norm)
        st.session_state.checked_of = (weights.fingerprint, sentence)
    check: Check = st.session_state.checked
    return check


def show_beginning(anatomy: "Anatomy", check: Check, *, untrained: bool) -> None:
    """The vector that [CLS] enters the model with."""
    st.subheader("Where [CLS] begins", anchor=False)
    vector, (token, identity) = anatomy.cls_embedding, anatomy.cls
    norm, after = words.number(float(np.linalg.norm(vector))), words.number(check.embedded_norm)
    origin = "drawn at random" if untrained else "learned"
    text = (
        f"{token} enters as row {identity:,} of the word embeddings: {len(vector):,} numbers that were {origin}, of "
        f"norm {norm}. After layer 0, the embedding output, its norm is {after}"
    )
    is_constant = anatomy.cls_place == 0  # elsewhere its position may depend on the words
    text += ": the same for every sentence, as nothing of its words has reached it yet." if is_constant else "."
    st.markdown(escape(text))
    st.code(_beginning(vector), language=None, wrap_lines=True)


def _beginning(vector: NDArray[np.float32]) -> str:
    numbers = "  ".join(f"{value:+.6f}".replace("-", "−") for value in vector[:_FIRST])
    return f"{numbers}  … {len(vector) - _FIRST:,} more" if len(vector) > _FIRST else numbers


def show_check(anatomy: "Anatomy", check: Check) -> None:
    """Whether the pooler output is what the pooler makes of [CLS], worked out another way."""
    st.subheader("Is the pooler output what the pooler makes of [CLS]?", anchor=False)
    sentence = check.sentence if len(check.sentence) <= _MOST_CHARACTERS else f"{check.sentence[:_MOST_CHARACTERS]}…"
    n_lines = sum(bool(line.strip()) for line in st.session_state.text.splitlines())
    which = {0: "An example, as you typed none", 1: "Your sentence"}.get(n_lines, f"The first of your {n_lines:,}")
    st.markdown(
        f"{which}: “{escape(sentence)}”. From its [CLS] after the last layer the pooler output is worked out anew, as "
        "tanh(W [CLS] + b) in float64, and set beside what the model gave."
        if anatomy.pooler
        else f"{which}: “{escape(sentence)}”."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(f"As the model reads it: {len(check.tokens):,} tokens")
        st.dataframe(
            pd.DataFrame(
                [(place, token, identity) for place, (token, identity) in enumerate(check.tokens)],
                columns=["Place", "Token", "Id"],
            ),
            hide_index=True,
            height=_TABLE_HEIGHT,
            column_config={name: st.column_config.NumberColumn(format="%d", width="small") for name in ("Place", "Id")},
            alt="The tokens of the sentence with their ids",
        )
    with right:
        verdict(anatomy, check)
        numbers = cls_table(anatomy, check).drop(columns="input_embedding").dropna(subset="cls")
        names = {"component": "Number", "cls": "[CLS]", "expected": "tanh(W [CLS] + b)", "pooler": "Pooler output"}
        digits = st.column_config.NumberColumn(format="%.6f")
        st.dataframe(
            numbers.rename(columns=names),
            hide_index=True,
            height=_TABLE_HEIGHT - 72,
            column_config=dict.fromkeys([*names.values()][1:], digits)
            | {"Number": st.column_config.NumberColumn(format="%d", width="small")},
            alt="The numbers of [CLS] after the last layer and of the pooler output",
        )


def verdict(anatomy: "Anatomy", check: Check) -> None:
    """What the check found."""
    if not anatomy.has_pooler:
        st.info("This model has no pooler: its [CLS] leaves the last layer as it is.")
    elif anatomy.pooler is None:
        st.info("This model’s pooler is built otherwise than BERT’s, so it is not worked out here.")
    else:
        off = float(np.abs(anatomy.pooler.output(check.cls[None])[0] - check.pooler).max())
        if off <= _TOLERANCE:
            st.success(
                f"Yes: of {len(check.pooler):,} numbers none is off by more than {words.number(off)}.",
                icon=":material/check:",
            )
        else:
            st.warning(
                f"No: they are off by up to {words.number(off)}. This model’s pooler reads another vector than the "
                "[CLS] of the last layer.",
                icon=":material/warning:",
            )


def cls_table(anatomy: "Anatomy", check: Check) -> pd.DataFrame:
    """A row a component: input_embedding, cls after the last layer, and of the pooler expected and pooler (output)."""
    columns: dict[str, Any] = {"input_embedding": anatomy.cls_embedding, "cls": check.cls}
    if anatomy.pooler is not None:
        columns["expected"] = anatomy.pooler.output(check.cls[None])[0]
    if anatomy.has_pooler:
        columns["pooler"] = check.pooler
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})  # widths may differ
    table.insert(0, "component", np.arange(len(table)))
    return table


def downloads(experiment: Experiment, weights: Weights, anatomy: "Anatomy", check: Check) -> None:
    """The tables as files, made when asked for."""
    about = {
        "model": experiment.model,
        "model_commit": weights.commit or None,
        "model_fingerprint": weights.fingerprint,
        "architecture": anatomy.architecture.model_class,
        "max_length": anatomy.max_length,
    }
    of_sentence = about | {"tokens": [identity for _, identity in check.tokens]}
    with st.popover("Download", icon=":material/download:"):
        name = f"clsviz-{weights.fingerprint[:12]}"
        share.table_downloads("Parameters", f"{name}-parameters", anatomy.parameter_table, lambda: about)
        share.table_downloads(
            escape("Numbers of [CLS]"), f"{name}-cls", lambda: cls_table(anatomy, check), lambda: of_sentence
        )
