"""Norm against length side by side: after every layer, and of several models."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from clsviz.figures.style import Floats, Labels, Palette, Points, hover_label, least_range, stand_out

if TYPE_CHECKING:
    from clsviz.analysis.layers import AfterLayer, EveryLayer
    from clsviz.statistics.line import Fit


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


_HEIGHT, _TITLES_HEIGHT = 230, 72
"""Pixels of a panel, and of the space above it: two lines of its name, and the axis numbers of the panel over it."""


_LINE = 18
"""How many characters of a name fit over a panel on a phone."""


_FONT_SIZE = 12


def small_multiples(
    panels: Sequence[tuple[str, Points, "Fit | None"]],
    palette: Palette,
    *,
    shared_y: bool,
    unit: str = "tokens",
    is_scaled: bool = False,
    selected: Sequence[NDArray[np.intp]] = (),
) -> go.Figure:
    """Norm against length, one panel per model: its label, a few thousand points at most, and its line.

    is_scaled: whether norms are drawn as distances from the model's mean, in its standard deviations. A norm that
    varies by no more than rounding errors is then drawn as constant. selected: which points of each panel are.

    The points do not use WebGL, which would cover the line, and which browsers limit to some eight pictures per page.
    """
    n = max(len(panels), 1)
    n_columns = min(n, 2)  # three would be too narrow on a phone
    figure = _grid([label for label, _, _ in panels], n_columns, shared_y, f"Length (in {unit})")
    longest = max((int(points.lengths.max(initial=1)) for _, points, _ in panels), default=1)
    for index, (_, points, fit) in enumerate(panels):
        place = {"row": index // n_columns + 1, "col": index % n_columns + 1}
        mean, sd = _scale(points, fit) if is_scaled else (0.0, 1.0)
        cloud, *line = _panel(points, fit, palette, unit, mean, sd)
        stand_out(cloud, selected[index] if selected else None)
        for trace in (cloud, *line):
            figure.add_trace(trace, **place)
        if not sd and len(points.norms):
            middle = {"xref": "x domain", "yref": "y domain", "x": 0.5, "y": 0.6, "showarrow": False}
            figure.add_annotation(text=f"constant: every norm is {mean:.4g}", **middle, **place)
        elif fit is not None:
            corner = {"xref": "x domain", "yref": "y domain", "x": 1, "y": 1, "xanchor": "right", "yanchor": "top"}
            text = {"text": f"R² {fit.r_squared:.3f}", "font": {"color": palette.line}, "showarrow": False}
            text["bgcolor"] = palette.background + "b0"
            figure.add_annotation(**text, **corner, **place)
        title = "Norm (standard deviations)" if is_scaled else "Norm"
        figure.update_yaxes(_norms(points, shared_y, title, is_first=place["col"] == 1, is_scaled=is_scaled), **place)
    figure.update_xaxes(range=[0, longest + 1], zeroline=False)
    figure.for_each_annotation(lambda text: text.update(font={"size": _FONT_SIZE}))
    return figure


def _grid(labels: Sequence[str], n_columns: int, shared_y: bool, x_title: str) -> go.Figure:
    """Empty panels under their names, with one title for all x axes: a phone has no room for one per column."""
    n = max(len(labels), 1)
    n_rows = math.ceil(n / n_columns)
    height = n_rows * (_HEIGHT + _TITLES_HEIGHT) - _TITLES_HEIGHT
    figure = make_subplots(
        n_rows,
        n_columns,
        specs=[[{} if row * n_columns + column < n else None for column in range(n_columns)] for row in range(n_rows)],
        subplot_titles=[_in_two_lines(label) for label in labels],
        shared_yaxes="all" if shared_y else False,
        x_title=x_title,
        horizontal_spacing=0.08,  # so that the numbers at the ends of two axes do not touch
        vertical_spacing=_TITLES_HEIGHT / height,
    )
    margin = {"l": 8, "r": 8, "t": 48, "b": 56}
    return figure.update_layout(
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin=margin,
        height=height + margin["t"] + margin["b"],
    )


def _scale(points: Points, fit: "Fit | None") -> tuple[float, float]:
    """Mean and standard deviation of the norms; 0 for one that rounding errors account for."""
    if fit is not None:
        mean, sd = fit.norm_mean, fit.norm_sd
    elif len(points.norms) > 1:
        mean, sd = float(points.norms.mean(dtype=float)), float(points.norms.std(dtype=float, ddof=1))
    else:
        return 0.0, 1.0
    low, high = least_range(points.norms)
    return mean, sd if sd > (high - low) / 2 else 0.0


def _norms(points: Points, shared_y: bool, title_text: str, *, is_first: bool, is_scaled: bool) -> dict[str, object]:
    """The vertical axis of a panel.

    Axes that are not shared have their numbers at the outer side: a phone has no room for them between the panels.
    """
    title = {"text": title_text, "standoff": 6, "font": {"size": _FONT_SIZE}}
    axis: dict[str, object] = {"zeroline": False, "title": title if is_first else None}
    if is_scaled:
        axis["autorangeoptions"] = {"include": [-1, 1]}
    elif len(points.norms):
        axis["autorangeoptions"] = {"include": least_range(points.norms)}
    elif not shared_y:  # without points, numbers on the axis would mean nothing
        axis |= {"range": [0, 1], "showticklabels": False}
    return axis | ({} if shared_y or is_first else {"side": "right"})


def _in_two_lines(label: str) -> str:
    """A name above its panel; a long one keeps its start and its end, which tells models of the same origin apart."""
    if len(label) <= _LINE:
        return hover_label(label)
    cut = next((at + 1 for mark in " /-_" if (at := label.rfind(mark, 1, _LINE)) > 0), _LINE)
    first, second = label[:cut].rstrip(), label[cut:].lstrip()
    if len(second) > _LINE:
        second = f"…{second[-_LINE + 1 :].lstrip()}"
    return "<br>".join(hover_label(line) for line in (first, second))


def _panel(
    points: Points, fit: "Fit | None", palette: Palette, unit: str, mean: float, sd: float
) -> Iterator[go.Scatter]:
    """The points and the line, as distances from a mean in standard deviations; all 0 if that is 0."""

    def scaled(norms: NDArray[np.floating]) -> NDArray[np.floating]:
        return (norms - mean) / sd if sd else np.zeros(len(norms))

    opacity = float(np.clip(12 / max(len(points.lengths), 1) ** 0.5, 0.15, 0.7))
    yield go.Scatter(
        x=points.lengths,
        y=scaled(points.norms),
        customdata=points.norms,
        text=points.labels,
        mode="markers",
        marker={"size": 4, "color": palette.points, "opacity": opacity},
        hovertemplate=f"%{{text}}<br>%{{x}} {unit}<br>norm %{{customdata:.5g}}<extra></extra>",
    )
    if fit is not None and len(points.lengths) and sd:
        ends = np.array([points.lengths.min(), points.lengths.max()])
        line = {"color": palette.line, "width": 2.5}
        yield go.Scatter(x=ends, y=scaled(fit.predict(ends)), mode="lines", line=line, hoverinfo="skip")
