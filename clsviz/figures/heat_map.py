"""Pictures of coloured cells with their numbers: tables to Plotly figures. No statistics here, and no Streamlit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import LONGEST_LABEL, Palette, hover_label, label_step, short_name

Floats = NDArray[np.floating[Any]]


_LEAST, _MOST = "14", "8c"
"""Opacities, in hexadecimal, so that a number in the summaries' colour can be read on every cell."""


_MOST_NUMBERED, _MOST_CHARACTERS = 12, 52
"""Sentences whose similarities stand in the cells; characters in a row of cells, beyond which they are made smaller."""


_HEIGHT = 44


def heat_map(
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    palette: Palette,
    *,
    marked: tuple[int, int] | None = None,
    zmin: float = 0,
    zmax: float = 1,
    value_format: str = ".2f",
    column_title: str = "Layer",
) -> go.Figure:
    """A number in every cell, float (rows, columns); NaN is undefined and blank.

    A click on a cell selects a point of trace 1, whose customdata is (row, column).
    """
    cells = np.asarray(values, float).reshape(len(rows), len(columns))
    defined = np.isfinite(cells)
    texts = _formatted(cells, value_format)
    figure = _cells(cells, texts, palette, zmin, zmax)
    places = np.argwhere(np.full(cells.shape, True))
    hover = [
        f"{hover_label(rows[row], 1)}<br>{column_title.lower()} {hover_label(columns[column], 1)}<br>"
        + (texts[row, column] if defined[row, column] else "undefined")
        for row, column in places
    ]
    figure.add_trace(_targets(places, hover))
    if marked is not None:
        row, column = marked
        frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
        figure.add_shape(type="rect", **frame, line={"color": palette.line, "width": 2.5})
    _label_cells(
        figure,
        [short_name(name).replace(" ", "<br>", 1) for name in rows],
        [short_name(name) for name in columns],
        column_title,
    )
    return figure.update_layout(height=_HEIGHT * len(rows) + 70)


def similarity(
    matrix: Floats, names: Sequence[str], palette: Palette, *, zmin: float = 0.3, value_format: str = ".2f"
) -> go.Figure:
    """Cosine similarities of sentences, float (n, n), from zmin to 1; with numbers in the cells where there is room."""
    n = len(names)
    cells = np.asarray(matrix, float).reshape(n, n)
    texts = _formatted(cells, value_format)
    few = n <= _MOST_NUMBERED
    figure = _cells(cells, texts if few else np.full_like(texts, ""), palette, zmin, 1)
    places = np.argwhere(np.full(cells.shape, True))
    hover = [
        f"{row + 1}: {hover_label(names[row], 1)}<br>{column + 1}: {hover_label(names[column], 1)}<br>"
        + (f"similarity {texts[row, column]}" if texts[row, column] else "undefined")
        for row, column in places
    ]
    figure.add_trace(_targets(places, hover))
    numbers = [str(index + 1) for index in range(n)]
    most = LONGEST_LABEL if n <= 5 else 10  # many columns need the room
    labels = [f"{short_name(name, most)}  {index}" for name, index in zip(names, numbers, strict=True)]
    _label_cells(figure, labels, numbers, "")
    return figure.update_layout(height=(_HEIGHT if few else 20) * n + 70)


def _cells(cells: Floats, texts: NDArray[np.str_], palette: Palette, zmin: float, zmax: float) -> go.Figure:
    """Coloured cells; those without a text may be of the full colour."""
    most = _MOST if (texts != "").any() else "ff"
    short = [
        [text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text for text in row] for row in texts
    ]
    fits_a_phone = max((len(text) for row in short for text in row), default=0) * cells.shape[1] <= _MOST_CHARACTERS
    return go.Figure(
        go.Heatmap(
            z=cells,
            text=short,
            texttemplate="%{text}",
            textfont={"color": palette.summary} | ({"size": 11} if fits_a_phone else {}),
            colorscale=[[0, palette.points + _LEAST], [1, palette.points + most]],
            zmin=zmin,
            zmax=zmax,
            xgap=2,
            ygap=2,
            showscale=False,
            hoverinfo="skip",
        )
    )


def _targets(places: NDArray[np.intp], hover: list[str]) -> go.Scatter:
    """Points that nobody sees, one a cell, as Plotly selects no cells; small, so that the nearest is the cell's own."""
    unseen = {"marker": {"opacity": 0}}
    return go.Scatter(
        x=places[:, 1],
        y=places[:, 0],
        customdata=places.tolist(),  # an array would come back from the browser as a mapping
        text=hover,
        mode="markers",
        marker={"size": 6, "opacity": 0},
        selected=unseen,
        unselected=unseen,
        hovertemplate="%{text}<extra></extra>",
    )


def _label_cells(figure: go.Figure, rows: list[str], columns: list[str], column_title: str) -> None:
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    step = label_step(len(columns))
    figure.update_layout(
        xaxis=quiet
        | {"title": column_title, "range": [-0.5, len(columns) - 0.5], "tickangle": 0}
        | {"tickvals": list(range(0, len(columns), step)), "ticktext": columns[::step]},
        yaxis=quiet | {"range": [len(rows) - 0.5, -0.5], "tickvals": list(range(len(rows))), "ticktext": rows},
        showlegend=False,
        hovermode="closest",
        hoverdistance=-1,  # the whole cell, however large
        hoverlabel={"align": "left"},
        margin={"l": 8, "r": 8, "t": 32, "b": 8},
    )


def _formatted(cells: Floats, value_format: str) -> NDArray[np.str_]:
    texts = [
        [format(cell, value_format).replace("-", "−") if np.isfinite(cell) else "" for cell in row] for row in cells
    ]
    return np.array(texts, dtype=str).reshape(cells.shape)
