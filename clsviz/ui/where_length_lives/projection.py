"""The view's vectors projected onto two dimensions and coloured by length, once the visitor asks for it."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clsviz import analysis, figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found
from clsviz.settings import Pooling
from clsviz.statistics.results import Readout
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.analysis.layers import Projected
    from clsviz.statistics import Profile

_HEIGHT = 460


def of(found: Found, experiment: Experiment) -> "Analysis[Projected] | None":
    """The analysis, running or done; None while nobody asked for it, or while the vectors are not here."""
    if not st.session_state.project or (found.is_outline and not is_kept(found, experiment)):
        return None
    return server.compute(analysis.layers.project, found, experiment.view)


def is_kept(found: Found, experiment: Experiment) -> bool:
    """Whether the projection is there without the vectors."""
    return server.is_stored(analysis.layers.project, found, experiment.view)


def show(found: Found, experiment: Experiment, profile: "Profile") -> None:
    """The switch, and the picture."""
    vector = words.vector_name(experiment, "the")
    st.subheader(f"Can length be seen in {vector}?", anchor=False)
    st.toggle(
        "Project the vectors onto two dimensions",
        value=st.session_state.project,
        key="project",
        persist_state="session",
        help=words.projection.ABOUT,
    )
    job = of(found, experiment)
    if job is None:
        st.caption(words.projection.NEEDS_VECTORS if found.is_outline else "Takes a second or two.")
        return
    if job.error:
        st.info(escape(job.error))
        return
    result = job.work.result
    projected, whole = result.projection if result else None, _whole(profile, experiment)
    said = words.projection.said(projected, vector, whole, profile.n_different)
    st.markdown(escape(said))
    if result is None:
        st.container(height=_HEIGHT, border=False)
        return
    plot.show(
        figures.projection(
            result.projection.coordinates,
            result.lengths,
            figures.labels_of([found.sentences[at] for at in result.index]),
            chart.palette(),
            shares=result.projection.shares,
            unit=experiment.unit,
            selected=np.flatnonzero(np.isin(result.index, chart.selected_sentences(found, experiment))),
        ),
        height=_HEIGHT,
        key="projection",
        tools=True,
        alt=f"The vectors on two principal components, coloured by length. {said}",
    )


def _whole(profile: "Profile", experiment: Experiment) -> float | None:
    """R² of length from the whole vector, once that is known."""
    layer = profile.n_layers if experiment.layer is None else experiment.layer
    step = experiment.pooling, None if experiment.pooling is Pooling.POOLER else layer, Readout.VECTOR
    reading = profile.readings.get(step)
    return reading.r_squared if reading else None
