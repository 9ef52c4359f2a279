"""R² and slope of the line by length cutoff."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from clsviz.figures.style import Palette

_BAND = "2e"
"""Opacity, in hexadecimal."""


def cutoff_lines(
    table: pd.DataFrame, current: int, palette: Palette, *, unit: str = "token", cutoff_unit: str = "tokens"
) -> go.Figure:
    """R² with its interval above, the slope below, by cutoff; the current one is marked.

    table: length_cutoff, n, r_squared, lower, upper, slope, as `statistics.by_cutoff` makes it. unit: of the slope.
    cutoff_unit: what the cutoff is in.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    figure.add_trace(_interval(table, palette), row=1, col=1)
    r_squared = "R² %{y:.3f} (%{customdata[1]:.3f} to %{customdata[2]:.3f})"
    figure.add_trace(_line(table, "r_squared", r_squared, palette, cutoff_unit), row=1, col=1)
    figure.add_trace(_line(table, "slope", f"slope %{{y:+.4f}} per {unit}", palette, cutoff_unit), row=2, col=1)
    figure.add_hline(y=0, line={"color": palette.summary, "width": 1}, opacity=0.4)
    _mark(figure, current, int(table["length_cutoff"].iloc[-1]), palette)
    figure.update_yaxes(title="R²", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title=f"Slope per {unit}", zeroline=False, row=2, col=1)
    figure.update_xaxes(title=f"Length cutoff ({cutoff_unit})", row=2, col=1)
    return figure.update_layout(
        showlegend=False, hovermode="closest", hoverlabel={"align": "left"}, margin={"l": 8, "r": 8, "t": 32, "b": 8}
    )


def _interval(table: pd.DataFrame, palette: Palette) -> go.Scatter:
    """The 95% interval of R², as an area."""
    there_and_back = pd.concat([table, table[::-1]])
    return go.Scatter(
        x=there_and_back["length_cutoff"],
        y=[*table["upper"], *table["lower"][::-1]],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=palette.line + _BAND,
        hoverinfo="skip",
    )


def _line(table: pd.DataFrame, column: str, said: str, palette: Palette, cutoff_unit: str) -> go.Scatter:
    """One column by cutoff; said: what pointing at it says of the value; n and the interval are custom data."""
    return go.Scatter(
        x=table["length_cutoff"],
        y=table[column],
        customdata=table[["n", "lower", "upper"]].to_numpy(float),
        mode="lines+markers",
        line={"color": palette.line, "width": 2},
        marker={"size": 6},
        hovertemplate=f"under %{{x}} {cutoff_unit}: %{{customdata[0]:,}} sentences<br>{said}<extra></extra>",
    )


def _mark(figure: go.Figure, current: int, last: int, palette: Palette) -> None:
    """Mark the current cutoff, at the last one of the table if it is beyond: there it adds no sentence."""
    at = min(current, last)
    figure.add_vline(x=at, line={"color": palette.summary, "width": 1.5, "dash": "dot"})
    figure.add_annotation(
        text=f"under {current}",
        x=at,
        xref="x",
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"color": palette.summary, "size": 13},
    )
