"""The main picture: the cloud of sentences, or their density, with the line and everything that can lie over it."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io.json
import plotly.offline
from numpy.typing import NDArray

from clsviz.figures.colouring import Colours
from clsviz.figures.density import (
    Density,
    add_marginals,
    cells,
    colour_axis,
    heat_map,
    labels,
    marginals,
    marginals_of,
    room_for_bar,
)
from clsviz.figures.style import MOST_IN_FULL, PLAIN, Labels, Palette, Points, least_range
from clsviz.statistics.intervals import LEAST_TOLD

if TYPE_CHECKING:
    from clsviz.statistics.line import Fit
    from clsviz.statistics.shape import Quantiles

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

HOVER = "%{{text}}<br>%{{x}} {unit}<br>norm %{{y:.5g}}"


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

    labels: Labels = np.empty(0, dtype=object)
    density: Density | None = None
    axes: Axes = Axes()

    def __init__(self, points: Points, axes: Axes, palette: Palette, density: Density | None = None) -> None:
        below = [] if density is None else [heat_map(density)]  # Plotly prefers the last for its hover label
        n, is_sample = len(points.labels), density is not None
        opacity = _SAMPLED["opacity"] if is_sample else float(np.clip(20 / max(n, 1) ** 0.5, 0.08, 0.7))
        size = _SAMPLED["size"] if is_sample else 5 if n <= MOST_IN_FULL else 4
        cloud = go.Scattergl(
            x=points.lengths.astype(np.min_scalar_type(int(points.lengths.max(initial=0)))),
            y=points.norms.astype(np.float32),
            mode="markers",
            marker={"size": size, "color": palette.summary if is_sample else palette.points, "opacity": opacity},
            unselected={"marker": {"opacity": opacity / 3}},
            selected={"marker": {"opacity": max(opacity, 0.6), "size": 7}},
            hovertemplate=f"{HOVER.format(unit=axes.unit)}<extra></extra>",
        )
        super().__init__([*below, *([cloud] if n else [])])
        self.labels, self.density, self.axes = points.labels, density, axes

    @property
    def cloud(self) -> int:
        """Which of its traces are the points, or would be."""
        return 0 if self.density is None else 1

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain data."""
        plain = self.without_labels()
        if self.density is not None:
            plain["data"][0] |= cells(self.density, self.axes.unit)
        if len(self.labels):
            plain["data"][self.cloud]["text"] = self.labels.tolist()
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
    cloud = figure.data[figure.cloud] if len(points.labels) else None
    whole = points
    if density is not None:  # two points between whose lengths and norms all sentences lie
        lengths = np.array([density.lengths[0], density.lengths[-1] + density.step - 1], np.int32)
        whole = Points(np.empty(0, dtype=object), lengths, density.edges[[0, -1]].astype(np.float32))
    if fit is not None:
        if cloud is not None:
            cloud.update(
                customdata=(points.norms - fit.predict(points.lengths)).astype(np.float32),
                hovertemplate=f"{HOVER.format(unit=axes.unit)}<br>%{{customdata:+.3g}} off the line<extra></extra>",
            )
        add_line(figure, fit, whole, palette, own)
    if quantiles is not None and len(whole.norms):
        add_quantiles(figure, quantiles, whole, palette)
    if bins is not None and len(bins):
        figure.add_trace(medians(bins, palette, axes.unit))
    if slices is not None and len(slices):
        figure.add_trace(ranges(slices, palette, axes.unit))
    if groups is not None:
        colours = Colours(groups.astype(np.int8), [(0, palette.points), (1, palette.other)], 0, 1)
    if colours is not None and cloud is not None:
        look = {"cmin": colours.low, "cmax": colours.high, "showscale": False} | ({} if density is None else _COLOURED)
        cloud.marker.update(color=colours.values, colorscale=[[*step] for step in colours.scale], **look)
    if own is not None and len(own.labels):
        norms = np.concatenate([whole.norms, own.norms, least_range(whole.norms) if len(whole.norms) else []])
        add_own(figure, own, palette, axes.unit, own_name, (axes.longest + 1, float(np.ptp(norms))))
    _arrange(figure, whole, palette, own)
    if selected is not None and (len(selected) or density is not None):
        if cloud is not None:
            cloud.selectedpoints = selected.tolist()  # Plotly reads no other arrays here
        if 0 < len(selected) <= _MOST_RINGED:
            figure.add_trace(rings(palette).update(x=points.lengths[selected], y=points.norms[selected]))
    if not len(whole.norms) and own is None:  # tick labels would mean nothing on an empty axis
        figure.update_layout(yaxis={"range": [0, 1], "showticklabels": False})
    return figure


