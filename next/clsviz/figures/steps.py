"""The norm of [CLS] step by step: word by word, and part by part of the model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures.style import (
    OWN,
    POINTS,
    SUMMARY,
    TEXT,
    Label,
    annotations,
    axis,
    ends,
    hover_label,
    layout,
    shorten,
)
from clsviz.results.numbers import number
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEW_WORDS: Final = 14
"""Words that have room under their points."""

WEIGHTS: Final = [0.0, 0.48]
NORMS: Final = [0.52, 1.0]
"""Shares of the picture for the bars of the weights, and for those of the norms."""

ROOM: Final = 1.35
"""Length of an axis, for a bar with its number."""

Trace = dict[str, Any]


def growth(result: Result) -> "go.Figure":
    """The figure of a result of `results.typed`: a point for each beginning of the sentence.

    It draws the table, and of its picture labels {x, y}, and bands {lengths, low, high}.
    """
    import plotly.graph_objects as go

    table, picture = result.table, result.picture
    x, y = table["length"].to_numpy(np.int32), table["norm"].to_numpy(np.float32)
    xs = ends(x, room=0.05)
    data, labels, heights = [], [], []
    if bands := picture.get("bands"):
        lengths = np.asarray(bands["lengths"], np.float32)
        is_near = (lengths >= xs[0] - np.ptp(x)) & (lengths <= xs[1] + np.ptp(x))
        lengths, low, high = (
            np.asarray(values, np.float32)[is_near]
            for values in (lengths, bands["low"], bands["high"])
        )
        if len(lengths):
            heights = [*low, *high]
            area = {"x": np.concatenate([lengths, lengths[::-1]])}
            area["y"] = np.concatenate([high, low[::-1]])
            look = {"fill": "toself", "fillcolor": SUMMARY, "opacity": 0.15, "line": {"width": 0}}
            quiet = {"type": "scatter", "name": "corpus", "mode": "lines", "hoverinfo": "skip"}
            data.append({**quiet, **area, **look})
            inside = float(np.clip(lengths[-1], xs[0], xs[1]))
            name = "5–95% of the corpus"
            labels.append(Label(name, SUMMARY, inside, float(low[-1]), is_right=True))
    words = [text.split()[-1] if text.split() else "" for text in table["text"]]
    has_room = len(words) <= FEW_WORDS
    data.append(
        {
            "type": "scatter",
            "name": "words",
            "mode": "lines+markers+text" if has_room else "lines+markers",
            "x": x,
            "y": y,
            "text": [hover_label(shorten(word, 14)) for word in words],
            "textposition": "top center",
            "textfont": {"color": TEXT},
            "cliponaxis": False,
            "customdata": [hover_label(text) for text in table["text"]],
            "hovertemplate": "%{customdata}<br><b>norm %{y:.5~g}</b><extra></extra>",
            "line": {"color": OWN, "width": 2},
            "marker": {"color": OWN, "size": [6] * (len(x) - 1) + [11]},
        }
    )
    ys = ends(y, *map(float, heights), room=0.1)
    titles = picture.get("labels", {})
    shape = layout(
        xaxis=axis(titles.get("x", "Length"), xs),
        yaxis=axis(titles.get("y", "Norm"), ys, showgrid=True),
        annotations=annotations(labels, xs, ys),
        dragmode="zoom",
    )
    return go.Figure(data, shape)


def way(result: Result) -> "go.Figure":
    """The figure of a result of `results.anatomy`: weights and the norm after each part.

    It draws steps of its picture, [{name, weights, norm}], from top to bottom.
    """
    import plotly.graph_objects as go

    steps = result.picture["steps"]
    weights = [step["weights"] for step in steps]
    norms = [step["norm"] for step in steps]
    names = [step["name"] for step in steps]
    data = [
        _bars("weights", names, weights, _size) | {"marker": {"color": POINTS}},
        _bars("norm", names, norms, number) | {"marker": {"color": OWN}, "xaxis": "x2"},
    ]
    quiet = {"showticklabels": False, "fixedrange": True, "side": "top"}
    longest, highest = (ROOM * max(value or 0 for value in values) for values in (weights, norms))
    shape = layout(
        xaxis=axis("Weights", [0, longest], domain=WEIGHTS, **quiet),
        xaxis2=axis("Norm of [CLS]", [0, highest], domain=NORMS, **quiet),
        yaxis=axis(type="category", autorange="reversed", fixedrange=True),
        dragmode=False,
        bargap=0.35,
    )
    return go.Figure(data, shape)


def _bars(
    what: str, names: list[str], values: list[float | None], write: Callable[[float], str]
) -> Trace:
    """A bar for each name, with its value; where there is none, nothing."""
    return {
        "type": "bar",
        "name": what,
        "orientation": "h",
        "y": names,
        "x": [value or 0 for value in values],
        "text": ["" if value is None else write(value) for value in values],
        "textposition": "outside",
        "textfont": {"color": TEXT},
        "cliponaxis": False,
        "hovertemplate": f"%{{y}}: {what} %{{x:,.7~g}}<extra></extra>",
    }


def _size(n: float) -> str:
    """A number of weights, short."""
    return f"{n / 1e6:.1f} M" if n >= 1e6 else f"{n / 1e3:.0f} k" if n >= 1e4 else f"{n:,.0f}"
