"""Norm against length side by side: small, after every layer; and of several models."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from clsviz.figures.style import PLAIN, Palette, Points, hover_label, least_range, stand_out
from clsviz.statistics.intervals import LEAST_TOLD

if TYPE_CHECKING:
    from clsviz.analysis.layers import EveryLayer
    from clsviz.statistics.line import Fit


WIDE, HIGH = 100, 50
"""The units that a thumbnail is drawn in."""


def thumbnail(every: "EveryLayer", at: int, selected: NDArray[np.intp] | None = None) -> dict[str, str]:
    """The norms after one layer and the line through them, as paths of SVG: points, marked (those selected) and line.

    selected: which of the sentences drawn are, intp (n,). A norm that is constant but for rounding is drawn so.
    """
    after = every.layers[at]
    is_known = np.isfinite(after.norms)
    if not is_known.any():
        return {"points": "", "marked": "", "line": ""}
    around = [*least_range(after.norms), float(after.norms[is_known].min()), float(after.norms[is_known].max())]
    low, high, longest = min(around), max(around), int(every.lengths.max(initial=1)) + 1

    def path(lengths: NDArray[Any], norms: NDArray[Any], joint: str) -> str:
        x, y = WIDE * lengths / longest, HIGH * (high - norms) / max(high - low, 1e-12)
        return joint.join(f"M{x:.1f} {y:.1f}h0" if not joint else f"{x:.1f} {y:.1f}" for x, y in zip(x, y, strict=True))

    marked = np.intersect1d(np.empty(0, np.intp) if selected is None else selected, np.flatnonzero(is_known))
    line = ""
    if after.slope is not None and after.intercept is not None:
        ends = np.array([every.lengths.min(), every.lengths.max()], float)
        line = "M" + path(ends, after.intercept + after.slope * ends, "L")
    return {
        "points": path(every.lengths[is_known], after.norms[is_known], ""),
        "marked": path(every.lengths[marked], after.norms[marked], ""),
        "line": line,
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
        elif fit is not None and fit.n >= LEAST_TOLD:
            corner = {"xref": "x domain", "yref": "y domain", "x": 1, "y": 1, "xanchor": "right", "yanchor": "top"}
            text = {"text": f"R² {fit.r_squared:.3f}", "font": {"color": palette.line}, "showarrow": False}
            text["bgcolor"] = palette.background + "b0"
            figure.add_annotation(**text, **corner, **place)
        is_first, title = place["col"] == 1, "Norm (standard deviations)" if is_scaled else "Norm"
        look = {"text": title, "standoff": 6, "font": {"size": _FONT_SIZE}}
        axis: dict[str, object] = {"zeroline": False, "title": look if is_first else None}
        if is_scaled or len(points.norms):
            axis["autorangeoptions"] = {"include": [-1, 1] if is_scaled else least_range(points.norms)}
        elif not shared_y:  # without points, numbers on the axis would mean nothing
            axis |= {"range": [0, 1], "showticklabels": False}
        if not shared_y and not is_first:  # at the outer side: a phone has no room for numbers between the panels
            axis["side"] = "right"
        figure.update_yaxes(axis, **place)
    figure.update_xaxes(range=[0, longest + 1], zeroline=False)
    figure.for_each_annotation(lambda text: text.update(font={"size": _FONT_SIZE}))
    return figure


def _grid(labels: Sequence[str], n_columns: int, shared_y: bool, x_title: str) -> go.Figure:
    """Empty panels under their names, with one title for all x axes: a phone has no room for one per column."""
    n, titles = max(len(labels), 1), []
    for label in labels:  # a long one keeps its start and its end, which tells models of the same origin apart
        cut = next((at + 1 for mark in " /-_" if (at := label.rfind(mark, 1, _LINE)) > 0), _LINE)
        first, second = (label, "") if len(label) <= _LINE else (label[:cut].rstrip(), label[cut:].lstrip())
        if len(second) > _LINE:
            second = f"…{second[-_LINE + 1 :].lstrip()}"
        titles.append("<br>".join(hover_label(line) for line in filter(None, (first, second))))
    n_rows = math.ceil(n / n_columns)
    height = n_rows * (_HEIGHT + _TITLES_HEIGHT) - _TITLES_HEIGHT
    figure = make_subplots(
        n_rows,
        n_columns,
        specs=[[{} if row * n_columns + column < n else None for column in range(n_columns)] for row in range(n_rows)],
        subplot_titles=titles,
        shared_yaxes="all" if shared_y else False,
        x_title=x_title,
        horizontal_spacing=0.08,  # so that the numbers at the ends of two axes do not touch
        vertical_spacing=_TITLES_HEIGHT / height,
    )
    margin = {"l": 8, "r": 8, "t": 48, "b": 56}
    return figure.update_layout(PLAIN, margin=margin, height=height + margin["t"] + margin["b"])


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
