"""Raw [CLS], the pooler output, and what lies between them."""

import streamlit as st

from clsviz import analysis, models, words
from clsviz.analysis.typed import TypedSentences
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob
from clsviz.settings import Pooling
from clsviz.ui.markdown import escape
from clsviz.ui.try_a_sentence import measured

_COLUMNS = {
    "sentence": "Sentence",
    "cls": "Raw [CLS]",
    "dense": "After dense",
    "pooler": "Pooler output",
    "near_one": "Beyond ±0.99",
}


def show(typed: TypedSentences, at: int, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """The norms of one sentence as figures, and a table if there are several sentences."""
    said = escape(words.try_a_sentence.pooler(typed, at, models.label(experiment.model)))
    if typed.dense_norms is None or typed.output_norms is None:
        st.markdown(said)
        return
    corpus = measured.corpus_context(jobs, experiment)
    quartiles = corpus.quartiles if corpus else {}
    activation = "tanh" if typed.is_tanh else "activation"
    with st.grid(3, min_column_width=150):
        raw = float(typed.raw_norms[at])
        _metric("Raw [CLS]", raw, quartiles.get(Pooling.CLS), "[CLS] as it leaves the last layer.")
        dense = "[CLS] after the pooler’s dense layer, a matrix and a bias learned with the model."
        _metric("After dense", float(typed.dense_norms[at]), None, dense)
        output = float(typed.output_norms[at])
        _metric(f"After {activation}", output, quartiles.get(Pooling.POOLER), "The pooler output.")
    st.markdown(said)
    if len(typed.sentences) > 1:
        numbers = {_COLUMNS[name]: st.column_config.NumberColumn(format="%.4f") for name in ("cls", "dense", "pooler")}
        numbers[_COLUMNS["near_one"]] = st.column_config.NumberColumn(format="percent")
        table = analysis.typed.pooler_table(typed).rename(columns=_COLUMNS)
        st.dataframe(table, hide_index=True, column_config=numbers, alt="Norms before, within and after the pooler")


def _metric(label: str, value: float, quartiles: tuple[float, float] | None, text: str) -> None:
    corpus = f"corpus {quartiles[0]:.2f} to {quartiles[1]:.2f}" if quartiles else "–"
    tooltip = f"{text} Below it, the range of norms that holds the middle half of the corpus." if quartiles else text
    st.metric(
        label,
        words.number(value),
        corpus,
        delta_color="off",
        delta_arrow="off",
        border=True,
        help=tooltip,
        height="stretch",
    )
