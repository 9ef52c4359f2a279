"""The scatter of a view, and which of its sentences are selected."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.elements.lib import streamlit_plotly_theme as theme

from clsviz import analysis, figures, statistics, words
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found
from clsviz.settings import Unit

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.statistics import Quantiles

HEIGHT = 520

CURVES, MEDIANS, RANGES = "Curves", "Medians", "Lengths at a norm"
"""What can be drawn over the sentences."""


def palette() -> "figures.Palette":
    """Colours that Streamlit replaces with those of the theme, light or dark."""
    return figures.Palette(theme.CATEGORY_0, theme.CATEGORY_1, theme.CATEGORY_2, theme.CATEGORY_3, theme.BG_COLOR)


def view_of(found: Found, experiment: Experiment) -> "Shown":
    """What the experiment's view shows of what is measured so far."""
    return _shown(found.key, experiment.view, analysis.knows_alike(found), found)


@st.cache_resource(max_entries=16, show_spinner=False)
def _shown(key: Hashable, view: View, knows_alike: bool, _found: Found) -> "Shown":
    return analysis.show(_found, view, wait=False)


@st.cache_resource(max_entries=16, show_spinner=False)
def _quantiles(key: Hashable, view: View, _shown: "Shown") -> "Quantiles | None":
    return analysis.quantiles(_shown)


@st.cache_resource(max_entries=4, show_spinner=False)
def _labels(key: tuple[object, ...], _sentences: list[str]) -> "figures.Labels":
    return figures.labels_of(_sentences)


def axes(experiment: Experiment, longest: int) -> "figures.Axes":
    """The axes of the scatter, which keep the visitor's zoom for as long as they mean the same."""
    view = (experiment.model, experiment.selection, experiment.length_cutoff, experiment.layer, experiment.pooling)
    if experiment.unit is Unit.TOKENS:
        longest = min(longest, experiment.length_cutoff)
    zoom_of = str((*view, experiment.unit))
    return figures.Axes(words.axis_title(experiment.view), longest, zoom_of=zoom_of, unit=experiment.unit)


def show(
    experiment: Experiment,
    found: Found,
    shown: "Shown",
    own: "figures.Points | None" = None,
    overlays: Sequence[str] = (MEDIANS,),
) -> NDArray[np.intp]:
    """The scatter; returns which of the sentences shown are selected in it, intp (n,).

    own: the visitor's sentences, to be marked.
    """
    labels = _labels((found.corpus.fingerprint, experiment.seed, len(found.sentences)), found.sentences)
    drawn = slice(0, figures.MOST_POINTS)
    points = figures.Points(labels[shown.index[drawn]], shown.lengths[drawn], shown.norms[drawn])
    figure = figures.scatter(
        points,
        axes(experiment, int(shown.lengths.max()) if len(shown.lengths) else experiment.length_cutoff),
        palette(),
        fit=shown.fit,
        quantiles=_quantiles(found.key, experiment.view, shown) if CURVES in overlays else None,
        bins=statistics.bins(shown.lengths, shown.norms) if MEDIANS in overlays else None,
        slices=statistics.slices(shown.lengths, shown.norms) if RANGES in overlays else None,
        own=own,
    )
    event = st.plotly_chart(
        figure,
        height=HEIGHT,
        key="scatter",
        on_select="rerun",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"]},
        alt=f"{words.axis_title(experiment.view)} against sentence length for {len(shown.index):,} sentences. "
        + words.result(shown, experiment, len(found.measurements)),
    )
    if len(shown.index) > figures.MOST_POINTS:
        st.caption(
            f"The picture shows {figures.MOST_POINTS:,} of {len(shown.index):,} sentences; the numbers use all of them."
        )
    traces = list(figures.traces_of(len(points.labels)))
    chosen = [
        traces[point["curve_number"]].start + point["point_index"]
        for point in event.selection.points
        if point["curve_number"] < len(traces)
    ]
    return np.array(sorted(set(chosen)), dtype=np.intp)
