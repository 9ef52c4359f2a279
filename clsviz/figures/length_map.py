"""Similarity by the lengths of two sentences, and how remedies change a search."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.heat_map import heat_map
from clsviz.figures.lines import arrange
from clsviz.figures.style import Palette, hover_label

_MOST_DIGITS = 4
"""More would not fit into a cell on a phone; the label of a cell has them."""


_SMALL = {"size": 11}


def length_map(cosines: NDArray[np.float64], spans: Sequence[str], palette: Palette, unit: str = "tokens") -> go.Figure:
    """The mean cosine of two sentences, float64 (n, n), by the spans of length that they are in: coloured cells."""
    low, high = float(cosines.min()), float(cosines.max())
    digits = 2
    while digits < _MOST_DIGITS and high - low < 10 ** (1 - digits):
        digits += 1
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
    labels = [
        f"{hover_label(spans[row], 1)} and {hover_label(spans[column], 1)} {unit}<br>mean cosine "
        + f"{cosines[row, column]:.6f}".replace("-", "−")
        for row, column in np.ndindex(cosines.shape)
    ]
    figure.data[1].text = labels
    step = 1 if max(map(len, spans)) <= 5 else 2
    figure.update_xaxes(tickfont=_SMALL, tickvals=list(range(0, len(spans), step)), ticktext=spans[::step])
    figure.update_yaxes(tickfont=_SMALL, title={"text": f"{unit.capitalize()} of the other", "standoff": 4})
    return figure.update_layout(height=470, margin={"t": 8})


def remedy_bars(table: pd.DataFrame, palette: Palette, chance: float) -> go.Figure:
    """Correlations before and after remedies, a bar each, over the band of chance from −chance to chance.

    table: name, correlation (NaN if undefined), is_baseline.
    """
    shown = table.iloc[::-1]
    values = shown["correlation"].to_numpy(float)
    colours = [palette.summary + "8c" if baseline else palette.points for baseline in shown["is_baseline"]]
    figure = go.Figure(
        go.Bar(
            x=np.where(np.isfinite(values), values, 0),
            y=[hover_label(name, 1) for name in shown["name"]],
            orientation="h",
            marker={"color": colours, "line": {"width": 0}},
            text=[f" {value:.2f} ".replace("-", "−") if np.isfinite(value) else " –" for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
        )
    )
    low, high = min(0.0, float(np.nanmin(values, initial=0))), max(0.2, float(np.nanmax(values, initial=0)))
    x: dict[str, Any] = {"title": "Rank correlation", "range": [1.2 * low, 1.15 * high], "fixedrange": True}
    arrange(figure, x, {"fixedrange": True, "ticksuffix": " "})
    figure.add_vrect(x0=-chance, x1=chance, fillcolor=palette.line, opacity=0.18, line_width=0)
    return figure.update_layout(showlegend=False, bargap=0.3, height=44 * len(table) + 70)
