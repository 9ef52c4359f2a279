"""Histograms beside the cloud: of lengths above it, of norms to its right."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import Palette, Points

CLOUD_WIDTH, CLOUD_HEIGHT = 0.93, 0.88
"""Shares of the picture that the cloud takes."""

_GAP = 0.012

_MOST_BARS = 60


def add_marginals(figure: go.Figure, points: Points, palette: Palette, unit: str, norm_range: Sequence[float]) -> None:
    """Add both to a figure of the points, whose axes make room.

    norm_range: what the axis of norms shows at least.
    """
    longest = int(points.lengths.max())
    step = max(1, -(-longest // _MOST_BARS))
    edges = np.arange(0, longest + step + 1, step) - 0.5  # lengths are whole numbers
    low, high = min(norm_range[0], float(points.norms.min())), max(norm_range[1], float(points.norms.max()))
    counts, norm_edges = np.histogram(points.norms, bins=_MOST_BARS, range=(low, high))
    of_lengths, _ = np.histogram(points.lengths, bins=edges)
    lengths = "%{x:.0f}" if step == 1 else "about %{x:.0f}"
    figure.add_trace(
        go.Bar(
            x=_middles(edges),
            y=of_lengths,
            width=step,
            yaxis="y2",
            hovertemplate=f"{lengths} {unit}: %{{y:,}} sentences<extra></extra>",
            **_look(palette),
        )
    )
    figure.add_trace(
        go.Bar(
            x=counts,
            y=_middles(norm_edges),
            width=np.diff(norm_edges),
            xaxis="x2",
            orientation="h",
            hovertemplate="norm about %{y:.3f}: %{x:,} sentences<extra></extra>",
            **_look(palette),
        )
    )
    quiet = {"showgrid": False, "showticklabels": False, "zeroline": False, "fixedrange": True, "title": None}
    figure.update_layout(
        bargap=0,
        xaxis={"domain": [0, CLOUD_WIDTH]},
        yaxis={"domain": [0, CLOUD_HEIGHT]},
        xaxis2={"domain": [CLOUD_WIDTH + _GAP, 1], "anchor": "y", **quiet},
        yaxis2={"domain": [CLOUD_HEIGHT + _GAP, 1], "anchor": "x", **quiet},
    )


def _middles(edges: NDArray[np.floating]) -> NDArray[np.floating]:
    return (edges[:-1] + edges[1:]) / 2


def _look(palette: Palette) -> dict[str, object]:
    faint = {"marker": {"opacity": 0.45}}
    return {"marker": {"color": palette.points, "opacity": 0.45, "line": {"width": 0}}, "unselected": faint}
