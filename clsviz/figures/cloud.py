"""The main picture: the cloud of sentences, with the line and everything that can lie over it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.marginals import add_marginals
from clsviz.figures.style import MOST_IN_FULL, Palette, Points, least_range

if TYPE_CHECKING:
    from clsviz.statistics import Fit, Quantiles


Figure: TypeAlias = go.Figure
"""What every function of this folder draws."""


MOST_POINTS = 100_000
"""Most points that are drawn; the numbers always cover all sentences."""


_POINTS_IN_TRACE = 50_000
"""A trace of 100,000 points, which pile up on whole lengths, freezes hovering for half a second."""


_HOVER = "%{{text}}<br>%{{x}} {unit}<br>norm %{{y:.4f}}"


_MOST_NAMED = 5


_MOST_RINGED = 5
"""Points that get a ring."""


_NEVER_FADED = {"marker": {"opacity": 1}}
"""For what keeps its colour while points are selected."""


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

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain data."""
        plain: dict[str, Any] = super().to_dict()
        for trace, part in zip(plain["data"], traces_of(len(self._labels)), strict=False):
            trace["text"] = self._labels[part].tolist()
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
    selected: NDArray[np.intp] | None = None,
    groups: NDArray[np.bool_] | None = None,
) -> Picture:
    """The cloud of sentences, and whatever else is given.

    fit: the regression line with its band. quantiles: curves below which 5, 50 and 95% of the norms lie. bins: medians
    and quartiles of the norm by bin of lengths. slices: ranges of lengths by slice of norms. own: the visitor's own
    sentences. selected: which points are, intp (n,), ascending. groups: which points have another colour, bool (n,).
    """
    figure = Picture(points, palette, axes.unit)
    hover = _HOVER.format(unit=axes.unit)
    if fit is not None:
        for trace, part in zip(figure.data, traces_of(len(points.labels)), strict=True):
            trace.customdata = (points.norms[part] - fit.predict(points.lengths[part])).astype(np.float32)
            trace.hovertemplate = f"{hover}<br>%{{customdata:+.4f}} off the line<extra></extra>"
        _add_line(figure, fit, points, palette)
    if quantiles is not None and len(points.labels):
        _add_quantiles(figure, quantiles, points, palette)
    if bins is not None and len(bins):
        figure.add_trace(_medians(bins, palette, axes.unit))
    if slices is not None and len(slices):
        figure.add_trace(_ranges(slices, palette, axes.unit))
    if groups is not None:
        _colour(figure, groups, palette)
    if own is not None and len(own.labels):
        _add_own(figure, own, palette, axes.unit)
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
        margin={"l": 8, "r": 8, "t": 32, "b": 8},  # the tools appear above the plot
        uirevision=axes.zoom_of,
    )
    if len(points.labels):
        add_marginals(figure, points, palette, axes.unit, least_range(points.norms))
    if len(axes.zoom) == 4:
        figure.update_layout(xaxis={"range": axes.zoom[:2]}, yaxis={"range": axes.zoom[2:]})
    if selected is not None and len(selected):
        for trace, part in zip(figure.data, traces_of(len(points.labels)), strict=False):
            in_trace = selected[(part.start <= selected) & (selected < part.stop)] - part.start
            trace.selectedpoints = in_trace.tolist()  # Plotly reads no other arrays here
        if len(selected) <= _MOST_RINGED:
            figure.add_trace(_rings(points, selected, palette))
    if not len(points.labels) and own is None:  # tick labels would mean nothing on an empty axis
        figure.update_layout(yaxis={"range": [0, 1], "showticklabels": False})
    return figure


def empty(axes: Axes) -> go.Figure:
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
    for part in traces_of(len(points.labels)):
        yield go.Scattergl(
            x=points.lengths[part].astype(np.int16 if points.lengths.max(initial=0) < 2**15 else np.int32),
            y=points.norms[part].astype(np.float32),
            mode="markers",
            marker={"size": 5 if n <= MOST_IN_FULL else 4, "color": palette.points, "opacity": opacity},
            unselected={"marker": {"opacity": opacity / 3}},
            selected={"marker": {"opacity": max(opacity, 0.6), "size": 7}},
            hovertemplate=f"{_HOVER.format(unit=unit)}<extra></extra>",
        )


