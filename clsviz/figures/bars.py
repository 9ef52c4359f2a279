"""Bars: the shares of dimensions."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.lines import Floats, arrange
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
    x = {"title": "Dimension, by its share", "type": "category", "tickangle": -90, "dtick": 1, "tickfont": {"size": 10}}
    arrange(figure, x, {"title": "Share of the squared norm", "tickformat": "~%", "rangemode": "tozero"})
    return figure.update_layout(showlegend=False, bargap=0.25)
