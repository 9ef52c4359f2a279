"""Models side by side: what each finds, what a probe reads from it, and what its norm follows."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures.bars import COLOURS
from clsviz.figures.style import TEXT, axis, escape, layout
from clsviz.results.numbers import FORMS
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

GAP: Final = 0.06
"""Between panels, as a share of the picture."""

TOP, ABOVE, BELOW = 0.95, 0.4, 0.3
"""Rows from a point up to the title and to its name, and down to its number."""

ENDS: Final = ("", "_low", "_high")

PANELS: Final = {
    "recall_at_10": "Right text<br>among ten",
    "last_probe_error": "Probe misses<br>by ({unit})",
    "r_squared": "R² of<br>the norm",
}
"""Columns of the table, which is drawn where it has numbers, and their titles."""

Trace = dict[str, Any]


def models(result: Result) -> "go.Figure":
    """The figure of a result of `results.compare`: for each row of the table a point in each panel.

    customdata of a point is its row.
    """
    import plotly.graph_objects as go

    table = result.table
    names = list(map(str, table["label"]))
    if table["corpus"].nunique() > 1:
        names = [f"{name} · {corpus}" for name, corpus in zip(names, table["corpus"], strict=True)]
    columns = [column for column in PANELS if table[column].notna().any()]
    width = (1 + GAP) / max(len(columns), 1)
    data: list[Trace] = []
    labels = [
        _label(escape(name), "x domain", 0, row - ABOVE, "left", _colour(row), weight="bold")
        for row, name in enumerate(names)
    ]
    axes: dict[str, Any] = {}
    for place, column in enumerate(columns):
        number = str(place + 1) if place else ""
        unit = str(table["unit"].iloc[0])
        form = unit if column == "last_probe_error" else "percent"
        high = float(np.nanmax(table[[column, f"{column}_high"]].to_numpy(np.float64)))
        title = PANELS[column].format(unit=unit)
        labels.append(_label(title, f"x{number} domain", 0, -TOP, "left", TEXT, f"y{number}"))
        domain = [place * width, (place + 1) * width - GAP]
        ends: dict[str, Any] = {
            "range": [-0.04 * high, 1.1 * high or 1.0],
            "domain": domain,
            "nticks": 3,
            "tickangle": 0,
        }
        look: dict[str, Any] = {"tickformat": ".0%" if form == "percent" else "", "showgrid": True}
        axes[f"xaxis{number}"] = axis("", **ends, **look, fixedrange=True, anchor=f"y{number}")
        rows: dict[str, Any] = {
            "range": [len(names) - 0.4, -TOP - 0.35],
            "tickvals": [],
            "ticktext": [],
        }
        axes[f"yaxis{number}"] = axis("", **rows, fixedrange=True, anchor=f"x{number}")
        for row, name in enumerate(names):
            value, low, upper = (float(table[f"{column}{end}"].iloc[row]) for end in ENDS)
            data += _point(name, row, (value, low, upper), form, number)
            is_known = bool(np.isfinite(value))
            text = FORMS[form](value).removesuffix(f" {unit}") if is_known else "undefined"
            at = value if is_known else 0.0
            side = "left" if at < 0.15 * high else "right" if at > 0.85 * high else "center"
            labels.append(
                _label(text, f"x{number}", at, row + BELOW, side, _colour(row), f"y{number}")
            )
    return go.Figure(data, layout(**axes, annotations=labels, dragmode=False))


def _point(
    name: str, row: int, numbers: tuple[float, float, float], form: str, number: str
) -> list[Trace]:
    """An interval and its point; the label under the pointer has the numbers."""
    value, low, high = numbers
    write, colour = FORMS[form], _colour(row)
    axes = {"type": "scatter", "xaxis": f"x{number}", "yaxis": f"y{number}"}
    ends = f" ({write(low)} to {write(high)})" if np.isfinite([low, high]).all() else ""
    if not np.isfinite(value):
        return []
    marker = {"color": colour, "size": 11}
    point = {"x": [value], "y": [row], "customdata": [row], "mode": "markers", "marker": marker}
    text = {"text": [f"{escape(name)}<br><b>{write(value)}</b>{ends}"]}
    line = {"x": [low, high], "y": [row, row], "mode": "lines", "hoverinfo": "skip"}
    return [
        {**axes, **line, "line": {"color": colour, "width": 3}},
        {**axes, **point, **text, "hovertemplate": "%{text}<extra></extra>"},
    ]


def _colour(row: int) -> str:
    return COLOURS[row % len(COLOURS)]


def _label(
    text: str, xref: str, x: float, y: float, side: str, colour: str, yref: str = "y", **font: Any
) -> dict[str, Any]:
    return {
        "text": text,
        "xref": xref,
        "yref": yref,
        "x": x,
        "y": y,
        "xanchor": side,
        "align": side,
        "showarrow": False,
        "font": {"color": colour, **font},
    }
