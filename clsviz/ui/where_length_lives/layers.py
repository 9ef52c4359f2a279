"""The charts over layers: R² by layer, and how much the norm varies."""

from typing import TYPE_CHECKING

import streamlit as st

from clsviz import export, figures
from clsviz.experiment import Experiment
from clsviz.ui.parts import chart

if TYPE_CHECKING:
    from clsviz.statistics import Profile

_HEIGHT = 380


def show(profile: "Profile | None", experiment: Experiment) -> None:
    """Both, with their places kept until there is a profile."""
    n_layers = profile.n_layers if profile else 1
    wide, narrow = st.columns([3, 2])
    with wide:
        st.subheader("R² for length, by layer", anchor=False)
        lines = export.tables.r_squared_by_layer(profile)
        st.plotly_chart(
            figures.layer_lines(lines, chart.palette(), unit=experiment.unit, n_layers=n_layers),
            height=_HEIGHT,
            key="lines",
            config={"displayModeBar": False},
            alt="R² for length after every layer: from the norm, the direction and the whole vector.",
        )
    with narrow:
        st.subheader("How much the norm of [CLS] varies", anchor=False)
        st.plotly_chart(
            figures.norm_spread(export.tables.norm_spread(profile), chart.palette()),
            height=_HEIGHT,
            key="spread",
            config={"displayModeBar": False},
            alt="Standard deviation of the norm of [CLS] as a share of its mean, after every layer.",
        )
