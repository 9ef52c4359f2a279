"""The visitor's own sentences: measured at once, and set beside those of the corpus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures, statistics
from clsviz.corpora.segmentation import MAX_CHARACTERS
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.measurements import Measurements
from clsviz.measuring import MeasuringJob
from clsviz.settings import Unit
from clsviz.statistics import lengths_in
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session
from clsviz.words import number

if TYPE_CHECKING:
    from clsviz.analysis import Shown


_MOST_SENTENCES, _MOST_IN_FULL = 20, 3


_MOST_CHARACTERS_SHOWN, _MOST_TOKENS_SHOWN = 500, 80


@dataclass(frozen=True, eq=False)
class Own:
    """Sentences of the visitor, with their tokens, their measurements, and of the view lengths and norms (n,)."""

    sentences: list[str]
    tokens: list[list[str]]
    measurements: Measurements
    unit: Unit
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]

    def points(self) -> "figures.Points":
        """As the picture marks them."""
        return figures.Points(figures.labels_of(self.sentences), self.lengths, self.norms)


def box() -> None:
    """Where the visitor types."""
    st.subheader("Your own sentence")
    st.text_area(
        "Type a sentence, or several, one a line",
        value=st.session_state.text,
        key="text",
        on_change=_untick,
        height=80,
        max_chars=MAX_CHARACTERS,
        placeholder="The quick brown fox jumps over the lazy dog.",
        help="Press Ctrl+Enter, or click outside the box. What you type is not kept, and goes into the link only if "
        "you tick the box.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Measure", icon=":material/straighten:")  # to leave the box is to hand over what was typed
        st.checkbox(
            "Put it into the link",
            value=st.session_state.with_text,
            key="with_text",
            disabled=not st.session_state.text.strip(),
        )


def _untick() -> None:
    """What the visitor types in place of a link's sentences does not take over their tick."""
    if st.session_state.pop("text_of_link", ""):
        st.session_state.with_text = False


def measure(job: MeasuringJob, experiment: Experiment) -> Own | None:
    """Measure what the visitor typed; None where that is nothing, or cannot be done yet, and then says why."""
    sentences = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    if not sentences:
        return None
    if len(sentences) > _MOST_SENTENCES:
        st.caption(f"The first {_MOST_SENTENCES} of {len(sentences):,} lines are measured.")
        sentences = sentences[:_MOST_SENTENCES]
    found = session.found(job, experiment)
    if found is None:
        st.caption("It is measured as soon as the first sentences of the corpus are.")
        return None
    of = (found.weights.fingerprint, found.precision, sentences)
    if st.session_state.get("own_of") != of:  # the view does not need the model again
        try:
            with st.spinner(f"Loading {found.weights.label}", show_time=True):
                encoder = server.jobs().encoders.get(found.weights, found.precision)
            st.session_state.own = [encoder.tokens(sentence) for sentence in sentences], encoder.measure(sentences)
        except ClsvizError as error:
            st.error(escape(error))
            return None
        st.session_state.own_of = of
    tokens, measurements = st.session_state.own
    lengths = lengths_in(experiment.unit, sentences, measurements.n_tokens)
    norms = measurements.norms(experiment.pooling, experiment.layer)
    return Own(sentences, tokens, measurements, experiment.unit, lengths, norms)


def show(own: Own, view: "Shown") -> None:
    """What was measured, beside what the line and the corpus have for the same length."""
    if len(own.sentences) > _MOST_IN_FULL:
        _table(own, view)
        return
    for index, sentence in enumerate(own.sentences):
        length, norm = int(own.lengths[index]), float(own.norms[index])
        facts = [f"**{length:,} {own.unit.singular if length == 1 else own.unit}**", f"norm **{norm:.4f}**"]
        if view.fit:
            line = float(view.fit.predict(length))
            facts.append(f"the line says {line:.4f} for this length ({number(norm - line, sign='+')})")
        if among := statistics.percentile_at_length(length, norm, view.lengths, view.norms):
            facts.append(f"higher than {among[0]:.0f}% of the {among[1]:,} corpus sentences of about this length")
        else:
            facts.append("too few corpus sentences of about this length to compare with")
        if len(view.lengths) and length > view.lengths.max():
            facts.append(":orange[longer than any sentence in the picture, so it may lie outside]")
        if own.measurements.truncated[index]:
            facts.append(":orange[the model reads only its beginning]")
        with st.container(border=True):
            prefix = f"{index + 1}. " if len(own.sentences) > 1 else ""
            st.text(
                prefix
                + (sentence if len(sentence) <= _MOST_CHARACTERS_SHOWN else f"{sentence[:_MOST_CHARACTERS_SHOWN]}…")
            )
            st.markdown(" · ".join(facts))
            st.code(_cut(own.tokens[index]), language=None, wrap_lines=True)


def _table(own: Own, view: "Shown") -> None:

    lengths = own.lengths
    among = [
        statistics.percentile_at_length(int(length), float(norm), view.lengths, view.norms)
        for length, norm in zip(lengths, own.norms, strict=True)
    ]
    st.dataframe(
        pd.DataFrame(
            {
                "": np.arange(1, len(own.sentences) + 1),
                "Sentence": own.sentences,
                own.unit.capitalize(): lengths,
                "Norm": own.norms,
                "Norm on the line": view.fit.predict(lengths) if view.fit else np.nan,
                "Percentile of its length": [entry[0] if entry else np.nan for entry in among],
                "As the model cuts it": [_cut(tokens) for tokens in own.tokens],
            }
        ),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Norm", "Norm on the line")}
        | {"Percentile of its length": st.column_config.NumberColumn(format="%.0f")},
        alt="Your sentences with their tokens and norms",
    )


def _cut(tokens: list[str]) -> str:
    rest = len(tokens) - _MOST_TOKENS_SHOWN
    return "  ".join(tokens[:_MOST_TOKENS_SHOWN]) + (f"  … and {rest:,} more" if rest > 0 else "")
