"""Histograms beside the cloud: of lengths above it, of norms to its right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.density import Density
from clsviz.figures.style import Palette, Points

CLOUD_WIDTH, CLOUD_HEIGHT = 0.93, 0.88
"""Shares of the picture that the cloud takes."""

_GAP = 0.012

_MOST_BARS = 60

_BARS_OF_DENSITY = 64
"""Of norms: its bins can be divided among them."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """How many sentences have which lengths and norms: counts, int64 (n,), between edges, float64 (n + 1,)."""

    of_lengths: NDArray[np.int64]
    length_edges: NDArray[np.float64]
    of_norms: NDArray[np.int64]
    norm_edges: NDArray[np.float64]


def marginals(points: Points, norm_range: Sequence[float]) -> Marginals:
    """Those of points; norm_range: what the axis of norms shows at least."""
    edges = _length_edges(int(points.lengths.max()))
    low, high = min(norm_range[0], float(points.norms.min())), max(norm_range[1], float(points.norms.max()))
    counts, norm_edges = np.histogram(points.norms, bins=_MOST_BARS, range=(low, high))
    of_lengths, _ = np.histogram(points.lengths, bins=edges)
    return Marginals(of_lengths, edges, counts, norm_edges)


def marginals_of(density: Density) -> Marginals:
    """Those of a density; columns that lie across an edge between two bars count in that of their shortest length."""
    edges = _length_edges(int(density.lengths[-1]) + density.step - 1)
    of_lengths, _ = np.histogram(density.lengths, bins=edges, weights=density.counts.sum(axis=1))
    norm_edges = np.linspace(density.edges[0], density.edges[-1], _BARS_OF_DENSITY + 1)
    of_norms, _ = np.histogram(_middles(density.edges), bins=norm_edges, weights=density.counts.sum(axis=0))
    return Marginals(of_lengths.astype(np.int64), edges, of_norms.astype(np.int64), norm_edges)


def _length_edges(longest: int) -> NDArray[np.float64]:
    step = max(1, -(-longest // _MOST_BARS))
    whole: NDArray[np.float64] = np.arange(0, longest + step + 1, step, dtype=np.float64)
    return whole - 0.5


def add_marginals(figure: go.Figure, counted: Marginals, palette: Palette, unit: str) -> None:
    """Add both to a figure, whose axes make room."""
    step = round(counted.length_edges[1] - counted.length_edges[0])
    lengths = "%{x:.0f}" if step == 1 else "about %{x:.0f}"
    figure.add_trace(
        go.Bar(
            x=_middles(counted.length_edges),
            y=counted.of_lengths,
            width=step,
            yaxis="y2",
            hovertemplate=f"{lengths} {unit}: %{{y:,}} sentences<extra></extra>",
            **_look(palette),
        )
    )
    figure.add_trace(
        go.Bar(
            x=counted.of_norms,
            y=_middles(counted.norm_edges),
            width=np.diff(counted.norm_edges),
            xaxis="x2",
            orientation="h",
            hovertemplate="norm about %{y:.4g}: %{x:,} sentences<extra></extra>",
            **_look(palette),
        )
    )
    quiet = {"showgrid": False, "showticklabels": False, "zeroline": False, "fixedrange": True, "title": {}}
    figure.layout.xaxis.domain, figure.layout.yaxis.domain = [0, CLOUD_WIDTH], [0, CLOUD_HEIGHT]
    figure.update_layout(
        bargap=0,
        xaxis2={"domain": [CLOUD_WIDTH + _GAP, 1], "anchor": "y", **quiet},
        yaxis2={"domain": [CLOUD_HEIGHT + _GAP, 1], "anchor": "x", **quiet},
        overwrite=True,  # as in `arrange`
    )


def _middles(edges: NDArray[np.floating]) -> NDArray[np.floating]:
    return (edges[:-1] + edges[1:]) / 2


def _look(palette: Palette) -> dict[str, object]:
    faint = {"marker": {"opacity": 0.45}}
    return {"marker": {"color": palette.points, "opacity": 0.45, "line": {"width": 0}}, "unselected": faint}
