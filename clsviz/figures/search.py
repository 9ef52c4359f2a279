"""Exposure and recall of a search, by fifths of the searched texts' lengths."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from clsviz.figures.style import SMALL, Palette, arrange, hover_label

SEARCH_HEIGHT = 520

LEAST_EXPOSURE = 0.02
"""What is less is drawn there: 0 has no place on a logarithmic axis."""

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


@dataclass(frozen=True)
class ByFifth:
    """One way to rank: exposure and recall of each fifth (None where nothing is right), and 95% intervals, if any."""

    name: str
    exposure: Sequence[float | None]
    interval: Sequence[tuple[float, float] | None]
    recall: Sequence[float | None]


def exposure_by_fifth(rows: Sequence[ByFifth], spans: Sequence[str], palette: Palette) -> go.Figure:
    """Exposure over the fifths on a logarithmic axis with a line at 1, and recall below it; a label at each line's end.

    rows: up to five, the one that the verdict is about first. spans: the token range of each fifth, shortest first.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.66, 0.34], vertical_spacing=0.06)
    colours = (palette.points, palette.line, palette.summary, palette.own, palette.other)
    for row, colour in zip(rows, colours, strict=False):
        exposure = [None if value is None else max(value, LEAST_EXPOSURE) for value in row.exposure]
        ends = [
            (0.0, 0.0) if at is None or interval is None else (max(interval[1] - at, 0), max(at - interval[0], 0))
            for at, interval in zip(exposure, row.interval, strict=True)
        ]
        told = [
            "no interval" if interval is None else f"{interval[0]:.2f}–{interval[1]:.2f}" for interval in row.interval
        ]
        line = {"color": colour, "width": 2, "dash": "dash" if row.name.startswith("BM25") else "solid"}
        figure.add_scatter(
            x=[*spans],
            y=exposure,
            name=hover_label(row.name, 1),
            legendgroup=row.name,
            mode="lines+markers",
            line=line,
            marker={"color": colour, "size": 7},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [above for above, _ in ends],
                "arrayminus": [below for _, below in ends],
                "thickness": 1,
                "width": 3,
                "color": f"{colour}8c",
            },
            customdata=[[value, text] for value, text in zip(row.exposure, told, strict=True)],
            hovertemplate="%{x} tokens: %{customdata[0]:.2f} times its share (%{customdata[1]})"
            "<extra>%{fullData.name}</extra>",
            row=1,
            col=1,
        )
        figure.add_scatter(
            x=[*spans],
            y=[*row.recall],
            name=hover_label(row.name, 1),
            legendgroup=row.name,
            showlegend=False,
            mode="lines+markers",
            line=line,
            marker={"color": colour, "size": 5},
            hovertemplate="%{x} tokens: recall %{y:.0%}<extra>%{fullData.name}</extra>",
            row=2,
            col=1,
        )
    arrange(figure, {}, {})
    highest = max((value for row in rows for value in row.exposure if value), default=1.0)
    limits = [math.log10(LEAST_EXPOSURE * 0.85), math.log10(max(2.0, 1.15 * highest))]
    ticks = {"tickmode": "array", "tickvals": [*TICKS], "ticktext": [f"{tick:g}" for tick in TICKS]}
    figure.update_yaxes(title="Exposure", type="log", range=limits, fixedrange=True, **ticks, row=1, col=1)
    figure.update_yaxes(title="Recall", range=[0, 1.05], tickformat=".0%", nticks=4, fixedrange=True, row=2, col=1)
    figure.update_xaxes(type="category", fixedrange=True, tickfont=SMALL, row=1, col=1)
    figure.update_xaxes(
        title="Tokens of the searched text, by fifths", type="category", fixedrange=True, tickangle=0, row=2, col=1
    )
    figure.add_hline(y=1, line={"color": palette.summary, "width": 1, "dash": "dot"}, row=1, col=1)
    return figure.update_layout(height=SEARCH_HEIGHT)
