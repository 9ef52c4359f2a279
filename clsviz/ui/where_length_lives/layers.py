"""The charts over layers: R² by layer, and how much the norm varies."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import export, figures, words
from clsviz.experiment import Experiment
from clsviz.settings import Unit
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.statistics import Profile

_HEIGHT, _HEIGHT_OF_SPREAD = 440, 280


@dataclass(frozen=True, eq=False)
class _Lines:
    """What was drawn: the model and the sentences, the lines, their unit, and the last layer."""

    of: Hashable
    table: "pd.DataFrame"
    unit: Unit
    n_layers: int


def show_r_squared(profile: "Profile | None", experiment: Experiment) -> None:
    """R² by layer. Until there is a profile, its place is kept, with the lines of the settings before if there are any.

    These are drawn faintly, and only of the same model and sentences.
    """
    if words.is_imported(experiment):
        _show_readouts(profile, experiment)
        return
    of = (experiment.model, experiment.selection, experiment.seed)
    before: _Lines | None = st.session_state.get("lines_before")
    table = server.cache().get_or_compute(("R² by layer", profile), lambda: export.tables.r_squared_by_layer(profile))
    lines = _Lines(of, table, experiment.unit, profile.n_layers if profile else 1)
    is_of_before = profile is None and before is not None and before.of == of
    if before is not None and is_of_before:
        lines = before
    elif profile is not None and profile.is_complete:
        st.session_state.lines_before = lines
    note = words.waiting.SETTINGS_BEFORE if is_of_before else ""

    def draw() -> Any:
        return figures.layer_lines(lines.table, chart.palette(), unit=lines.unit, n_layers=lines.n_layers, faded=note)

    plot.show(
        draw() if is_of_before else plot.once(("lines", profile, lines.unit), draw),
        height=_HEIGHT,
        key="lines",
        alt=" ".join(["R² for length after every layer: from the norm, the direction and the whole vector.", note]),
    )


def _show_readouts(profile: "Profile | None", experiment: Experiment) -> None:
    """The same of a single vector, from no known layer."""
    share = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        export.tables.readouts(profile, experiment.unit),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "R²": st.column_config.ProgressColumn(format="%.3f", min_value=0, max_value=1),
            "Lowest fold": share,
            "Highest fold": share,
            f"Off by ({experiment.unit})": st.column_config.NumberColumn(format="%.1f"),
        },
        placeholder="–",
        alt="R² for length from the whole vector, from its direction, and from its norm.",
    )


def show_spread(profile: "Profile") -> None:
    """How much the norm varies."""
    st.subheader("How much the norm of [CLS] varies", anchor=False)

    def draw() -> Any:
        return figures.norm_spread(export.tables.norm_spread(profile), chart.palette())

    plot.show(
        plot.once(("spread", profile), draw),
        height=_HEIGHT_OF_SPREAD,
        key="spread",
        alt="Standard deviation of the norm of [CLS] as a share of its mean, after every layer.",
    )