def _arrange(figure: Picture, whole: Points, palette: Palette, own: Points | None) -> None:
    """The axes, the histograms beside them, and the bar of colours of a density."""
    axes, density = figure.axes, figure.density
    figure.update_layout(
        PLAIN,
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
        margin=MARGIN,
        uirevision=axes.zoom_of,
        overwrite=True,  # as in `arrange`
    )
    if len(whole.norms):
        of = marginals(whole, least_range(whole.norms)) if density is None else marginals_of(density)
        add_marginals(figure, of, palette, axes.unit)
    if len(axes.zoom) == 4:
        figure.update_layout(xaxis={"range": axes.zoom[:2]}, yaxis={"range": axes.zoom[2:]})
    lengths, norms = whole.lengths, whole.norms
    if own is not None:
        lengths, norms = np.append(lengths, own.lengths), np.append(norms, own.norms)
    # No length is negative, and norms far from all are of no use; the counts beside the cloud have axes of their own.
    figure.layout.xaxis.update(minallowed=0, maxallowed=max(axes.longest, int(lengths.max(initial=0))) + 1)
    if len(norms):
        around = [*least_range(norms), float(norms.min()), float(norms.max())]
        room = max(around) - min(around)
        figure.layout.yaxis.update(minallowed=min(around) - room, maxallowed=max(around) + room)
    if density is not None:
        # All norms are shown also while what is drawn is made for a part: else the axis jumps when one zooms out.
        ends = [density.edges[0], density.edges[-1], *([] if own is None else own.norms.tolist())]
        room = _ROOM * (max(ends) - min(ends))
        figure.update_layout(
            coloraxis=colour_axis(density, palette),
            hoverdistance=_NEAR,
            margin={**MARGIN, "r": room_for_bar(density)},
            yaxis={"autorangeoptions": {"include": [min(ends) - room, max(ends) + room]}},
        )


def empty(axes: Axes) -> Picture:
    """The axes alone, until the first points arrive: the same size, so that nothing jumps."""
    nothing = np.empty(0, dtype=np.int32)
    return scatter(Points(np.empty(0, dtype=object), nothing, nothing.astype(np.float32)), axes, Palette())


def to_html(figure: go.Figure) -> str:
    """A figure with everything it needs, as a piece of a page that works without a network."""
    figure.update_layout(template="plotly_white", height=560, spikedistance=0)
    markup: str = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return markup


_ROOM_OF_BAND = 0.08
"""Of the range of points and line, how far the band may reach beyond: about as far as the axis does."""

_MOST_NAMED = 5

_NEVER_FADED = {"marker": {"opacity": 1}}
"""For what keeps its colour while points are selected."""


def rings(palette: Palette) -> go.Scattergl:
    """Rings, yet to be put around a few points, which their size alone would not tell from their neighbours.

    A trace, because shapes of a size in pixels make Plotly report the corners of a box in pixels.
    """
    return go.Scattergl(
        mode="markers",
        unselected=_NEVER_FADED,
        hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 17, "color": palette.summary, "line": {"width": 2}},
    )


