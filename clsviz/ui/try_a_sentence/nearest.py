"""Which corpus sentences are nearest to one that the visitor typed, and how near the other typed ones are."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from clsviz import analysis, statistics, words
from clsviz.analysis.typed import TypedSentences
from clsviz.errors import SettingError
from clsviz.experiment import Experiment, View
from clsviz.measurements import Kind
from clsviz.measuring import RATE_OF_VECTORS, Found, MeasuringJob, State
from clsviz.settings import Precision
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, watching

_TYPICAL_OF, _PAIRS_OF = 2_000, 1_000
"""The first corpus sentences, whose pairs give the average similarity and the ranks."""


_NEAREST = 10


@dataclass(frozen=True, eq=False)
class _Similar:
    """nearest: as in `statistics.nearest`. typical: mean similarity of two corpus sentences. pairs: of typed ones."""

    nearest: pd.DataFrame
    typical: float
    pairs: pd.DataFrame


def toggle(job: MeasuringJob, experiment: Experiment) -> None:
    """Whether to measure the corpus's vectors, with what that costs."""
    st.subheader("Which corpus sentences are nearest?", anchor=False)
    st.toggle(
        "Find the nearest corpus sentences",
        value=st.session_state.nearest,
        key="nearest",
        persist_state="session",
        on_change=_want,
    )
    if not st.session_state.nearest:
        st.caption(escape(_cost(job, experiment)))


def _want() -> None:
    """Remember that the visitor turned it on, having read what it costs; whoever opens a link has not read it."""
    st.session_state.nearest_wanted = st.session_state.nearest


def start_if_wanted(jobs: list[MeasuringJob]) -> list[MeasuringJob]:
    """The jobs, with the one for vectors started if the visitor has just asked for it."""
    if len(jobs) > 1 and st.session_state.pop("nearest_wanted", False):
        return [jobs[0], watching.start(jobs[1])]
    return jobs


def _cost(job: MeasuringJob, experiment: Experiment) -> str:
    n = min(experiment.sample_size, experiment.probe_size)
    found = job.work.found
    if found is None:
        return words.try_a_sentence.nearest_cost(n, None)
    n = min(n, len(found.sentences))  # a corpus may have fewer than are asked for
    of, store = (found.weights.fingerprint, Precision.EXACT.numbers), server.jobs().store
    norms_rate = store.rate(*of)
    rate = store.rate(*of, Kind.VECTORS) or (norms_rate and norms_rate * RATE_OF_VECTORS)
    return words.try_a_sentence.nearest_cost(n, n / rate if rate else None)


def show(typed: TypedSentences, at: int, job: MeasuringJob, experiment: Experiment) -> None:
    """Both tables, as far as the corpus's vectors are measured."""
    found = watching.found(job, experiment)
    if found is None:
        if job.state is State.WAITING:
            st.caption("Press Run to measure the corpus’s vectors.")
        elif job.state.is_active:
            st.caption("The first results appear as soon as some of the corpus’s vectors are measured.")
        return
    view = experiment.view
    try:
        similar = _similar(typed, at, found, view)
    except SettingError as error:
        st.info(escape(error))
        return
    sentence = typed.sentences[at]
    st.markdown(escape(words.try_a_sentence.nearest(sentence, view, len(found.measurements), similar.typical)))
    _show_nearest(similar.nearest)
    if len(typed.sentences) > 1:
        others = _others(similar.pairs, at)
        st.markdown(escape(words.try_a_sentence.similarities(sentence, view, others["Sentence"].tolist())))
        _show_others(others)
    st.caption(escape(words.try_a_sentence.cosine_note(experiment)))


def _show_nearest(table: pd.DataFrame) -> None:
    st.dataframe(
        table.rename(columns={"sentence": "Sentence", "similarity": "Similarity", "times": "Count"}),
        hide_index=True,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Similarity": st.column_config.NumberColumn(format="%.4f", width="small"),
            "Count": st.column_config.NumberColumn(
                width="small", help="How often this exact sentence occurs among those compared."
            ),
        },
        alt="The corpus sentences whose vectors are nearest",
    )


def _show_others(table: pd.DataFrame) -> None:
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "Sentence": st.column_config.TextColumn(width="medium"),
            "Similarity": st.column_config.NumberColumn(format="%.4f", width="small"),
            "Less alike": st.column_config.NumberColumn(
                format="%.1f%%",
                width="small",
                help=f"Percentage of all pairs of the first {_PAIRS_OF:,} corpus sentences that are less alike.",
            ),
        },
        alt="The other typed sentences with their similarities",
    )


def _others(pairs: pd.DataFrame, at: int) -> pd.DataFrame:
    """The rows of the pairs that contain one sentence, with the other sentence of each."""
    is_first = pairs["first"] == at + 1
    rows = pairs[is_first | (pairs["second"] == at + 1)]
    sentence = rows["second_sentence"].where(is_first, rows["first_sentence"])
    return pd.DataFrame({"Sentence": sentence, "Similarity": rows["similarity"], "Less alike": rows["percentile"]})


def nearest_table(typed: TypedSentences, at: int, found: Found, view: View) -> pd.DataFrame:
    """The corpus sentences nearest to one, as in `statistics.nearest`, among those whose vectors are measured."""
    vector = typed.vectors.of(view.pooling, view.layer)[at]
    return statistics.nearest(vector, found.vectors.of(view.pooling, view.layer), found.sentences, _NEAREST)


def similarity_table(typed: TypedSentences, found: Found, view: View) -> pd.DataFrame:
    """The pairs of typed sentences, as in `analysis.typed.similarity_table`, among those of the corpus."""
    return analysis.typed.similarity_table(typed, found.vectors.head(_PAIRS_OF), view)


def _similar(typed: TypedSentences, at: int, found: Found, view: View) -> _Similar:
    """Computed once, not each time the page polls."""

    def compute() -> _Similar:
        corpus = found.vectors.head(_TYPICAL_OF).of(view.pooling, view.layer)
        return _Similar(
            nearest_table(typed, at, found, view),
            statistics.typical_similarity(corpus),
            similarity_table(typed, found, view),
        )

    key = "similar", found.weights.fingerprint, *typed.sentences, at, found.key, view
    return server.cache().get_or_compute(key, compute)
