"""What there is beyond the line: its shape, and how the cutoff changes it; both computed in the background."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, figures, words
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server, watching

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.statistics import Shape

_HEIGHT = 360

_PATIENCE_SECONDS = 0.25


def is_active(job: MeasuringJob, experiment: Experiment) -> bool:
    """Whether there is more to come by itself."""
    found = watching.found(job, experiment)
    if job.state.is_active:
        if found and not analysis.clusters_ready(found):
            server.jobs().analyse(
                ("alike", found.key), lambda: iter([analysis.near_duplicates(found)]), visitor=server.visitor()
            )  # in time for the end of the measurement
        return True
    if found is None:
        return False
    shape = _shape(found, experiment)
    needs_all = st.session_state.get("how_measured") or shape.work.result is None  # its first step is for the answer
    return (needs_all and shape.state.is_active) or (
        bool(st.session_state.get("every_layer")) and _cutoffs(found, experiment).state.is_active
    )


def wait_a_moment(is_active: Callable[[], bool]) -> None:
    """Few sentences take a moment: then the answer is written once."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with server.turns().left():
        while is_active() and time.monotonic() < deadline:
            time.sleep(0.01)


def shape(job: MeasuringJob, experiment: Experiment) -> "Shape | None":
    """The shape as far as it is known; it is looked at once all is measured."""
    found = watching.found(job, experiment)
    return None if found is None or job.state.is_active else _shape(found, experiment).work.result


def _shape(found: Found, experiment: Experiment) -> "Analysis[Shape]":
    return server.analyse(analysis.shapes, found, experiment.view)


def _cutoffs(found: Found, experiment: Experiment) -> "Analysis[pd.DataFrame]":
    return server.compute(analysis.by_cutoff, found, replace(experiment.view, length_cutoff=MAX_LENGTH))


def cutoffs(job: MeasuringJob, experiment: Experiment) -> None:
    """R² and slope by cutoff."""
    found = watching.found(job, experiment)
    table = None if found is None or job.state.is_active else _cutoffs(found, experiment).work.result
    if table is None:
        st.caption("Computed once all sentences are measured.")
        return
    cutoff_unit = words.cutoff_unit(experiment)
    st.markdown(escape(words.by_cutoff(table, cutoff_unit)))
    if table.empty:
        return
    plot.show(
        figures.cutoff_lines(
            table, experiment.length_cutoff, chart.palette(), unit=experiment.unit.singular, cutoff_unit=cutoff_unit
        ),
        height=_HEIGHT,
        key="cutoffs",
        alt="R² and slope of the line by length cutoff.",
    )