def add_line(figure: go.Figure, fit: "Fit", points: Points, palette: Palette, own: Points | None = None) -> None:
    """The line, its band and R², as shapes, because WebGL points are drawn over every trace that is not WebGL.

    The band of a few sentences may be many times as wide as they lie apart: it ends where points, line and the
    visitor's own sentences do, or the axis would show little but the band.
    """
    lengths = np.linspace(points.lengths.min(), points.lengths.max(), 40)
    lower, upper = fit.band(lengths)
    if np.isfinite([lower, upper]).all():
        ends = [*fit.predict(lengths[[0, -1]]), *least_range(points.norms), *([] if own is None else own.norms)]
        low, high = min(points.norms.min(), *ends), max(points.norms.max(), *ends)
        room = _ROOM_OF_BAND * (high - low)
        lower, upper = (np.clip(end, low - room, high + room) for end in (lower, upper))
        outline = [
            f"{x},{y}" for x, y in [*zip(lengths, upper, strict=True), *zip(lengths[::-1], lower[::-1], strict=True)]
        ]
        figure.add_shape(type="path", path=f"M{'L'.join(outline)}Z", fillcolor=palette.line + "40", line={"width": 0})
    start, end = lengths[0], lengths[-1]
    figure.add_shape(
        type="line",
        x0=start,
        x1=end,
        y0=float(fit.predict(start)),
        y1=float(fit.predict(end)),
        line={"color": palette.line, "width": 2.5},
    )
    if fit.n < LEAST_TOLD:
        return
    figure.add_annotation(
        text=f"━━ R² {fit.r_squared:.3f}",
        showarrow=False,
        xref="x domain",
        yref="y domain",
        x=1,
        y=1,
        xanchor="right",
        yanchor="top",
        font={"color": palette.line, "size": 14},
    )


def add_quantiles(figure: go.Figure, quantiles: "Quantiles", points: Points, palette: Palette) -> None:
    """The curves, each with its name at its right end; as shapes, for the same reason as the line."""
    lengths = np.geomspace(max(points.lengths.min(), 1), points.lengths.max(), 40)
    for quantile in quantiles.slopes:
        norms = quantiles.at(quantile, lengths)
        path = "L".join(f"{x},{y}" for x, y in zip(lengths, norms, strict=True))
        is_median = quantile == 0.5
        figure.add_shape(
            type="path",
            path=f"M{path}",
            line={
                "color": palette.summary,
                "width": 2.5 if is_median else 1.8,
                "dash": "solid" if is_median else "dot",
            },
        )
        figure.add_annotation(
            text="median" if is_median else f"{quantile:.0%}",
            x=lengths[-1],
            y=norms[-1],
            showarrow=False,
            xanchor="right",
            yanchor="top" if quantile < 0.5 else "bottom",
            bgcolor=palette.background + "b0",
            borderpad=1,
            font={"color": palette.summary, "size": 13},
        )


def medians(bins: pd.DataFrame, palette: Palette, unit: str) -> go.Scattergl:
    """Medians of the norm by bin of lengths, from `lengths.bins`, with whiskers over the middle half."""
    return go.Scattergl(
        x=bins["length"],
        y=bins["median"],
        error_y={
            "array": bins["upper"] - bins["median"],
            "arrayminus": bins["median"] - bins["lower"],
            "color": palette.summary,
            "thickness": 1.5,
            "width": 0,
        },
        customdata=bins[["n", "lower", "upper"]].to_numpy(float),
        text=[_between(first, last) for first, last in zip(bins["first"], bins["last"], strict=True)],
        mode="markers",
        unselected=_NEVER_FADED,
        marker={"symbol": "line-ew", "size": 11, "line": {"width": 3, "color": palette.summary}},
        hovertemplate=(
            f"%{{text}} {unit}: "
            "%{customdata[0]:,} sentences<br>median norm %{y:.5g}<br>"
            "half of them from %{customdata[1]:.5g} to %{customdata[2]:.5g}<extra></extra>"
        ),
    )


def ranges(slices: pd.DataFrame, palette: Palette, unit: str) -> go.Scattergl:
    """Ranges of lengths by slice of norms, from `lengths.slices`."""
    return go.Scattergl(
        x=slices["median"],
        y=(slices["lowest"] + slices["highest"]) / 2,
        error_x={
            "array": slices["upper"] - slices["median"],
            "arrayminus": slices["median"] - slices["lower"],
            "color": palette.summary,
            "thickness": 1.5,
            "width": 5,
        },
        customdata=slices[["lowest", "highest", "n"]].to_numpy(float),
        text=[_between(low, high) for low, high in zip(slices["lower"], slices["upper"], strict=True)],
        mode="markers",
        unselected=_NEVER_FADED,
        marker={"symbol": "diamond", "size": 8, "color": palette.summary},
        hovertemplate=(
            "norm %{customdata[0]:.5g} to %{customdata[1]:.5g}: %{customdata[2]:,} sentences<br>median %{x:.0f} "
            f"{unit}<br>"
            "nine in ten %{text}<extra></extra>"
        ),
    )


