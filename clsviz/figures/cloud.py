"""The main picture: the cloud of sentences, with the line and everything that can lie over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.colouring import Colours
from clsviz.figures.marginals import add_marginals
from clsviz.figures.overlays import HOVER, add_line, add_own, add_quantiles, medians, ranges, rings
from clsviz.figures.style import MOST_IN_FULL, Palette, Points, least_range

if TYPE_CHECKING:
    from clsviz.statistics import Fit, Quantiles


Figure: TypeAlias = go.Figure
"""What every function of this folder draws."""


MOST_POINTS = 100_000
"""Most points that are drawn; the numbers always cover all sentences."""


_POINTS_IN_TRACE = 50_000
"""A trace of 100,000 points, which pile up on whole lengths, freezes hovering for half a second."""


_MOST_RINGED = 5
"""Points that get a ring."""


MARGIN = {"l": 70, "r": 18, "t": 32, "b": 67}
"""Pixels that the axes take on the pages, and the tools above them; where they take more Plotly draws it all twice."""


@dataclass(frozen=True)
class Axes:
    """The title of the vertical axis, the reach, unit and title of the horizontal one, and what the zoom is kept for.

    zoom: the ends of both axes that are shown at first, (4,); all if there are none.
    """

    norm_title: str = "Norm of the [CLS] embedding"
    longest: int = 80
    zoom_of: str = ""
    unit: str = "tokens"
    length_title: str = ""
    zoom: Sequence[float] = ()


class Picture(go.Figure):  # type: ignore[misc]
    """A figure of many labelled points.

    The labels are added only when it is turned into JSON: Plotly would check and copy them one by one, and for 100,000
    points that takes longer than everything else together.
    """

    def __init__(self, points: Points, palette: Palette, unit: str) -> None:
        super().__init__(list(_cloud(points, palette, unit)))
        self._labels = points.labels

    @property
    def n_clouds(self) -> int:
        """How many of its traces, the first ones, are points."""
        return len(list(traces_of(len(self._labels))))

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain data."""
        plain = self.without_labels()
        for trace, part in zip(plain["data"], traces_of(len(self._labels)), strict=False):
            trace["text"] = self._labels[part].tolist()
        return plain

    def without_labels(self) -> dict[str, Any]:
        """The same without the labels of the points."""
        plain: dict[str, Any] = super().to_dict()
        return plain


def traces_of(n: int) -> Iterator[slice]:
    """How n points are divided among traces; these come first in every figure made by `scatter`."""
    for start in range(0, n, _POINTS_IN_TRACE):
        yield slice(start, min(start + _POINTS_IN_TRACE, n))


def scatter(
    points: Points,
    axes: Axes,
    palette: Palette,
    *,
    fit: "Fit | None" = None,
    quantiles: "Quantiles | None" = None,
    bins: pd.DataFrame | None = None,
    slices: pd.DataFrame | None = None,
    own: Points | None = None,
    own_name: str = "yours",
    selected: NDArray[np.intp] | None = None,
    groups: NDArray[np.bool_] | None = None,
    colours: Colours | None = None,
) -> Picture:
    """The cloud of sentences, and whatever else is given.

    fit: the regression line with its band. quantiles: curves below which 5, 50 and 95% of the norms lie. bins: medians
    and quartiles of the norm by bin of lengths. slices: ranges of lengths by slice of norms. own: the visitor's own
    sentences, called `own_name`. selected: which points are, intp (n,), ascending. groups: which points have another
    colour, bool (n,). colours: of each point, in place of groups.
    """
    figure = Picture(points, palette, axes.unit)
    hover = HOVER.format(unit=axes.unit)
    if fit is not None:
        for trace, part in zip(figure.data, traces_of(len(points.labels)), strict=True):
            trace.customdata = (points.norms[part] - fit.predict(points.lengths[part])).astype(np.float32)
            trace.hovertemplate = f"{hover}<br>%{{customdata:+.4f}} off the line<extra></extra>"
        add_line(figure, fit, points, palette, own)
    if quantiles is not None and len(points.labels):
        add_quantiles(figure, quantiles, points, palette)
    if bins is not None and len(bins):
        figure.add_trace(medians(bins, palette, axes.unit))
    if slices is not None and len(slices):
        figure.add_trace(ranges(slices, palette, axes.unit))
    if groups is not None:
        colours = Colours(groups.astype(np.int8), [(0, palette.points), (1, palette.other)], 0, 1)
    if colours is not None:
        _colour(figure, colours)
    if own is not None and len(own.labels):
        add_own(figure, own, palette, axes.unit, own_name)
    _arrange(figure, points, axes, palette)
    if selected is not None and len(selected):
        _mark(figure, points, selected, palette)
    if not len(points.labels) and own is None:  # tick labels would mean nothing on an empty axis
        figure.update_layout(yaxis={"range": [0, 1], "showticklabels": False})
    return figure


