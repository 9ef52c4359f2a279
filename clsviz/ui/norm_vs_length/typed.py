"""The visitor's own sentences beside those of the corpus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import export, figures, words
from clsviz.experiment import Experiment
from clsviz.measurements import Measurements
from clsviz.measuring import Found
from clsviz.settings import Unit
from clsviz.statistics import lengths_in
from clsviz.ui.parts import own

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.encoder import AnyEncoder

_MOST_IN_FULL = 3
"""More sentences than this are listed in a table."""

_MOST_CHARACTERS = 500


@dataclass(frozen=True, eq=False)
class TypedSentences:
    """n sentences of the visitor: their tokens and measurements, and their lengths int32 (n,) and norms float32 (n,).

    Lengths are in the view's unit, and norms are of the view's vector.
    """

    sentences: list[str]
    tokens: list[list[str]]
    measurements: Measurements
    unit: Unit
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]

    def points(self) -> "figures.Points":
        """As the picture marks them."""
        return figures.Points(figures.labels_of(self.sentences), self.lengths, self.norms)


def measure(found: Found, experiment: Experiment) -> TypedSentences | None:
    """Measure what the visitor typed; None if that is nothing, or is not measured yet, which is then said here."""
    sentences = [] if found.weights.imported else own.typed()
    if not sentences:
        return None

    def work(encoder: "AnyEncoder") -> tuple[list[list[str]], Measurements]:
        return [encoder.tokens(sentence) for sentence in sentences], encoder.measure(sentences)

    measured = own.try_sentences("measurements", found.weights, sentences, work, found.precision)
    if measured is None:
        return None
    tokens, measurements = measured
    lengths = lengths_in(experiment.unit, sentences, measurements.n_tokens)
    norms = measurements.norms(experiment.pooling, experiment.layer)
    return TypedSentences(sentences, tokens, measurements, experiment.unit, lengths, norms)


def show(typed: TypedSentences | None, shown: "ViewData") -> None:
    """The sentences, if there are any, beside what the line and the corpus have for the same length."""
    if typed is None:
        return
    own.offer_for_link()
    if len(typed.sentences) > _MOST_IN_FULL:
        _table(typed, shown)
        return
    for index, sentence in enumerate(typed.sentences):
        with st.container(border=True):
            prefix = f"{index + 1}. " if len(typed.sentences) > 1 else ""
            is_long = len(sentence) > _MOST_CHARACTERS
            st.text(prefix + (f"{sentence[:_MOST_CHARACTERS]}…" if is_long else sentence))
            length, norm = int(typed.lengths[index]), float(typed.norms[index])
            is_truncated = bool(typed.measurements.truncated[index])
            st.markdown(words.typed.facts(length, norm, typed.unit, shown, is_truncated=is_truncated))
            st.code(words.typed.tokens(typed.tokens[index]), language=None, wrap_lines=True)


def _table(typed: TypedSentences, shown: "ViewData") -> None:
    st.dataframe(
        export.tables.typed(typed.sentences, typed.tokens, typed.lengths, typed.norms, typed.unit, shown),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Norm", "Norm on the line")}
        | {"Percentile at this length": st.column_config.NumberColumn(format="%.0f")},
        alt="Your sentences with their tokens and norms",
    )
