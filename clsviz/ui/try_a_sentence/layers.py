"""The norm of [CLS] after every layer."""

import streamlit as st

from clsviz import analysis, figures, words
from clsviz.analysis.typed import TypedSentences
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob
from clsviz.ui.markdown import escape
from clsviz.ui.parts import plot
from clsviz.ui.parts.chart import palette
from clsviz.ui.try_a_sentence import measured

_HEIGHT = 380


def show(typed: TypedSentences, at: int, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """One line per sentence, over the middle half of the corpus."""
    corpus = measured.corpus_context(jobs, experiment)
    table = analysis.typed.layer_table(typed, corpus)
    if len(typed.sentences) > 1:  # numbered, or equal sentences would share a line
        table["name"] = table["sentence"].astype(str) + ". " + table["name"]
    said = words.try_a_sentence.layers(typed, at, corpus)
    st.markdown(escape(said))
    plot.show(
        figures.layer_path(table, corpus.layer_band if corpus else None, palette()),
        height=_HEIGHT,
        key="path",
        alt=f"Norm of [CLS] after every layer. {said}",
    )
    if note := words.try_a_sentence.layers_note(corpus, experiment.length_cutoff):
        st.caption(escape(note))
