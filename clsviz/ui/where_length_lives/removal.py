"""The length erased from the view's vectors, and what is left for probes and among neighbours."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot, share
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.statistics import Erasure

_HEIGHT = 320


def of(found: Found, experiment: Experiment) -> "Analysis[Erasure] | None":
    """The analysis, running or done; None while nobody asked for it."""
    if not st.session_state.erase:
        return None
    return server.analyse(analysis.probes.erasures, found, experiment.view)


def show(found: Found, experiment: Experiment) -> None:
    """The switch, and what is left."""
    st.subheader(f"Can it be removed from {words.vector_name(experiment, 'the')}?", anchor=False)
    st.toggle(
        "Erase the length with LEACE",
        value=st.session_state.erase,
        key="erase",
        persist_state="session",
        help=words.probing.ABOUT_ERASING,
    )
    job = of(found, experiment)
    if job is None:
        st.caption("Takes some seconds.")
        return
    result = job.work.result
    if job.error:
        st.info(escape(job.error))
        return
    st.markdown(escape(words.probing.erased(result)))
    if result is None or not result.n_done:
        st.container(height=_HEIGHT, border=False)
        return
    plot.show(
        figures.erasure(export.tables.erasure(result), chart.palette()),
        height=_HEIGHT,
        key="erasure",
        alt=words.probing.erased(result),
    )


def downloads(experiment: Experiment, found: Found, about: Callable[[], Mapping[str, object]]) -> None:
    """What is left as a table, if there is any."""
    job = of(found, experiment)
    result = job.work.result if job else None
    if result is not None and result.n_done:
        name = f"{share.file_name(experiment, found)}-erased"
        share.table_downloads("Length erased", name, lambda: export.tables.erasure(result), about)
