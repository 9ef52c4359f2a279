"""The main picture: the cloud of sentences, or their density, with the line and everything that can lie over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures import density as density_
from clsviz.figures.colouring import Colours
from clsviz.figures.density import Density
from clsviz.figures.marginals import add_marginals, marginals, marginals_of
from clsviz.figures.overlays import HOVER, add_line, add_own, add_quantiles, medians, ranges, rings
from clsviz.figures.style import MOST_IN_FULL, Labels, Palette, Points, least_range

if TYPE_CHECKING:
    from clsviz.statistics import Fit, Quantiles


Figure: TypeAlias = go.Figure
"""What every function of this folder draws."""


_MOST_RINGED = 5
"""Points that get a ring."""


MARGIN = {"l": 70, "r": 18, "t": 32, "b": 67}
"""Pixels that the axes take on the pages, and the tools above them; where they take more Plotly draws it all twice."""


_SAMPLED, _COLOURED = {"size": 2.5, "opacity": 0.13}, {"size": 4, "opacity": 0.7}
"""Points over a density, which they must not hide, and such as have colours of their own."""


_NEAR = 4
"""Pixels from a point of the sample where it is meant, and not the cell below it."""


_ROOM = 0.06
"""Of the range of norms, what the axis shows beyond: a little more than Plotly leaves for points by itself."""


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
    """A figure of many labelled points, which may lie over a density.

    The labels are added only when it is turned into JSON, and so is what is in the cells of the density: Plotly would
    check and copy them one by one, and for 100,000 points that takes longer than everything else together.
    """

    def __init__(self, points: Points, axes: Axes, palette: Palette, density: Density | None = None) -> None:
        cells = [] if density is None else [density_.heat_map(density)]  # Plotly prefers the last for its hover label
        super().__init__([*cells, *_cloud(points, palette, axes.unit, is_sample=density is not None)])
        self._labels, self._density, self._axes = points.labels, density, axes

    @property
    def cloud(self) -> int:
        """Which of its traces are the points."""
        return 0 if self._density is None else 1

    @property
    def has_cloud(self) -> bool:
        """Whether there are any."""
        return len(self._labels) > 0

    @property
    def labels(self) -> Labels:
        """Those of the points."""
        return self._labels

    @property
    def density(self) -> Density | None:
        """What lies below the points."""
        return self._density

    @property
    def axes(self) -> Axes:
        """What its axes mean."""
        return self._axes

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain data."""
        plain = self.without_labels()
        if self._density is not None:
            plain["data"][0] |= density_.cells(self._density, self._axes.unit)
        if self.has_cloud:
            plain["data"][self.cloud]["text"] = self._labels.tolist()
        return plain

    def without_labels(self) -> dict[str, Any]:
        """The same without the labels of the points and what is in the cells."""
        plain: dict[str, Any] = super().to_dict()
        return plain


