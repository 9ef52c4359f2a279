"""Bars: shares of dimensions, weights, what is erased, and a small histogram; and what a search finds, by fifths."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from clsviz.figures.style import LONGEST_NAME, SMALL, Floats, Palette, arrange, hover_label, label_beside, short_name
from clsviz.statistics.exposure import FAIR, Ranking
from clsviz.words import number


def dimension_shares(shares: Floats, order: NDArray[np.intp], palette: Palette, n: int = 20) -> go.Figure:
    """The n dimensions with the largest shares of the squared norm: shares float (width,), order by share."""
    largest = np.asarray(order)[:n]
    bars = go.Bar(
        x=[str(dimension) for dimension in largest],
        y=np.asarray(shares, float)[largest],
        marker={"color": palette.points, "line": {"width": 0}},
        hovertemplate="dimension %{x}<br>%{y:.2%} of the squared norm<extra></extra>",
    )
    figure = go.Figure(bars)
    x = {"title": "Dimension, by share", "type": "category", "tickangle": -90, "dtick": 1, "tickfont": {"size": 10}}
    arrange(figure, x, {"title": "Share of the squared norm", "tickformat": "~%", "rangemode": "tozero"})
    return figure.update_layout(showlegend=False, bargap=0.25)


def erasure(table: pd.DataFrame, palette: Palette) -> go.Figure:
    """What is left of the length in each version of the vectors, side by side for each measure.

    table: measure, version, mean, lowest, highest; versions get their colours in order of appearance.
    """
    figure = go.Figure()
    colours = (palette.points, palette.line, f"{palette.summary}8c")
    for (version, rows), colour in zip(table.groupby("version", sort=False), colours, strict=False):
        means = rows["mean"].to_numpy(float)
        figure.add_bar(
            x=rows["measure"],
            y=means,
            name=str(version),
            text=["" if np.isnan(mean) else f"{round(mean, 2) + 0.0:.2f}".replace("-", "−") for mean in means],
            textposition="outside",
            cliponaxis=False,
            marker={"color": colour, "line": {"width": 0}},
            customdata=rows[["lowest", "highest"]].to_numpy(float),
            hovertemplate="%{x}: %{y:.3f} (folds: %{customdata[0]:.3f} to %{customdata[1]:.3f})"
            "<extra>%{fullData.name}</extra>",
        )
    low = max(-0.2, float(np.nanmin(table["mean"], initial=0)))
    arrange(figure, {}, {"range": [low - 0.05 * (low < 0), 1.1]})
    return figure.update_layout(barmode="group", bargap=0.25)


def way_of_cls(groups: pd.DataFrame, norms: Sequence[tuple[str, float]], palette: Palette) -> go.Figure:
    """The way of [CLS] from top to bottom: its norm after each step, and beside it the weights that make the step.

    groups: one row per group of parameters, in the model's order, with the columns group, weights, share, attention and
    feed_forward. norms: the steps that the norm is known after, in order; those named as a group are in its row.
    """
    rows: list[str] = []
    for name, _ in norms:  # a group that several steps share stands below them
        before = [group for group in groups["group"] if group not in rows]
        rows += [*(before[: before.index(name)] if name in before else []), name]
    rows = list(dict.fromkeys([*rows, *groups["group"]]))
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.06)
    figure.add_bar(
        x=[norm for _, norm in norms],
        y=[name for name, _ in norms],
        orientation="h",
        marker={"color": palette.own, "line": {"width": 0}},
        text=[number(norm, digits=2) for _, norm in norms],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: norm %{x:.5g}<extra></extra>",
    )
    inner, attention = groups["feed_forward"], groups["attention"]
    parts = (
        ("attention", attention, palette.points),
        ("feed-forward", inner, f"{palette.points}73"),
        ("other", groups["weights"] - attention - inner, f"{palette.summary}8c"),
    )
    for name, weights, colour in parts:
        figure.add_bar(
            x=weights,
            y=groups["group"],
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{y}}, {name}: %{{x:,}} weights<extra></extra>",
            row=1,
            col=2,
        )
    figure.add_bar(  # of zero length: it holds the labels at the ends of the other bars
        x=np.zeros(len(groups)),
        y=groups["group"],
        orientation="h",
        text=[f"{share:.1%}" for share in groups["share"]],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
        row=1,
        col=2,
    )
    ticks = [f"{'' if row == rows[0] else '↓ '}{hover_label(row, 1)} " for row in rows]
    axis = {"categoryorder": "array", "categoryarray": rows[::-1], "tickvals": rows, "ticktext": ticks}
    longest = max((norm for _, norm in norms), default=1.0)
    figure.update_yaxes(fixedrange=True, range=[-0.5, len(rows) - 0.5], **axis)
    figure.update_xaxes(fixedrange=True)
    figure.update_xaxes(title="Norm of [CLS] after it", range=[0, 1.25 * longest], row=1, col=1)
    figure.update_xaxes(title="Weights<br>(attention first)", tickformat="~s", nticks=4, row=1, col=2)
    return figure.update_layout(
        barmode="stack",
        bargap=0.25,
        showlegend=False,
        hoverlabel={"align": "left"},
        margin={"l": 8, "r": 48, "t": 8, "b": 8},
    )


_FEW = 0.01
"""The share of the values that may lie beyond the end of the axis."""


def histogram(values: NDArray[np.int32], title: str, palette: Palette) -> go.Figure:
    """How many sentences have each value, int (n,); a few may lie beyond the end of the axis. title: of the axis."""
    end = int(np.quantile(values, 1 - _FEW)) + 1
    bars = go.Histogram(
        x=values,
        xbins={"start": -0.5, "end": int(values.max()) + 0.5, "size": max(1, round(end / 30))},
        marker={"color": palette.points, "line": {"width": 0}},
        hovertemplate="%{x}: %{y:,} sentences<extra></extra>",
    )
    figure = go.Figure(bars)
    arrange(figure, {"title": title, "range": [0, end]}, {"nticks": 4})
    return figure.update_layout(showlegend=False, bargap=0.08, margin={"l": 4, "r": 4, "t": 4, "b": 4})


SEARCH_HEIGHT = 520

LEAST_EXPOSURE = 0.02
"""What is less is drawn there: 0 has no place on a logarithmic axis."""

TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5)

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
    figure.add_hrect(*FAIR, fillcolor=palette.summary, opacity=0.12, line_width=0, layer="below", row=1, col=1)
    last = [next((value for value in row.exposure[::-1] if value is not None), None) for row in rows]
    labels = [
        (short_name(row.name, LONGEST_NAME), math.log10(max(value or 1.0, LEAST_EXPOSURE)), colour)
        for row, value, colour in zip(rows, last, colours, strict=False)
    ]
    label_beside(figure, labels, (low, high), _LABEL)
    return figure
