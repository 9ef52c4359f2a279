"""The charts over layers: R² by layer, and how much the norm varies."""

from typing import TYPE_CHECKING

import streamlit as st

from clsviz import export, figures
from clsviz.experiment import Experiment
from clsviz.ui.parts import chart

if TYPE_CHECKING:
    from clsviz.statistics import Profile

_HEIGHT, _HEIGHT_OF_SPREAD = 440, 280


def show_r_squared(profile: "Profile | None", experiment: Experiment) -> None:
    """R² by layer; its place is kept until there is a profile."""
    st.plotly_chart(
        figures.layer_lines(
            export.tables.r_squared_by_layer(profile),
            chart.palette(),
            unit=experiment.unit,
            n_layers=profile.n_layers if profile else 1,
        ),
        height=_HEIGHT,
        key="lines",
        config={"displayModeBar": False},
        alt="R² for length after every layer: from the norm, the direction and the whole vector.",
    )


def show_spread(profile: "Profile") -> None:
    """How much the norm varies."""
    st.subheader("How much the norm of [CLS] varies", anchor=False)
    st.plotly_chart(
        figures.norm_spread(export.tables.norm_spread(profile), chart.palette()),
        height=_HEIGHT_OF_SPREAD,
        key="spread",
        config={"displayModeBar": False},
        alt="Standard deviation of the norm of [CLS] as a share of its mean, after every layer.",
    )
