"""The norm of [CLS] step by step: word by word, and part by part of the model."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures.style import (
    OWN,
    POINTS,
    STAR,
    SUMMARY,
    area,
    axis,
    corner,
    ends,
    escape,
    hover_label,
    layout,
    note,
    shorten,
)
from clsviz.results.numbers import number
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEW_WORDS: Final = 14
"""Words that have room above their points."""

LONGEST_WORD: Final = 14

ROOM: Final = 1.5
"""Length of an axis, of its longest bar: numbers stand at the ends of bars."""

Trace = dict[str, Any]


def growth(result: Result) -> "go.Figure":
    """The figure of a result of `results.typed`: a point for each beginning of the sentence.

    It draws the table, and of its picture labels {x, y}, and bands {lengths, low, high}.
    """
    import plotly.graph_objects as go

    table, titles = result.table, result.picture.get("labels", {})
    x, y = table["length"].to_numpy(np.int32), table["norm"].to_numpy(np.float32)
    xs = [0.0, max(1.1 * float(x.max()), float(x.max()) + 2)]
    band = _band(result.picture.get("bands"), xs)
    ys = ends(y, *(end for area in band for end in area["y"]), room=0.1)
    texts = [hover_label(text) for text in table["text"]]
    label = "%{customdata}<br><b>norm %{y:.5~g}</b><extra></extra>"
    hover = {"customdata": texts, "hovertemplate": label}
    line = {"line": {"color": OWN, "width": 2}, "marker": {"color": OWN, "size": 6}}
    points = {"type": "scatter", "name": "words", "mode": "lines+markers", "x": x, "y": y}
    end = {"type": "scatter", "mode": "markers", "x": x[-1:], "y": y[-1:], "marker": STAR}
    is_low = bool(2 * y[-1] < sum(ys))
    name = corner("5–95% of the corpus shaded", SUMMARY, is_left=False, is_top=is_low)
    shape = layout(
        xaxis=axis(titles.get("x", "Length"), xs),
        yaxis=axis(titles.get("y", "Norm"), ys, showgrid=True),
        annotations=[*([name] if band else []), *_words(result)],
        dragmode="zoom",
    )
    return go.Figure([*band, {**points, **line, **hover}, end | {"hoverinfo": "skip"}], shape)


def _words(result: Result) -> list[dict[str, Any]]:
    """The last word of each beginning above its point, where there is room."""
    rows = result.table
    if len(rows) > FEW_WORDS:
        return []
    words = [(text.split() or [""])[-1] for text in rows["text"]]
    return [
        note(escape(shorten(word, LONGEST_WORD)), x=float(x), y=float(y), yshift=16)
        for word, x, y in zip(words, rows["length"], rows["norm"], strict=True)
    ]


def _band(bands: Mapping[str, Any] | None, xs: list[float]) -> list[Trace]:
    """The range of the corpus, as far as it is between the ends of the axis."""
    if bands is None:
        return []
    lengths = np.asarray(bands["lengths"], np.float64)
    x = np.unique(np.clip(lengths, xs[0], xs[1]))
    x = x[(x >= lengths[0]) & (x <= lengths[-1])]
    if len(x) < 2:
        return []
    low, high = (np.interp(x, lengths, np.asarray(bands[end])) for end in ("low", "high"))
    return [area("corpus", x, low, high, SUMMARY, 0.15)]


def way(result: Result) -> "go.Figure":
    """The figure of a result of `results.anatomy`: weights and the norm after each part.

    It draws steps of its picture, [{name, weights, norm}], from top to bottom.
    """
    import plotly.graph_objects as go

    steps = result.picture["steps"]
    rows = {"tickvals": _rows(steps), "ticktext": [step["name"] for step in steps]}
    span = [0.5 - len(steps), 0.5]
    shape = layout(
        xaxis=_sizes("Weights", steps, "weights", domain=[0.05, 0.5]),
        xaxis2=_sizes("Norm of [CLS]", steps, "norm", domain=[0.54, 1.0], anchor="y2"),
        yaxis=axis("", span, fixedrange=True, **rows),
        yaxis2=axis("", span, fixedrange=True, visible=False),
        annotations=_numbers(steps, "weights", "", _size) + _numbers(steps, "norm", "2", number),
        dragmode=False,
        bargap=0.35,
    )
    bars = [_bars(steps, "weights", "", POINTS), _bars(steps, "norm", "2", OWN)]
    return go.Figure(bars, shape)


def _rows(steps: Sequence[Mapping[str, Any]]) -> list[int]:
    """Places of the steps, from top to bottom."""
    return [-row for row in range(len(steps))]


def _sizes(
    title: str, steps: Sequence[Mapping[str, Any]], key: str, **changes: Any
) -> dict[str, Any]:
    """An axis of sizes, with room for a number at the longest bar."""
    longest = max(step[key] or 0 for step in steps)
    quiet = {"tickvals": [], "ticktext": [], "fixedrange": True, "side": "top"}
    return axis(title, [0, ROOM * longest], **quiet, **changes)


def _bars(steps: Sequence[Mapping[str, Any]], key: str, axes: str, colour: str) -> Trace:
    """A bar for each step, in a panel; axes: the number of its axes."""
    return {
        "type": "bar",
        "name": key,
        "orientation": "h",
        "x": [step[key] or 0 for step in steps],
        "y": _rows(steps),
        "xaxis": f"x{axes}",
        "yaxis": f"y{axes}",
        "customdata": [step["name"] for step in steps],
        "hovertemplate": f"%{{customdata}}: {key} %{{x:,.7~g}}<extra></extra>",
        "marker": {"color": colour},
    }


def _numbers(
    steps: Sequence[Mapping[str, Any]], key: str, axes: str, write: Callable[[float], str]
) -> list[dict[str, Any]]:
    """The number of each step that has one, at the end of its bar."""
    look: dict[str, Any] = {"xref": f"x{axes}", "yref": f"y{axes}", "xanchor": "left", "xshift": 3}
    return [
        note(write(step[key]), x=step[key], y=row, **look)
        for row, step in zip(_rows(steps), steps, strict=True)
        if step[key] is not None
    ]


def _size(n: float) -> str:
    """A number of weights, short."""
    return f"{n / 1e6:.1f} M" if n >= 1e6 else f"{n / 1e3:.0f} k" if n >= 1e4 else f"{n:,.0f}"