def _rings(points: Points, selected: NDArray[np.intp], palette: Palette) -> go.Scattergl:
    """Rings around a few points, which their size alone would not tell from their neighbours.

    A trace, because shapes of a size in pixels make Plotly report the corners of a box in pixels.
    """
    return go.Scattergl(
        x=points.lengths[selected],
        y=points.norms[selected],
        mode="markers",
        unselected=_NEVER_FADED,
        hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 17, "color": palette.summary, "line": {"width": 2}},
    )


def _colour(figure: go.Figure, groups: NDArray[np.bool_], palette: Palette) -> None:
    """Give the points of one group another colour."""
    for trace, part in zip(figure.data, traces_of(len(groups)), strict=False):
        scale = [[0, palette.points], [1, palette.other]]
        trace.marker.update(color=groups[part].astype(np.int8), colorscale=scale, cmin=0, cmax=1, showscale=False)


def _add_line(figure: go.Figure, fit: "Fit", points: Points, palette: Palette) -> None:
    """The line, its band and R², as shapes, because WebGL points are drawn over every trace that is not WebGL."""
    lengths = np.linspace(points.lengths.min(), points.lengths.max(), 40)
    lower, upper = fit.band(lengths)
    if np.isfinite([lower, upper]).all():
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


def _add_quantiles(figure: go.Figure, quantiles: "Quantiles", points: Points, palette: Palette) -> None:
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


def _medians(bins: pd.DataFrame, palette: Palette, unit: str) -> go.Scattergl:
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
        customdata=bins[["first", "last", "n", "lower", "upper"]].to_numpy(float),
        mode="markers",
        unselected=_NEVER_FADED,
        marker={"symbol": "line-ew", "size": 11, "line": {"width": 3, "color": palette.summary}},
        hovertemplate=(
            f"%{{customdata[0]}} to %{{customdata[1]}} {unit}: "
            "%{customdata[2]:,} sentences<br>median norm %{y:.4f}<br>"
            "half of them from %{customdata[3]:.4f} to %{customdata[4]:.4f}<extra></extra>"
        ),
    )


def _ranges(slices: pd.DataFrame, palette: Palette, unit: str) -> go.Scattergl:
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
        customdata=slices[["lowest", "highest", "n", "lower", "upper"]].to_numpy(float),
        mode="markers",
        unselected=_NEVER_FADED,
        marker={"symbol": "diamond", "size": 8, "color": palette.summary},
        hovertemplate=(
            "norm %{customdata[0]:.4f} to %{customdata[1]:.4f}: %{customdata[2]:,} sentences<br>median %{x:.0f} "
            f"{unit}<br>"
            "nine in ten from %{customdata[3]:.0f} to %{customdata[4]:.0f}<extra></extra>"
        ),
    )


def _add_own(figure: go.Figure, own: Points, palette: Palette, unit: str) -> None:
    figure.add_trace(
        go.Scattergl(
            x=own.lengths,
            y=own.norms,
            text=own.labels,
            mode="markers",
            unselected=_NEVER_FADED,
            marker={"symbol": "star", "size": 15, "color": palette.own, "line": {"width": 1, "color": "white"}},
            hovertemplate=f"{_HOVER.format(unit=unit)}<extra></extra>",
        )
    )
    if len(own.labels) > _MOST_NAMED:
        return
    names = ["yours"] if len(own.labels) == 1 else [f"yours, {number}" for number in range(1, len(own.labels) + 1)]
    for name, length, norm in zip(names, own.lengths.tolist(), own.norms.tolist(), strict=True):
        figure.add_annotation(
            text=f"<b>{name}</b>",
            x=length,
            y=norm,
            showarrow=False,
            xanchor="left",
            xshift=9,
            bgcolor=palette.background + "b0",
            borderpad=1,
            font={"color": palette.own, "size": 13},
        )
