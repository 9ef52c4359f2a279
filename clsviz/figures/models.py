"""Models side by side: what each finds, what a probe reads from it, and what its norm follows."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures.style import COLOURS, axis, escape, layout, note
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
    notes: list[Trace] = []
    axes: dict[str, Any] = {}
    for row, name in enumerate(names):
        label = note(escape(name), xref="x domain", x=0, y=row - ABOVE, xanchor="left")
        notes.append(label | {"font": {"color": _colour(row), "weight": "bold"}})
    for place, column in enumerate(columns):
        number = str(place + 1) if place else ""
        unit = str(table["unit"].iloc[0])
        form = unit if column == "last_probe_error" else "percent"
        high = float(np.nanmax(table[[column, f"{column}_high"]].to_numpy(np.float64)))
        axes[f"xaxis{number}"] = axis(
            range=[-0.04 * high, 1.1 * high or 1.0],
            domain=[place * width, (place + 1) * width - GAP],
            anchor=f"y{number}",
            tickformat=".0%" if form == "percent" else "",
            nticks=3,
            tickangle=0,
            showgrid=True,
            fixedrange=True,
        )
        axes[f"yaxis{number}"] = axis(
            range=[len(names) - 0.4, -TOP - 0.35],
            anchor=f"x{number}",
            tickvals=[],
            ticktext=[],
            fixedrange=True,
        )
        title = PANELS[column].format(unit=unit)
        refs = {"xref": f"x{number} domain", "yref": f"y{number}"}
        notes.append(note(title, **refs, x=0, y=-TOP, xanchor="left", align="left"))
        for row, name in enumerate(names):
            numbers = [float(table[f"{column}{end}"].iloc[row]) for end in ENDS]
            if np.isfinite(numbers[0]):
                data += _point(name, row, numbers, form, number)
            notes.append(_number(row, numbers[0], high, form, number))
    return go.Figure(data, layout(**axes, annotations=notes, dragmode=False))


def _point(name: str, row: int, numbers: list[float], form: str, number: str) -> list[Trace]:
    """An interval and its point; the label under the pointer has the numbers."""
    value, low, high = numbers
    write, colour = FORMS[form], _colour(row)
    axes = {"type": "scatter", "xaxis": f"x{number}", "yaxis": f"y{number}"}
    ends = f" ({write(low)} to {write(high)})" if np.isfinite([low, high]).all() else ""
    marker = {"color": colour, "size": 11}
    point = {"x": [value], "y": [row], "customdata": [row], "mode": "markers", "marker": marker}
    text = {"text": [f"{escape(name)}<br><b>{write(value)}</b>{ends}"]}
    line = {"x": [low, high], "y": [row, row], "mode": "lines", "hoverinfo": "skip"}
    return [
        {**axes, **line, "line": {"color": colour, "width": 3}},
        {**axes, **point, **text, "hovertemplate": "%{text}<extra></extra>"},
    ]


def _number(row: int, value: float, high: float, form: str, number: str) -> Trace:
    """The number of a point below it, within the panel."""
    is_known = bool(np.isfinite(value))
    text = FORMS[form](value).removesuffix(f" {form}") if is_known else "undefined"
    at = value if is_known else 0.0
    side = "left" if at < 0.15 * high else "right" if at > 0.85 * high else "center"
    place = {"xref": f"x{number}", "yref": f"y{number}", "x": at, "y": row + BELOW}
    return note(text, _colour(row), **place, xanchor=side)


def _colour(row: int) -> str:
    return COLOURS[row % len(COLOURS)]
