"""Norm against length after every layer: one small panel each, and one picture that plays through them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import Labels, Palette, least_range, stand_out

if TYPE_CHECKING:
    from clsviz.analysis.layers import AfterLayer, EveryLayer

Floats = NDArray[np.floating[Any]]

PANEL_HEIGHT, PLAYED_HEIGHT = 190, 430
"""Pixels of a panel, and of the picture that plays, with its button and slider."""

_STEP, _MOVE = 1100, 450
"""Milliseconds that a layer is shown for, and that the points take to get there."""

_LEAST_REACH = 3.0
"""Standard deviations that the picture shows at least."""


def layer_panel(
    found: "EveryLayer",
    at: int,
    labels: Labels,
    palette: Palette,
    unit: str = "tokens",
    selected: NDArray[np.intp] | None = None,
) -> go.Figure:
    """The norms after one layer on an axis of their own; labels (n_drawn,) are those of the sentences drawn.

    selected: which of them are, intp (n,).
    """
    after = found.layers[at]
    ends = _ends(found)
    norms, line = after.norms, _line(after, ends)
    figure = go.Figure([_points(found, norms, labels, palette, unit, size=4), _straight(ends, line, palette)])
    stand_out(figure.data[0], selected)
    figure.update_layout(
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin={"l": 4, "r": 4, "t": 26, "b": 4},
        annotations=[_title(after, palette)],
        xaxis={"range": [0, int(found.lengths.max(initial=1)) + 1], "zeroline": False, "nticks": 4},
        yaxis={"zeroline": False, "nticks": 4, "autorangeoptions": {"include": least_range(norms)}},
    )
    return figure


def played_layers(
    found: "EveryLayer",
    labels: Labels,
    palette: Palette,
    unit: str = "tokens",
    selected: NDArray[np.intp] | None = None,
) -> go.Figure:
    """The same sentences after each layer, one frame each; it moves only when its button or its slider is used.

    Norms are drawn as distances from the layer's mean in its standard deviations: layers differ in size by far more
    than sentences do.
    """
    ends = _ends(found)
    scaled = [_scaled(after, after.norms) for after in found.layers]
    lines = [_scaled(after, _line(after, ends)) for after in found.layers]
    first = next((at for at, after in enumerate(found.layers) if after.r_squared is not None), 0)
    figure = go.Figure(
        [_points(found, scaled[first], labels, palette, unit, size=6), _straight(ends, lines[first], palette)]
    )
    stand_out(figure.data[0], selected)
    figure.data[0].customdata = found.layers[first].norms
    figure.data[0].hovertemplate = f"%{{text}}<br>%{{x}} {unit}<br>norm %{{customdata:.5g}}<extra></extra>"
    figure.frames = [
        go.Frame(
            name=str(after.layer),
            data=[go.Scatter(y=norms, customdata=after.norms), go.Scatter(y=line)],
            traces=[0, 1],
            layout={"annotations": [_title(after, palette)]},
        )
        for after, norms, line in zip(found.layers, scaled, lines, strict=True)
    ]
    reach = max([_LEAST_REACH, *(float(np.abs(norms).max(initial=0)) for norms in scaled)]) * 1.05
    figure.update_layout(
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        annotations=[_title(found.layers[first], palette)],
        xaxis={
            "title": {"text": f"Length (in {unit})", "standoff": 6},
            "range": [0, int(found.lengths.max(initial=1)) + 1],
            "zeroline": False,
        },
        yaxis={"title": "Norm (standard deviations)", "range": [-reach, reach], "zeroline": False},
        updatemenus=[_buttons(palette)],
        sliders=[_slider(found, first, palette)],
    )
    return figure


def _ends(found: "EveryLayer") -> Floats:
    """Between which lengths the line is drawn."""
    return np.array([found.lengths.min(initial=found.lengths.max(initial=1)), found.lengths.max(initial=1)], float)


def _line(after: "AfterLayer", lengths: Floats) -> Floats:
    """The norms on the line; NaN if there is none."""
    if after.slope is None or after.intercept is None:
        return np.full(len(lengths), np.nan)
    return after.intercept + after.slope * lengths


def _scaled(after: "AfterLayer", norms: Floats) -> Floats:
    """Distances from the mean in standard deviations; 0 where the norm is constant but for rounding."""
    low, high = least_range(np.array([after.mean], np.float32))
    if after.sd <= (high - low) / 2:
        return np.where(np.isnan(norms), norms, 0)
    return (norms - after.mean) / after.sd


def _points(found: "EveryLayer", norms: Floats, labels: Labels, palette: Palette, unit: str, size: int) -> go.Scatter:
    """Not WebGL: that would not move smoothly, and browsers limit it to some eight pictures per page."""
    return go.Scatter(
        x=found.lengths,
        y=norms,
        text=labels,
        mode="markers",
        marker={"size": size, "color": palette.points, "opacity": 0.45},
        hovertemplate=f"%{{text}}<br>%{{x}} {unit}<br>norm %{{y:.5g}}<extra></extra>",
    )


def _straight(lengths: Floats, norms: Floats, palette: Palette) -> go.Scatter:
    return go.Scatter(x=lengths, y=norms, mode="lines", line={"color": palette.line, "width": 2.5}, hoverinfo="skip")


def _title(after: "AfterLayer", palette: Palette) -> dict[str, object]:
    """Which layer it is, and R², above the panel."""
    of = after.problem if after.r_squared is None else f"R² {after.r_squared:.3f}"
    name = "Embeddings" if after.layer == 0 else f"Layer {after.layer}"
    return {
        "text": f"<b>{name}</b>  <span style='color:{palette.line}'>{of}</span>",
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "font": {"size": 13, "color": palette.summary},
    }


def _buttons(palette: Palette) -> dict[str, object]:
    play = {
        "mode": "immediate",
        "fromcurrent": True,
        "frame": {"duration": _STEP, "redraw": True},
        "transition": {"duration": _MOVE, "easing": "cubic-in-out"},
    }
    stop = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    return {
        "type": "buttons",
        "direction": "right",
        "showactive": False,
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "top",
        "pad": {"t": 62, "l": 0},
        "bgcolor": palette.background,
        "bordercolor": palette.points,
        "font": {"color": palette.summary},
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [None, play]},
            {"label": "❚❚ Pause", "method": "animate", "args": [[None], stop]},
        ],
    }


def _slider(found: "EveryLayer", first: int, palette: Palette) -> dict[str, object]:
    at_once = {
        "mode": "immediate",
        "frame": {"duration": _MOVE, "redraw": True},
        "transition": {"duration": _MOVE, "easing": "cubic-in-out"},
    }
    return {
        "name": "Layer",
        "active": first,
        "x": 0,
        "len": 1,
        "pad": {"t": 104, "l": 6, "r": 6, "b": 4},
        "currentvalue": {"visible": False},
        "bgcolor": palette.background,
        "activebgcolor": palette.points,
        "bordercolor": palette.points,
        "tickcolor": palette.points,
        "font": {"color": palette.summary},
        "steps": [
            {"label": str(after.layer), "method": "animate", "args": [[str(after.layer)], at_once]}
            for after in found.layers
        ],
    }
