"""What there is beyond the line: its shape, and how the cutoff changes it; both computed in the background."""

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, figures, words
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart
from clsviz.ui.state import server, watching

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.statistics import Shape

_HEIGHT = 360


def is_active(job: MeasuringJob, experiment: Experiment) -> bool:
    """Whether there is more to come by itself."""
    found = watching.found(job, experiment)
    if job.state.is_active:
        if found and not analysis.knows_alike(found):
            server.jobs().analyse(
                ("alike", found.key), lambda: iter([analysis.alike(found)]), visitor=server.visitor()
            )  # in time for the end of the measurement
        return True
    if found is None:
        return False
    return any(task.state.is_active for task in (_shape(found, experiment), _cutoffs(found, experiment)))


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
    st.markdown(escape(words.by_cutoff(table)))
    if table.empty:
        return
    st.plotly_chart(
        figures.cutoff_lines(table, experiment.length_cutoff, chart.palette(), unit=experiment.unit.singular),
        height=_HEIGHT,
        key="cutoffs",
        config={"displayModeBar": False},
        alt="R² and slope of the line by length cutoff.",
    )
