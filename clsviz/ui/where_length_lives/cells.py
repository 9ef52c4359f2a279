"""R² by layer and pooling, one cell each, and the scatter of the chosen cell."""

from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import export, figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found
from clsviz.settings import Pooling
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, plot, selection, share
from clsviz.ui.state import session

if TYPE_CHECKING:
    from clsviz.statistics import Profile


def show(profile: "Profile", found: Found, experiment: Experiment) -> None:
    """The cells, and below them the scatter; of a single vector only that."""
    if not profile.is_of_one_vector:
        _heat_map(profile, experiment)
    _scatter(found, experiment)


def _heat_map(profile: "Profile", experiment: Experiment) -> None:
    """R² by layer and pooling; a click on a cell makes it the view."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("R² by vector", anchor=False)
        st.segmented_control(
            "Predict length from",
            [False, True],
            default=st.session_state.heat,
            format_func={False: "The norm alone", True: "The whole vector"}.__getitem__,
            key="heat",
            persist_state="session",
            required=True,
            label_visibility="collapsed",
        )
    readout = statistics.Readout.VECTOR if st.session_state.heat else statistics.Readout.NORM
    poolings = [pooling for pooling in words.POOLINGS if profile.has_pooler or pooling is not Pooling.POOLER]
    layer = profile.n_layers if experiment.layer is None or experiment.pooling is Pooling.POOLER else experiment.layer
    marked = poolings.index(experiment.pooling), layer

    def draw() -> Any:
        return figures.heat_map(
            export.tables.r_squared_by_vector(profile, poolings, readout),
            [words.POOLINGS[pooling].short for pooling in poolings],
            [str(layer) for layer in range(profile.n_layers + 1)],
            chart.palette(),
            marked=marked,
        )

    plot.show(
        plot.once(("cells", profile, readout, marked), draw),
        key="cells",
        on_click=partial(_choose_clicked, profile.n_layers),
        alt=f"R² for length by layer and pooling, from the {readout}.",
    )
    st.caption(
        "Click a cell to open the scatter of that vector’s norm. Where a cell is empty there is nothing to predict "
        "from, or nothing to predict: the vector, its norm or the length is the same for all sentences."
    )


def _choose_clicked(n_layers: int) -> None:
    place = plot.told("cells", "clicked")
    if isinstance(place, list) and [type(part) for part in place] == [int, int]:
        row, layer = place
        if 0 <= row < len(words.POOLINGS) and 0 <= layer <= n_layers:  # or else the message is forged
            choose(row, layer, n_layers)


def choose(row: int, layer: int, n_layers: int) -> None:
    """Make the vector of a cell the view."""
    pooling = list(words.POOLINGS)[row]
    is_last = pooling is Pooling.POOLER or layer == n_layers
    st.session_state.pooling = pooling
    st.session_state.layer = session.LAST if is_last else layer


def _scatter(found: Found, experiment: Experiment) -> None:
    shown = chart.view_of(found, experiment)
    st.subheader(words.axis_title(experiment), anchor=False)
    st.markdown(escape(words.result(shown, experiment, len(found.measurements))))
    selected = chart.show(experiment, found, shown)
    colouring.show_legend(found, shown, experiment)
    selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
