"""R² by layer and pooling, a cell each, and the scatter of the cell that is chosen."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clsviz import figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found
from clsviz.settings import Pooling
from clsviz.ui.markdown import escape
from clsviz.ui.parts import picture
from clsviz.ui.state import session

if TYPE_CHECKING:
    from clsviz.statistics import Profile


_ROWS = {Pooling.CLS: "[CLS]", Pooling.MEAN: "mean", Pooling.MAX: "max", Pooling.POOLER: "pooler output"}


def show(profile: "Profile", found: Found, experiment: Experiment) -> None:
    """Both."""
    _heat_map(profile, experiment)
    _scatter(found, experiment)


def _heat_map(profile: "Profile", experiment: Experiment) -> None:
    """R² by layer and pooling; a click on a cell makes it the view."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("R² by vector", anchor=False)
        st.segmented_control(
            "What is read",
            [False, True],
            default=st.session_state.heat,
            format_func={False: "The norm alone", True: "The whole vector"}.__getitem__,
            key="heat",
            required=True,
            label_visibility="collapsed",
        )
    readout = statistics.Readout.VECTOR if st.session_state.heat else statistics.Readout.NORM
    poolings = [pooling for pooling in _ROWS if profile.has_pooler or pooling is not Pooling.POOLER]
    lines = [profile.line(pooling, readout) for pooling in poolings]
    values = np.array(
        [
            [np.nan if reading is None or reading.r_squared is None else reading.r_squared for reading in line]
            for line in lines
        ]
    )
    layer = profile.n_layers if experiment.layer is None or experiment.pooling is Pooling.POOLER else experiment.layer
    st.plotly_chart(
        figures.heat_map(
            values,
            [_ROWS[pooling] for pooling in poolings],
            [str(layer) for layer in range(profile.n_layers + 1)],
            picture.palette(),
            marked=(poolings.index(experiment.pooling), layer),
        ),
        key="cells",
        on_select=_choose_cell,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"R² of the length by layer and pooling, as read from the {readout}.",
    )
    st.caption(
        "A click on a cell opens the scatter of that vector’s norm. Where a cell is empty there is nothing to read: "
        "the vector, or its norm, is the same for all sentences."
    )


def _choose_cell() -> None:
    points = st.session_state.cells.selection.points
    if points:
        row, layer = points[0]["customdata"]
        st.session_state.pooling = list(_ROWS)[row]
        st.session_state.layer = layer if st.session_state.pooling is not Pooling.POOLER else session.LAST
        found = next(iter(st.session_state.watched.values())).work.found
        if found is not None and layer == found.measurements.n_layers:
            st.session_state.layer = session.LAST


def _scatter(found: Found, experiment: Experiment) -> None:
    view = picture.view_of(found, experiment)
    st.subheader(words.axis_title(experiment.view), anchor=False)
    st.markdown(escape(words.result(view, experiment, len(found.measurements))))
    selected = picture.chart(experiment, found, view, None)
    picture.selection(experiment, found, view, selected)