def scatter(
    points: Points,
    axes: Axes,
    palette: Palette,
    *,
    density: Density | None = None,
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

    density: of all sentences, of which the points are then some. fit: the regression line with its band. quantiles:
    curves below which 5, 50 and 95% of the norms lie. bins: medians and quartiles of the norm by bin of lengths.
    slices: ranges of lengths by slice of norms. own: the visitor's own sentences, called `own_name`. selected: which
    points are, intp (n,), ascending. groups: which points have another colour, bool (n,). colours: of each point, in
    place of groups.
    """
    figure = Picture(points, axes, palette, density)
    whole = points if density is None else _ends(density)
    if fit is not None:
        _tell_residuals(figure, points, fit, axes.unit)
        add_line(figure, fit, whole, palette, own)
    if quantiles is not None and len(whole.norms):
        add_quantiles(figure, quantiles, whole, palette)
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
    _arrange(figure, whole, axes, palette)
    if density is not None:
        _arrange_density(figure, density, palette, own)
    if selected is not None and (len(selected) or density is not None):
        _mark(figure, points, selected, palette)
    if not len(whole.norms) and own is None:  # tick labels would mean nothing on an empty axis
        figure.update_layout(yaxis={"range": [0, 1], "showticklabels": False})
    return figure


def _tell_residuals(figure: Picture, points: Points, fit: "Fit", unit: str) -> None:
    """How far a point is off the line, where the pointer is on it."""
    hover = HOVER.format(unit=unit)
    if figure.has_cloud:
        figure.data[figure.cloud].update(
            customdata=(points.norms - fit.predict(points.lengths)).astype(np.float32),
            hovertemplate=f"{hover}<br>%{{customdata:+.3g}} off the line<extra></extra>",
        )


def _arrange(figure: Picture, whole: Points, axes: Axes, palette: Palette) -> None:
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
            "autorangeoptions": {"include": least_range(whole.norms)},
        },
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin=MARGIN,
        uirevision=axes.zoom_of,
        overwrite=True,  # as in `arrange`
    )
    if len(whole.norms):
        of = marginals(whole, least_range(whole.norms)) if figure.density is None else marginals_of(figure.density)
        add_marginals(figure, of, palette, axes.unit)
    if len(axes.zoom) == 4:
        figure.update_layout(xaxis={"range": axes.zoom[:2]}, yaxis={"range": axes.zoom[2:]})


def _ends(density: Density) -> Points:
    """Two points between whose lengths and norms all sentences of a density lie."""
    lengths = np.array([density.lengths[0], density.lengths[-1] + density.step - 1], np.int32)
    return Points(np.empty(0, dtype=object), lengths, density.edges[[0, -1]].astype(np.float32))


def _arrange_density(figure: go.Figure, density: Density, palette: Palette, own: Points | None) -> None:
    """The bar of colours, and an axis that shows all norms also while what is drawn is made for a part of them.

    Else it would jump when a visitor who has zoomed in goes back.
    """
    norms = [density.edges[0], density.edges[-1], *([] if own is None else own.norms.tolist())]
    low, high = min(norms), max(norms)
    room = _ROOM * (high - low)
    figure.update_layout(
        coloraxis=density_.colour_axis(density, palette),
        hoverdistance=_NEAR,
        margin={**MARGIN, "r": density_.room_for_bar(density)},
        yaxis={"autorangeoptions": {"include": [low - room, high + room]}},
    )


def _mark(figure: Picture, points: Points, selected: NDArray[np.intp], palette: Palette) -> None:
    """Let the selected points stand out; a few of them get rings."""
    if figure.has_cloud:
        figure.data[figure.cloud].selectedpoints = selected.tolist()  # Plotly reads no other arrays here
    if 0 < len(selected) <= _MOST_RINGED:
        figure.add_trace(rings(palette).update(x=points.lengths[selected], y=points.norms[selected]))


def empty(axes: Axes) -> Picture:
    """The axes alone, until the first points arrive: the same size, so that nothing jumps."""
    nothing = np.empty(0, dtype=np.int32)
    return scatter(Points(np.empty(0, dtype=object), nothing, nothing.astype(np.float32)), axes, Palette())


def to_html(figure: go.Figure) -> str:
    """A figure with everything it needs, as a piece of a page that works without a network."""
    figure.update_layout(template="plotly_white", height=560, spikedistance=0)
    markup: str = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return markup


def _cloud(points: Points, palette: Palette, unit: str, *, is_sample: bool) -> Iterator[go.Scattergl]:
    n = max(len(points.labels), 1)
    opacity = _SAMPLED["opacity"] if is_sample else float(np.clip(20 / n**0.5, 0.08, 0.7))
    size = _SAMPLED["size"] if is_sample else 5 if n <= MOST_IN_FULL else 4
    colour = palette.summary if is_sample else palette.points
    kind = np.min_scalar_type(int(points.lengths.max(initial=0)))
    if len(points.labels):
        yield go.Scattergl(
            x=points.lengths.astype(kind),
            y=points.norms.astype(np.float32),
            mode="markers",
            marker={"size": size, "color": colour, "opacity": opacity},
            unselected={"marker": {"opacity": opacity / 3}},
            selected={"marker": {"opacity": max(opacity, 0.6), "size": 7}},
            hovertemplate=f"{HOVER.format(unit=unit)}<extra></extra>",
        )


def _colour(figure: Picture, colours: Colours) -> None:
    """Give every point its own colour."""
    look = {"cmin": colours.low, "cmax": colours.high, "showscale": False}
    if figure.density is not None:
        look |= _COLOURED
    if figure.has_cloud:
        scale = [[*step] for step in colours.scale]
        figure.data[figure.cloud].marker.update(color=colours.values, colorscale=scale, **look)
