"""Exposure and recall of a search, by fifths of the searched texts' lengths."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from clsviz.figures.style import LONGEST_NAME, SMALL, Palette, arrange, hover_label, label_beside, short_name
from clsviz.statistics.exposure import Ranking

SEARCH_HEIGHT = 520

LEAST_EXPOSURE = 0.02
"""What is less is drawn there: 0 has no place on a logarithmic axis."""

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

_BELOW = 0.32
"""The share of the height that recall takes."""

_LABEL, _LONGEST_SPAN = 0.13, 7
"""The share of the upper part's height that a label takes, and the letters that a phone has room for below a fifth."""


@dataclass(frozen=True)
class ByFifth:
    """One way to rank: exposure and recall of each fifth (None where nothing is right), and 95% intervals, if any."""

    name: str
    exposure: Sequence[float | None]
    interval: Sequence[tuple[float, float] | None]
    recall: Sequence[float | None]


def by_fifth(rankings: Mapping[str, Ranking]) -> list[ByFifth]:
    """Rankings by name, as they are drawn."""
    return [
        ByFifth(
            name,
            ranking.exposure,
            [fifth.exposure_interval for fifth in ranking.fifths],
            [fifth.recall_at_10 for fifth in ranking.fifths],
        )
        for name, ranking in rankings.items()
    ]


def exposure_by_fifth(
    rows: Sequence[ByFifth], spans: Sequence[str], palette: Palette, *, height: int = SEARCH_HEIGHT
) -> go.Figure:
    """Exposure over the fifths on a logarithmic axis with a line at 1, and recall below it; a label at each line's end.

    rows: up to six. spans: the token range of each fifth, or its name, shortest first.
    """
    figure = make_subplots(rows=2, cols=1)
    unit = " tokens" if spans[0][:1].isdigit() else ""
    colours = (palette.points, palette.line, palette.summary, palette.own, palette.other, palette.points)
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
            hovertemplate=f"%{{x}}{unit}: "
            "%{customdata[0]:.2f} times its share (%{customdata[1]})<extra>%{fullData.name}</extra>",
            row=1,
            col=1,
        )
        figure.add_scatter(
            x=[*spans],
            y=[*row.recall],
            name=hover_label(row.name, 1),
            mode="lines+markers",
            line=line,
            marker={"color": colour, "size": 5},
            hovertemplate=f"%{{x}}{unit}: recall %{{y:.0%}}<extra>%{{fullData.name}}</extra>",
            row=2,
            col=1,
        )
    highest = max((value for row in rows for value in row.exposure if value), default=1.0)
    lowest = min((value for row in rows for value in row.exposure if value is not None), default=1.0)
    low, high = math.log10(0.85 * min(max(lowest, LEAST_EXPOSURE), 0.5)), math.log10(max(2.0, 1.15 * highest))
    above: dict[str, Any] = {"title": "Exposure", "type": "log", "range": [low, high], "domain": [_BELOW + 0.06, 1]}
    above |= {"tickmode": "array", "tickvals": [*TICKS], "ticktext": [f"{tick:g}" for tick in TICKS]}
    arrange(figure, {"type": "category", "showticklabels": False, "fixedrange": True}, above | {"fixedrange": True})
    figure.update_layout(
        yaxis2={"title": "Recall", "range": [0, 1.05], "tickformat": ".0%", "nticks": 4, "fixedrange": True}
        | {"domain": [0, _BELOW], "zeroline": False},
        xaxis2={"title": "Tokens of the searched text, by fifths", "type": "category", "fixedrange": True}
        | {"tickangle": 0, "tickfont": SMALL, "zeroline": False},
        xaxis={"matches": "x2", "anchor": "y"},
        height=height,
    )
    ticks = [span.replace("–", "–<br>") if len(span) > _LONGEST_SPAN else span for span in spans]
    figure.update_xaxes(tickvals=[*spans], ticktext=ticks)
    figure.add_hline(y=1, line={"color": palette.summary, "width": 1, "dash": "dot"}, row=1, col=1)
    last = [next((value for value in row.exposure[::-1] if value is not None), None) for row in rows]
    labels = [
        (short_name(row.name, LONGEST_NAME), math.log10(max(value or 1.0, LEAST_EXPOSURE)), colour)
        for row, value, colour in zip(rows, last, colours, strict=False)
    ]
    label_beside(figure, labels, (low, high), _LABEL)
    return figure