def _arrange(figure: go.Figure, points: Points, axes: Axes, palette: Palette) -> None:
    """The axes, and the histograms beside them."""
    figure.update_layout(
        xaxis={
            "title": axes.length_title or f"Sentence length (in {axes.unit})",
            "range": [0, axes.longest + 1],
            "zeroline": False,
        },
        yaxis={
            "title": axes.norm_title,
            "zeroline": False,
            "autorangeoptions": {"include": least_range(points.norms)},
        },
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin=MARGIN,
        uirevision=axes.zoom_of,
    )
    if len(points.labels):
        add_marginals(figure, points, palette, axes.unit, least_range(points.norms))
    if len(axes.zoom) == 4:
        figure.update_layout(xaxis={"range": axes.zoom[:2]}, yaxis={"range": axes.zoom[2:]})


def _mark(figure: go.Figure, points: Points, selected: NDArray[np.intp], palette: Palette) -> None:
    """Let the selected points stand out; a few of them get rings."""
    for trace, part in zip(figure.data, traces_of(len(points.labels)), strict=False):
        in_trace = selected[(part.start <= selected) & (selected < part.stop)] - part.start
        trace.selectedpoints = in_trace.tolist()  # Plotly reads no other arrays here
    if len(selected) <= _MOST_RINGED:
        figure.add_trace(rings(points, selected, palette))


def empty(axes: Axes) -> Picture:
    """The axes alone, until the first points arrive: the same size, so that nothing jumps."""
    nothing = np.empty(0, dtype=np.int32)
    return scatter(Points(np.empty(0, dtype=object), nothing, nothing.astype(np.float32)), axes, Palette())


def to_html(figure: go.Figure) -> str:
    """A figure with everything it needs, as a piece of a page that works without a network."""
    figure.update_layout(template="plotly_white", height=560, spikedistance=20)
    markup: str = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return markup


def _cloud(points: Points, palette: Palette, unit: str) -> Iterator[go.Scattergl]:
    n = max(len(points.labels), 1)
    opacity = float(np.clip(20 / n**0.5, 0.08, 0.7))
    kind = np.min_scalar_type(int(points.lengths.max(initial=0)))
    for part in traces_of(len(points.labels)):
        yield go.Scattergl(
            x=points.lengths[part].astype(kind),
            y=points.norms[part].astype(np.float32),
            mode="markers",
            marker={"size": 5 if n <= MOST_IN_FULL else 4, "color": palette.points, "opacity": opacity},
            unselected={"marker": {"opacity": opacity / 3}},
            selected={"marker": {"opacity": max(opacity, 0.6), "size": 7}},
            hovertemplate=f"{HOVER.format(unit=unit)}<extra></extra>",
        )


def _colour(figure: go.Figure, colours: Colours) -> None:
    """Give every point its own colour."""
    ends = {"cmin": colours.low, "cmax": colours.high, "showscale": False}
    for trace, part in zip(figure.data, traces_of(len(colours.values)), strict=False):
        trace.marker.update(color=colours.values[part], colorscale=[[*step] for step in colours.scale], **ends)
