"""What the colours of points stand for, in a picture that is taken along."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from clsviz.figures.colouring import SCALE
from clsviz.figures.style import LONGEST_NAME, short_name

ROOM = 56
"""Pixels that it takes below the picture."""

_BELOW = {"y": -0.2, "yanchor": "top", "x": 0, "xanchor": "left"}
"""Where it is: below the title of the axis."""

_NOWHERE = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "hoverinfo": "skip"}


@dataclass(frozen=True)
class Key:
    """What the colours stand for.

    title: what is coloured by. names: each with how many points have it, and its colour. ends: of the scale, if there
    is one; the names are then of points that are not on it.
    """

    title: str
    names: Sequence[tuple[str, int, str]]
    ends: tuple[float, float] | None = None


def traces(key: Key) -> list[dict[str, Any]]:
    """Traces that draw nothing but the key."""
    look = {"size": 9, "opacity": 1}
    named: list[dict[str, Any]] = [
        {
            **_NOWHERE,
            "name": f"{short_name(name)} ({n:,})",
            "showlegend": True,
            "marker": {**look, "color": colour},
        }
        for name, n, colour in key.names
    ]
    return named if key.ends is None else [*named, _scale(key.title, key.ends)]


def _scale(title: str, ends: tuple[float, float]) -> dict[str, Any]:
    low, high = ends
    bar = {
        **_BELOW,
        "orientation": "h",
        "len": 0.45,
        "thickness": 9,
        "title": {"text": short_name(title, 2 * LONGEST_NAME), "side": "top"},
        "outlinewidth": 0,
        "nticks": 5,
    }
    colours = {
        "color": [low],
        "cmin": low,
        "cmax": high if high > low else low + 1,
        "colorscale": [[at / (len(SCALE) - 1), colour] for at, colour in enumerate(SCALE)],
        "showscale": True,
        "colorbar": bar,
    }
    return {**_NOWHERE, "showlegend": False, "marker": colours}


def layout(key: Key) -> dict[str, Any]:
    """Where the key stands."""
    place = _BELOW if key.ends is None else {**_BELOW, "x": 1, "xanchor": "right"}
    title = {} if key.ends is not None else {"text": short_name(key.title, 2 * LONGEST_NAME), "side": "top"}
    of_key = {**place, "orientation": "h", "title": title, "itemsizing": "constant", "bgcolor": "rgba(0,0,0,0)"}
    return {"showlegend": bool(key.names), "legend": of_key}


def add(figure: go.Figure, key: Key) -> None:
    """Draw it below a figure, of which nothing else is named there."""
    figure.update_traces(showlegend=False)
    figure.add_traces(traces(key))
    figure.update_layout(layout(key))
    figure.update_layout(margin={"b": figure.layout.margin.b + ROOM})
