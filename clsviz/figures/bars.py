"""Bars: the shares of dimensions, and the weights of a model's groups of parameters."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.axes import arrange
from clsviz.figures.lines import Floats
from clsviz.figures.style import Palette


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


def weights_by_group(groups: pd.DataFrame, palette: Palette) -> go.Figure:
    """Weights per group of parameters, with attention and feed-forward told apart and the share at the end of each bar.

    groups: one row per group, with the columns group, weights, share, attention and feed_forward.
    """
    rest = groups["weights"] - groups["attention"] - groups["feed_forward"]
    parts = [
        ("Attention", groups["attention"], palette.points),
        ("Feed-forward", groups["feed_forward"], f"{palette.points}73"),
        ("Other", rest, f"{palette.summary}8c"),
    ]
    figure = go.Figure()
    for name, weights, colour in parts:
        figure.add_bar(
            x=weights,
            y=groups["group"],
            name=name,
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{y}}, {name.lower()}: %{{x:,}} weights<extra></extra>",
        )
    figure.add_bar(  # of zero length: it holds the labels at the ends of the other bars
        x=np.zeros(len(groups)),
        y=groups["group"],
        orientation="h",
        text=[f"{share:.1%}" for share in groups["share"]],
        textposition="outside",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )
    return figure.update_layout(
        barmode="stack",
        bargap=0.25,
        xaxis={"title": "Weights", "tickformat": "~s", "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True, "ticksuffix": " "},
        legend={
            "orientation": "h",
            "entrywidth": 0,
            "traceorder": "normal",
            "x": -0.15,  # reaches over the names of the bars: on a phone it would not fit in one line otherwise
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
        },
        margin={"l": 8, "r": 48, "t": 28, "b": 8},
    )
