"""R² and slope of the line by length cutoff."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from clsviz.figures.style import Palette

_BAND = "2e"
"""Opacity, in hexadecimal."""


def cutoff_lines(table: pd.DataFrame, current: int, palette: Palette, *, unit: str = "token") -> go.Figure:
    """R² with its interval above, the slope below, by cutoff; the current one is marked.

    table: length_cutoff, n, r_squared, lower, upper, slope, as `statistics.by_cutoff` makes it. unit: of the slope.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    cutoffs = table["length_cutoff"].to_numpy()
    ends = [*zip(cutoffs, table["upper"], strict=True), *zip(cutoffs[::-1], table["lower"][::-1], strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[x for x, _ in ends],
            y=[y for _, y in ends],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=palette.line + _BAND,
            hoverinfo="skip",
        ),
        row=1,
        col=1,
    )
    hover = "under %{x} tokens: %{customdata[0]:,} sentences<br>"
    for row, (column, text) in enumerate(
        [
            ("r_squared", "R² %{y:.3f} (%{customdata[1]:.3f} to %{customdata[2]:.3f})"),
            ("slope", f"slope %{{y:+.4f}} per {unit}"),
        ],
        1,
    ):
        figure.add_trace(
            go.Scatter(
                x=cutoffs,
                y=table[column],
                customdata=table[["n", "lower", "upper"]].to_numpy(float),
                mode="lines+markers",
                line={"color": palette.line, "width": 2},
                marker={"size": 6},
                hovertemplate=f"{hover}{text}<extra></extra>",
            ),
            row=row,
            col=1,
        )
    last = min(current, int(cutoffs[-1]))  # beyond it no sentence is added
    figure.add_vline(x=last, line={"color": palette.summary, "width": 1.5, "dash": "dot"})
    figure.add_hline(y=0, line={"color": palette.summary, "width": 1}, opacity=0.4)
    figure.add_annotation(
        text=f"under {current}",
        x=last,
        xref="x",
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"color": palette.summary, "size": 13},
    )
    figure.update_yaxes(title="R²", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title=f"Slope per {unit}", zeroline=False, row=2, col=1)
    figure.update_xaxes(title="Length cutoff (tokens)", row=2, col=1)
    return figure.update_layout(
        showlegend=False, hovermode="closest", hoverlabel={"align": "left"}, margin={"l": 8, "r": 8, "t": 32, "b": 8}
    )
