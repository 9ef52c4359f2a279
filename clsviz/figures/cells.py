"""Tables drawn as coloured cells with a number in each, and vectors on two principal components."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import PLAIN, SMALL, Floats, Labels, Palette, hover_label, label_step, short_name, stand_out

_LEAST, _MOST = "14", "8c"
"""Opacities in hexadecimal, chosen so that numbers in the summaries' colour are readable on every cell."""

_MOST_CHARACTERS = 52
"""Up to how many characters one row of cells keeps the font size that fits a phone."""

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
    """A coloured cell with its number for each of the values, float (rows, columns); NaN is left blank.

    marked: the row and column of a cell to frame. What is clicked has (row, column) as customdata.
    """
    cells = np.asarray(values, float).reshape(len(rows), len(columns))
    defined = np.isfinite(cells)
    texts = np.full(cells.shape, "", dtype=object)
    texts[defined] = [format(cell, value_format).replace("-", "−") for cell in cells[defined]]
    # A leading zero is left out so that numbers fit a phone.
    short = [
        [text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text for text in row] for row in texts
    ]
    fits_a_phone = max((len(text) for row in short for text in row), default=0) * cells.shape[1] <= _MOST_CHARACTERS
    figure = go.Figure(
        go.Heatmap(
            z=cells,
            text=short,
            texttemplate="%{text}",
            textfont={"color": palette.summary} | ({"size": 11} if fits_a_phone else {}),
            colorscale=[[0, palette.points + _LEAST], [1, palette.points + _MOST]],
            zmin=zmin,
            zmax=zmax,
            xgap=2,
            ygap=2,
            showscale=False,
            hovertext=[
                [
                    f"{hover_label(row, 1)}<br>{column_title.lower()} {hover_label(column, 1)}<br>{text or 'undefined'}"
                    for column, text in zip(columns, of_row, strict=True)
                ]
                for row, of_row in zip(rows, texts, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            customdata=np.moveaxis(np.indices(cells.shape), 0, -1).tolist(),
        )
    )
    if marked is not None:
        row, column = marked
        frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
        figure.add_shape(type="rect", **frame, line={"color": palette.line, "width": 2.5})
    quiet = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    step, n_rows, n_columns = label_step(len(columns)), len(rows), len(columns)
    return figure.update_layout(
        PLAIN,
        xaxis=quiet
        | {"title": column_title, "range": [-0.5, n_columns - 0.5], "tickangle": 0}
        | {"tickvals": list(range(0, n_columns, step)), "ticktext": [short_name(name) for name in columns[::step]]},
        yaxis=quiet
        | {"range": [n_rows - 0.5, -0.5], "tickvals": list(range(n_rows))}
        | {"ticktext": [short_name(name).replace(" ", "<br>", 1) for name in rows]},
        height=_HEIGHT * n_rows + 70,
    )


_MOST_DIGITS = 4
"""More would not fit into a cell on a phone; the label of a cell has them."""


def length_map(cosines: NDArray[np.float64], spans: Sequence[str], palette: Palette, unit: str = "tokens") -> go.Figure:
    """The mean cosine of two sentences, float64 (n, n), by the spans of length that they are in: coloured cells."""
    low, high = float(cosines.min()), float(cosines.max())
    digits = next((n for n in range(2, _MOST_DIGITS) if high - low >= 10 ** (1 - n)), _MOST_DIGITS)
    figure = heat_map(
        cosines,
        spans,
        spans,
        palette,
        zmin=low,
        zmax=high,
        value_format=f".{digits}f",
        column_title=f"{unit.capitalize()} of the one sentence",
    )
    figure.data[0].hovertext = [
        [
            f"{hover_label(row, 1)} and {hover_label(column, 1)} {unit}<br>mean cosine {cosine:.6f}".replace("-", "−")
            for column, cosine in zip(spans, of_row, strict=True)
        ]
        for row, of_row in zip(spans, cosines, strict=True)
    ]
    step = 1 if max(map(len, spans)) <= 4 else 2  # a phone has no room for more
    figure.update_xaxes(tickfont=SMALL, tickvals=list(range(0, len(spans), step)), ticktext=spans[::step])
    figure.update_yaxes(tickfont=SMALL, title={"text": f"{unit.capitalize()} of the other", "standoff": 16})
    return figure.update_layout(height=470, margin={"t": 8})


_COLOURS = "Cividis"
"""Perceptually even, and the same to nearly all who see few colours (Nuñez, Anderton and Renslow 2018)."""

_LONGEST = 0.98
"""The share of sentences up to whose length colours differ: a few long ones would take all the colours."""


def projection(
    coordinates: NDArray[np.floating],
    lengths: NDArray[np.int32],
    labels: Labels,
    palette: Palette,
    *,
    shares: tuple[float, float],
    unit: str = "tokens",
    selected: NDArray[np.intp] | None = None,
) -> go.Figure:
    """A point for each vector; coordinates (n, 2), lengths (n,), labels (n,) from `labels_of`.

    shares: of the variance, which the two axes hold. selected: which points are, intp (n,).
    """
    longest = int(lengths.max(initial=1))
    first, last = int(lengths.min(initial=longest)), longest
    if len(lengths):
        last = max(first + 1, int(np.quantile(lengths, _LONGEST)))
    ticks = np.unique(np.linspace(first, last, 4).round().astype(int)).tolist()
    bar = {
        "title": {"text": f"Length<br>({unit})", "side": "top"},
        "thickness": 12,
        "len": 0.9,
        "outlinewidth": 0,
        "tickvals": ticks,
        "ticktext": [*map(str, ticks[:-1]), f"{ticks[-1]}+" if longest > last else str(ticks[-1])],
    }
    outline = {"width": 0.5, "color": f"{palette.summary}60"}  # the ends of the scale are near those of the themes
    figure = go.Figure(
        go.Scattergl(
            x=coordinates[:, 0].astype(np.float32),
            y=coordinates[:, 1].astype(np.float32),
            customdata=lengths,
            text=labels,
            mode="markers",
            marker={
                "size": 6,
                "color": lengths,
                "opacity": 0.8,
                "line": outline,
                "colorscale": _COLOURS,
                "cmin": first,
                "cmax": last,
                "colorbar": bar,
            },
            hovertemplate=f"%{{text}}<br>%{{customdata}} {unit}<extra></extra>",
        )
    )
    stand_out(figure.data[0], selected)
    names = [
        f"Principal component {at} ({share:.{0 if share >= 0.1 else 1}%} of variance)"
        for at, share in enumerate(shares, 1)
    ]
    axes = {"xaxis": {"title": names[0], "zeroline": False}, "yaxis": {"title": names[1], "zeroline": False}}
    return figure.update_layout(PLAIN, **axes)
