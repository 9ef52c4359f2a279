"""Vectors on two principal components, coloured by length."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import Labels, Palette, stand_out

_COLOURS = "Cividis"
"""Perceptually even, and the same to nearly all who see few colours (Nuñez, Anderton and Renslow 2018)."""

_LONGEST = 0.98
"""The share of sentences up to whose length colours differ: a few long ones would take all the colours."""


def projection(
    coordinates: NDArray[np.floating],
    lengths: NDArray[np.int32],
    labels: Labels,
    palette: Palette,
    *,
    shares: tuple[float, float],
    unit: str = "tokens",
    selected: NDArray[np.intp] | None = None,
) -> go.Figure:
    """A point for each vector; coordinates (n, 2), lengths (n,), labels (n,) from `labels_of`.

    shares: of the variance, which the two axes hold. selected: which points are, intp (n,).
    """
    outline = {"width": 0.5, "color": f"{palette.summary}60"}  # the ends of the scale are near those of the themes
    figure = go.Figure(
        go.Scattergl(
            x=coordinates[:, 0].astype(np.float32),
            y=coordinates[:, 1].astype(np.float32),
            customdata=lengths,
            text=labels,
            mode="markers",
            marker={
                "size": 6,
                "color": lengths,
                "opacity": 0.8,
                "line": outline,
                **_scale(lengths, unit),
            },
            hovertemplate=f"%{{text}}<br>%{{customdata}} {unit}<extra></extra>",
        )
    )
    stand_out(figure.data[0], selected)
    names = [f"Principal component {at} ({_percent(share)} of variance)" for at, share in enumerate(shares, 1)]
    figure.update_layout(
        xaxis={"title": names[0], "zeroline": False},
        yaxis={"title": names[1], "zeroline": False},
        showlegend=False,
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin={"l": 8, "r": 8, "t": 32, "b": 8},
    )
    return figure


def _scale(lengths: NDArray[np.int32], unit: str) -> dict[str, Any]:
    """The colours that lengths have, and the bar that says so."""
    longest = int(lengths.max(initial=1))
    first, last = int(lengths.min(initial=longest)), longest
    if len(lengths):
        last = max(first + 1, int(np.quantile(lengths, _LONGEST)))
    bar = {
        "title": {"text": f"Length<br>({unit})", "side": "top"},
        "thickness": 12,
        "len": 0.9,
        "outlinewidth": 0,
        "tickvals": (ticks := np.unique(np.linspace(first, last, 4).round().astype(int)).tolist()),
        "ticktext": [*map(str, ticks[:-1]), f"{ticks[-1]}+" if longest > last else str(ticks[-1])],
    }
    return {"colorscale": _COLOURS, "cmin": first, "cmax": last, "colorbar": bar}


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
