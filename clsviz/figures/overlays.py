"""What lies over the cloud: the line, curves, medians, ranges, the visitor's own sentences, and rings."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from clsviz.figures.style import Palette, Points, least_range

if TYPE_CHECKING:
    from clsviz.statistics import Fit, Quantiles

HOVER = "%{{text}}<br>%{{x}} {unit}<br>norm %{{y:.5g}}"


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
    """Medians of the norm by bin of lengths, from `statistics.bins`, with whiskers over the middle half."""
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
    """Ranges of lengths by slice of norms, from `statistics.slices`."""
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


def add_own(figure: go.Figure, own: Points, palette: Palette, unit: str, called: str = "yours") -> None:
    """Add the visitor's own sentences as stars, named if they are few."""
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
