"""Axes and legend, as several pictures have them."""

from typing import Any

import plotly.graph_objects as go

from clsviz.figures.style import label_step


def arrange(figure: go.Figure, x: dict[str, Any], y: dict[str, Any]) -> None:
    """Set the axes, and a legend above the plot: on a phone, labels at the ends of lines would not fit."""
    figure.update_layout(
        xaxis={"zeroline": False} | x,
        yaxis={"zeroline": False} | y,
        showlegend=True,
        legend={"orientation": "h", "entrywidth": 0, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        hovermode="closest",
        hoverlabel={"align": "left"},
        margin={"l": 8, "r": 8, "t": 32, "b": 8},  # the tools appear above the plot
        overwrite=True,  # there are none yet, and to look for them takes Plotly four times as long
    )


def layers_axis(last: int) -> dict[str, Any]:
    """Of lines over layers, from 0 to the last."""
    return {
        "title": "Layer (0: embeddings)",
        "range": [-0.4, last + 0.4],
        "tick0": 0,
        "dtick": label_step(last + 1),
        "tickangle": 0,
        "unifiedhovertitle": {"text": "layer %{x}"},
    }