def _between(low: float, high: float) -> str:
    """Whole lengths from one to the other, or the one that they are."""
    return f"{low:.0f}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:.0f} to {high:.0f}"


def add_own(
    figure: go.Figure, own: Points, palette: Palette, unit: str, called: str, span: tuple[float, float]
) -> None:
    """Add the visitor's own sentences as stars, named if they are few; span: as in `_apart`."""
    figure.add_trace(
        go.Scattergl(
            x=own.lengths,
            y=own.norms,
            text=own.labels,
            mode="markers",
            unselected=_NEVER_FADED,
            marker={"symbol": "star", "size": 15, "color": palette.own, "line": {"width": 1, "color": "white"}},
            hovertemplate=f"{HOVER.format(unit=unit)}<extra></extra>",
        )
    )
    if len(own.labels) > _MOST_NAMED:
        return
    names = [called] if len(own.labels) == 1 else [f"{called}, {number}" for number in range(1, len(own.labels) + 1)]
    shifts = _apart(own.lengths, own.norms, span)
    for name, length, norm, shift in zip(names, own.lengths.tolist(), own.norms.tolist(), shifts, strict=True):
        figure.add_annotation(
            text=f"<b>{name}</b>",
            x=length,
            y=norm,
            showarrow=False,
            xanchor="left",
            xshift=9,
            yshift=shift,
            bgcolor=palette.background + "b0",
            borderpad=1,
            font={"color": palette.own, "size": 13},
        )


def _apart(lengths: NDArray[np.int32], norms: NDArray[np.float32], span: tuple[float, float]) -> list[float]:
    """How far up the label of each star is moved, in pixels, so that none lies over another, also on a phone.

    span: the longest length, and how far apart the norms on the axis are.
    """
    x, y = lengths / span[0], norms.astype(float) * _HEIGHT_OF_PLOT / max(span[1], 1e-9)
    shifts = [0.0] * len(y)
    placed: list[int] = []
    for at in np.argsort(y).tolist():
        near = [other for other in placed if abs(x[other] - x[at]) < _WIDTH_OF_LABEL]
        lowest = max((y[other] + shifts[other] + _LABEL_STEP for other in near), default=-np.inf)
        shifts[at] = max(0.0, lowest - y[at])
        placed.append(at)
    return shifts


_LABEL_STEP, _HEIGHT_OF_PLOT, _WIDTH_OF_LABEL = 17, 300, 0.3
"""Pixels from one label to the next and of the plot, and the share of the width of a phone that a label takes."""


def plotly_script() -> str:
    """What draws figures in a browser."""
    script: str = plotly.offline.get_plotlyjs()
    return script


def plain_json(figure: go.Figure) -> str:
    """A figure without its template: the browser has that of the theme."""
    return _json(figure.to_dict())


def _json(plain: dict[str, Any]) -> str:
    plain["layout"].pop("template", None)
    text: str = plotly.io.json.to_json_plotly(plain)
    return text


def sent(figure: Picture, numbers: NDArray[np.intp], fit: "Fit | None" = None, *, has_labels: bool = True) -> str:
    """A figure made by `scatter`, as JSON; the browser works out the distances from the line, and what is in cells.

    numbers: those of the points in the sample, intp (n,), ascending. fit: the line that the points lie off; None if
    there is none. has_labels: whether the labels of the points are in it.
    """
    plain = figure.without_labels()
    has_cloud = len(figure.labels) > 0
    if has_cloud:
        plain["data"][figure.cloud].pop("customdata", None)
    is_drawn = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=bool)
    is_drawn[numbers] = True
    plain["sent"] = {
        "cloud": figure.cloud if has_cloud else -1,
        "is_drawn": base64.b64encode(np.packbits(is_drawn, bitorder="little").tobytes()).decode(),
        "line": fit and {"intercept": fit.intercept, "slope": fit.slope},
        "labels": figure.labels.tolist() if has_labels else None,
        "ring": rings(Palette()).to_plotly_json(),
        "zoom": {"of": figure.axes.zoom_of, "whole": [0, figure.axes.longest + 1]},
    }
    if figure.density is not None:
        of_lengths, of_norms = labels(figure.density, figure.axes.unit)
        counts = figure.density.counts.T.tolist()
        plain["sent"]["density"] = {"counts": counts, "lengths": of_lengths, "norms": of_norms}
    return _json(plain)
