"""The norm as the sentence grows word by word."""

import pandas as pd
import streamlit as st

from clsviz import figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.ui.markdown import escape
from clsviz.ui.parts import plot
from clsviz.ui.parts.chart import palette
from clsviz.ui.state.pace import part
from clsviz.ui.try_a_sentence import choices, measured

_HEIGHT = 440


def show(
    found: Found, sentence: str, jobs: list[MeasuringJob], experiment: Experiment, every: float | None
) -> pd.DataFrame | None:
    """The section with its control, redrawn `every` so many seconds; returns its table, None while there is none."""
    st.subheader("Grow it, word by word", anchor=False)
    word = choices.choose_word(sentence)
    grown = measured.growth(found, experiment, sentence, word)
    if grown is None:
        st.container(height=_HEIGHT, border=False)  # so that nothing below moves when the picture appears
    else:
        part(_draw, every)(grown, jobs, experiment)
    return grown


def _draw(grown: pd.DataFrame, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    corpus = measured.corpus_context(jobs, experiment)
    band = corpus.length_band(int(grown["tokens"].max())) if corpus else None
    said = words.growth.growth_said(grown)
    st.markdown(escape(said))
    plot.show(
        figures.growth(grown, band, palette(), words.axis_title(experiment), unit=experiment.unit),
        height=_HEIGHT,
        key="growth",
        alt=f"The norm after every added word. {said}",
    )
    st.caption(escape(words.try_a_sentence.growth_note(corpus, experiment.length_cutoff, has_band=band is not None)))
