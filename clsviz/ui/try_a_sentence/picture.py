"""The sentences among those of the corpus: the scatter of the main page, with a star for each."""

from dataclasses import replace

import numpy as np
import streamlit as st

from clsviz import figures
from clsviz.analysis.typed import EXAMPLE, TypedSentences
from clsviz.experiment import Experiment
from clsviz.measuring import MeasuringJob
from clsviz.settings import Lengths
from clsviz.ui.parts import chart, colouring, selection, share
from clsviz.ui.state import watching

_NO_NORMS = (
    "The corpus’s norms of this vector are not measured. “Find the nearest corpus sentences” below measures them."
)


def show(typed: TypedSentences | None, jobs: list[MeasuringJob], experiment: Experiment) -> None:
    """The picture as far as the corpus is measured, and which of its sentences are selected.

    Lengths are always the sentences' own: a typed one has no other.
    """
    experiment = replace(experiment, lengths=Lengths.TRUE)
    found = next(filter(None, (watching.found(job, experiment) for job in jobs)), None)
    if found is None:
        chart.show_empty(experiment, "No points.")
        is_measured = any(job.work.found is not None for job in jobs)
        st.caption(_NO_NORMS if is_measured and len(jobs) == 1 else "")
        return
    chart.follow(experiment)
    shown = chart.view_of(found, experiment)
    is_example = typed is not None and typed.sentences == [EXAMPLE] and not st.session_state.text.strip()
    selected = chart.show(
        experiment,
        found,
        shown,
        _points(typed, experiment),
        st.session_state.overlays,
        "example" if is_example else "yours",
    )
    colouring.show_legend(found, shown, experiment)
    selection.show(experiment, found, shown, selected, share.file_name(experiment, found))


def _points(typed: TypedSentences | None, experiment: Experiment) -> "figures.Points | None":
    """The typed sentences as the picture marks them."""
    if typed is None:
        return None
    view, n = experiment.view, len(typed.sentences)
    lengths = np.array([typed.length(at, view) for at in range(n)], np.int32)
    return figures.Points(figures.labels_of(typed.sentences), lengths, typed.vectors.norms(view.pooling, view.layer))
