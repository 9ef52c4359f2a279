"""Similarity by the lengths of two sentences, and how remedies change a search."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.axes import arrange
from clsviz.figures.heat_map import heat_map
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
    step = 1 if max(map(len, spans)) <= 4 else 2  # a phone has no room for more
    figure.update_xaxes(tickfont=_SMALL, tickvals=list(range(0, len(spans), step)), ticktext=spans[::step])
    figure.update_yaxes(tickfont=_SMALL, title={"text": f"{unit.capitalize()} of the other", "standoff": 16})
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


def times_found(
    times: NDArray[np.float64], by_words: NDArray[np.float64], spans: Sequence[str], palette: Palette, unit: str
) -> go.Figure:
    """How often sentences of each span of length are found, float64 (n,), beside a search by shared words (or NaN)."""
    figure = go.Figure()
    for name, values, colour in (("this vector", times, palette.points), ("shared words", by_words, palette.summary)):
        figure.add_bar(
            x=list(spans),
            y=values,
            name=name,
            marker={"color": colour + ("" if colour == palette.points else "8c"), "line": {"width": 0}},
            hovertemplate="%{x} " + unit + "<br>among the ten nearest of %{y:.1f}<extra>%{fullData.name}</extra>",
        )
    x = {
        "title": f"{unit.capitalize()} of the sentence found",
        "type": "category",
        "tickfont": _SMALL,
        "tickangle": 0,
        "dtick": 2,
    }
    arrange(figure, x | {"fixedrange": True}, {"title": "Times found", "rangemode": "tozero", "fixedrange": True})
    figure.add_hline(y=10, line={"color": palette.line, "width": 2, "dash": "dash"})
    return figure.update_layout(bargap=0.25)


def joined(table: pd.DataFrame, palette: Palette) -> go.Figure:
    """Mean cosines by how many sentences a text is joined from; dotted, those of shared words.

    table: sentences, and for both cosine and tfidf: _with_own_first_sentence, _with_another_text,
    _with_another_sentence.
    """
    figure = go.Figure()
    lines = (
        ("own_first_sentence", "its own first sentence", palette.points, "circle"),
        ("another_text", "another such text", palette.line, "diamond"),
        ("another_sentence", "another single sentence", palette.summary, "square-open"),
    )
    for key, name, colour, symbol in lines:
        for kind, dash in (("cosine", "solid"), ("tfidf", "dot")):
            figure.add_scatter(
                x=table["sentences"],
                y=table[f"{kind}_with_{key}"],
                name=name,
                mode="lines+markers",
                line={"color": colour, "dash": dash, "width": 2 if kind == "cosine" else 1.5},
                marker={"color": colour, "symbol": symbol, "size": 8 if kind == "cosine" else 5},
                showlegend=kind == "cosine",
                customdata=table["tokens"],
                hovertemplate="%{x} sentences, %{customdata:.0f} tokens<br>%{y:.3f}<extra>"
                + f"{name}{', by shared words' if kind == 'tfidf' else ''}</extra>",
            )
    x = {"title": "Sentences in a text", "type": "log", "tickvals": table["sentences"].tolist(), "fixedrange": True}
    arrange(figure, x, {"title": "Mean cosine with …", "fixedrange": True})
    return figure
