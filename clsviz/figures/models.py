"""Models side by side: what each finds, what a probe reads from it, and what its norm follows."""

from typing import Final

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.numbers import FORMS
from clsviz.results.result import Result

GAP: Final = 0.06  # between panels, as a share of the picture

TOP, ABOVE, BELOW = 0.95, 0.4, 0.3
"""Rows from a point up to the title and to its name, and down to its number."""

PANELS: Final = {
    "recall_at_10": ("Right text<br>among ten", "percent"),
    "chunk_recall_at_1": ("Finds chunks<br>of {size} sentences", "percent"),
    "own_chunk_recall_at_1": ("Finds your<br>chunks", "percent"),
    "last_probe_error": ("Probe misses<br>by ({unit})", "{unit}"),
    "r_squared": ("R² of<br>the norm", "percent"),
}
"""Columns of the table, which is drawn where it has numbers: their titles and forms."""


def models(result: Result) -> Figure:
    """The figure of a result of `results.compare`: for each row of the table a point in each panel.

    customdata of a point is its row.
    """
    table = result.table
    names = [style.escape(str(name)) for name in table["label"]]
    if table["corpus"].nunique() > 1:
        corpora = map(style.escape, map(str, table["corpus"]))
        names = [" · ".join(pair) for pair in zip(names, corpora, strict=True)]
    words = {"unit": table["unit"].iloc[0], "size": f"{table['chunk_sentences'].iloc[0]:.0f}"}
    columns = [column for column in PANELS if column in table and table[column].notna().any()]
    width = (1 + GAP) / max(len(columns), 1)
    data: list[Trace] = []
    axes: Trace = {}
    notes: list[Trace] = []
    for row, name in enumerate(names):
        corner: Trace = {"xref": "x domain", "x": 0, "y": row - ABOVE, "xanchor": "left"}
        notes.append(style.note(name, _colour(row), "bold", **corner))
    for place, column in enumerate(columns):
        number = str(place + 1) if place else ""
        x, y = f"x{number}", f"y{number}"
        title, form = (text.format(**words) for text in PANELS[column])
        numbers = table[[column, f"{column}_low", f"{column}_high"]].to_numpy(np.float64)
        high = float(np.nanmax(numbers[:, [0, 2]]))
        axes[f"xaxis{number}"] = style.axis(
            range=[-0.04 * high, 1.1 * high or 1.0],
            domain=[place * width, (place + 1) * width - GAP],
            anchor=y,
            tickformat=".0%" if form == "percent" else "",
            nticks=3,
            tickangle=0,
            showgrid=True,
            fixedrange=True,
        )
        rows: Trace = {"range": [len(names) - 0.4, -TOP - 0.35], "tickvals": [], "ticktext": []}
        axes[f"yaxis{number}"] = style.axis(**rows, anchor=x, fixedrange=True)
        corner = {"xref": f"{x} domain", "yref": y, "x": 0, "y": -TOP}
        notes.append(style.note(title, **corner, xanchor="left", align="left"))
        for row, triple in enumerate(numbers.tolist()):
            if np.isfinite(triple[0]):
                data += _point(names[row], row, triple, form, {"xaxis": x, "yaxis": y})
            text = FORMS[form](triple[0]).removesuffix(f" {form}")
            at, text = (triple[0], text) if np.isfinite(triple[0]) else (0.0, "undefined")
            side = "left" if at < 0.15 * high else "right" if at > 0.85 * high else "center"
            below: Trace = {"xref": x, "yref": y, "x": at, "y": row + BELOW, "xanchor": side}
            notes.append(style.note(text, _colour(row), **below))
    return style.figure(data, **axes, annotations=notes, dragmode=False)


def _point(name: str, row: int, numbers: list[float], form: str, axes: Trace) -> list[Trace]:
    """An interval and its point; the label under the pointer has the numbers."""
    value, low, high = map(FORMS[form], numbers)
    ends = f" ({low} to {high})" * bool(np.isfinite(numbers).all())
    line = {"color": _colour(row), "width": 3}
    marker: Trace = {"mode": "markers", "marker": {"color": _colour(row), "size": 11}}
    texts = [f"{name}<br><b>{value}</b>{ends}"]
    return [
        style.trace(name, numbers[1:], [row, row], line=line, **axes),
        style.trace(name, numbers[:1], [row], texts, customdata=[row], **marker, **axes),
    ]


def _colour(row: int) -> str:
    return style.COLOURS[row % len(style.COLOURS)]
