"""Colours of points by a value of each, and what they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import LONGEST_NAME, short_name

NAMED = ("#e69f00", "#3f9fd8", "#009e73", "#cc79a7", "#d55e00", "#9a6fe0", "#b3a100")
"""Apart for every kind of colour blindness (after Okabe and Ito 2008), and seen on light and dark."""

OTHERS = "#8b929c"

SCALE = ("#3b82c4", "#a0a0a0", "#d98e04")
"""From the lowest to the highest number; what has none is of the colour of the others."""

_NONE = -0.1
"""Where on the scale from 0 to 1 those are that have no number."""

_ENDS = 0.02, 0.98
"""The quantiles between which colours differ: a few extreme numbers would take all the colours."""


@dataclass(frozen=True, eq=False)
class Colours:
    """A colour for each point: values (n,), from low to high, and the scale that they are on."""

    values: NDArray[Any]
    scale: Sequence[tuple[float, str]]
    low: float
    high: float

    def of(self, index: NDArray[np.intp]) -> "Colours":
        """Those of some of the points, intp (n,)."""
        return replace(self, values=self.values[index])


def by_code(codes: NDArray[np.integer[Any]]) -> Colours:
    """Colours of `NAMED` by their places, and for whatever is beyond them that of the others."""
    colours = (*NAMED, OTHERS)
    n = len(colours)
    scale = [(end / n, colour) for place, colour in enumerate(colours) for end in (place, place + 1)]
    return Colours(np.minimum(codes, n - 1).astype(np.float32), scale, -0.5, n - 0.5)


def by_number(numbers: NDArray[np.floating[Any]]) -> Colours:
    """Colours of `SCALE`; NaN has that of the others."""
    low, high = ends_of(numbers)
    scaled = np.clip((numbers - low) / ((high - low) or 1), 0, 1)
    first = -_NONE / (1 - _NONE)
    steps = np.linspace(first, 1, len(SCALE))
    scale = [(0.0, OTHERS), (first / 2, OTHERS), (first / 2, SCALE[0]), *zip(steps.tolist(), SCALE, strict=True)]
    return Colours(np.where(np.isnan(scaled), _NONE, scaled).astype(np.float32), scale, _NONE, 1.0)


def ends_of(numbers: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Between which numbers colours differ; both 0 if there are none."""
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return 0.0, 0.0
    low, high = np.quantile(known, _ENDS).tolist()
    return low, high


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
    if key.ends is None:
        return named
    low, high = key.ends
    bar = {
        **_BELOW,
        "orientation": "h",
        "len": 0.45,
        "thickness": 9,
        "title": {"text": short_name(key.title, 2 * LONGEST_NAME), "side": "top"},
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
    return [*named, {**_NOWHERE, "showlegend": False, "marker": colours}]


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
