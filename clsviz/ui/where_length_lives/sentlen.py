"""The SentLen task: how well the bin of a sentence's length can be predicted from the view's vector."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, export, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found
from clsviz.ui.markdown import escape
from clsviz.ui.parts import share
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.analysis.layers import SentLen


def of(found: Found, experiment: Experiment) -> "Analysis[SentLen]":
    """The analysis, running or done."""
    return server.analyse(analysis.layers.classifications, found, experiment.view)


def show(found: Found, experiment: Experiment) -> None:
    """What the task is, and its accuracy."""
    st.subheader(f"Six length bins, predicted from {words.vector_name(experiment, 'the')}", anchor=False)
    st.markdown(words.sentlen.ABOUT)
    job = of(found, experiment)
    result = job.work.result
    if job.error or (result and result.vector is None):
        st.info(escape(job.error or (result.problem if result else "")))
    elif result is None:
        st.caption("Computing…")
    else:
        _accuracies(result)


def _accuracies(result: "SentLen") -> None:
    st.markdown(escape(words.sentlen.verdict(result)))
    st.dataframe(
        export.tables.sentlen(result),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "Accuracy": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "Lowest": st.column_config.NumberColumn("Lowest draw", format="percent"),
            "Highest": st.column_config.NumberColumn("Highest draw", format="percent"),
            "Bits": st.column_config.NumberColumn("Code, bits", format="%.0f"),
        },
        placeholder="–",
        alt="Accuracy of the SentLen task",
    )
    if caveat := words.sentlen.caveat(result):
        st.warning(caveat)
    if of_norm := words.sentlen.of_norm(result):
        st.caption(escape(of_norm))


def downloads(experiment: Experiment, found: Found, about: Callable[[], Mapping[str, object]]) -> None:
    """The accuracies as a table, if there are any."""
    result = of(found, experiment).work.result
    if result and result.vector:
        name = f"{share.file_name(experiment, found)}-sentlen"
        share.table_downloads("SentLen", name, lambda: export.tables.sentlen(result), about)
