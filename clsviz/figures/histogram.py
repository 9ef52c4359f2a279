"""A small histogram."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.axes import arrange
from clsviz.figures.style import Palette

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
