"""Exposure and recall of each way to search, by fifths of the texts' lengths."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from clsviz.figures.style import COLOURS, SUMMARY, Label, annotations, axis, layout
from clsviz.results.numbers import percent, times
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

LEAST: Final = 0.02
"""A smaller exposure is drawn there: 0 has no place on a logarithmic axis."""

TICKS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)

EXPOSURE, RECALL = [0.4, 1.0], [0.0, 0.3]
"""Shares of the picture's height."""

ROOM: Final = 92
"""Pixels at the right that labels take."""

Trace = dict[str, Any]


def search(result: Result) -> "go.Figure":
    """The figure of a result of `results.search`: exposure with intervals, and recall below it.

    It draws its picture: spans, the shortest and longest length of each fifth; unit, of the
    lengths; fair, the ends of the band; lines, [{name, exposure, intervals, recall}], with None
    where undefined.
    """
    import plotly.graph_objects as go

    lines, fair = result.picture["lines"], result.picture["fair"]
    values = [value for line in lines for value in line["exposure"] if value is not None]
    lowest, highest = min([0.5, *values]), max([2.0, *values])
    ys = [_log(lowest) - 0.1, _log(highest) + 0.1]
    xs = [-0.3, 4.3]
    unit = result.picture["unit"]
    names = [f"{low:,}–{high:,}" for low, high in result.picture["spans"]]
    longest, _ = result.picture["spans"][-1]
    ticks = [*names[:-1], f"{longest:,}+"]  # narrow enough for a phone
    data: list[Trace] = []
    labels = []
    for line, colour in zip(lines, COLOURS, strict=False):
        data += [
            _intervals(line, colour),
            _exposure(line, colour, [f"{name} {unit}" for name in names]),
            _recall(line, colour),
        ]
        last = next((value for value in line["exposure"][::-1] if value is not None), 1.0)
        labels.append(Label(line["name"], colour, 4, _log(last)))
    shares = [share for share in TICKS if ys[0] <= math.log10(share) <= ys[1]]
    sides: dict[str, Any] = {"fixedrange": True, "range": xs, "tickvals": list(range(5))}
    shape = layout(
        xaxis=axis("", **sides, ticktext=[""] * 5),
        xaxis2=axis(
            f"{unit.capitalize()} of the text, by fifths", **sides, ticktext=ticks, anchor="y2"
        ),
        yaxis=axis(
            "Exposure (times its share)",
            domain=EXPOSURE,
            range=ys,
            fixedrange=True,
            tickvals=[math.log10(share) for share in shares],
            ticktext=[f"{share:g}" for share in shares],
            showgrid=True,
        ),
        yaxis2=axis(
            "Recall", domain=RECALL, range=[0, 1.05], fixedrange=True, tickformat=".0%", nticks=4
        ),
        shapes=_fair(fair, xs),
        annotations=annotations(labels, xs, ys),
        dragmode=False,
        margin={"l": 8, "r": ROOM, "t": 8, "b": 8},
    )
    return go.Figure(data, shape)


def _log(exposure: float) -> float:
    return math.log10(max(exposure, LEAST))


def _exposure(line: Mapping[str, Any], colour: str, names: Sequence[str]) -> Trace:
    """Points and a line; the label under the pointer has the number and its interval."""
    notes = []
    for name, value, interval in zip(names, line["exposure"], line["intervals"], strict=True):
        share = "undefined" if value is None else f"{times(value)} its share"
        ends = f" ({interval[0]:.2g} to {interval[1]:.2g})" if interval else ""
        notes.append(f"{line['name']}, {name}: {share}{ends}")
    heights = [None if value is None else _log(value) for value in line["exposure"]]
    return _line(line["name"], heights, notes, colour, size=7)


def _recall(line: Mapping[str, Any], colour: str) -> Trace:
    notes = [f"{line['name']}: recall {percent(share or 0)}" for share in line["recall"]]
    recall = _line(line["name"], line["recall"], notes, colour, size=5)
    return recall | {"xaxis": "x2", "yaxis": "y2"}


def _line(
    name: str, heights: Sequence[float | None], notes: list[str], colour: str, size: int
) -> Trace:
    """A point for each fifth."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(range(5)),
        "y": list(heights),
        "text": notes,
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": size},
    }


def _intervals(line: Mapping[str, Any], colour: str) -> Trace:
    """An upright line for each interval."""
    x: list[int | None] = []
    y: list[float | None] = []
    for place, interval in enumerate(line["intervals"]):
        if interval:
            x += [place, place, None]
            y += [_log(interval[0]), _log(interval[1]), None]
    look = {"color": colour, "width": 1}
    return {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "x": x, "y": y, "line": look}


def _fair(fair: Sequence[float], xs: Sequence[float]) -> list[dict[str, Any]]:
    """The band of fair shares, and a line at 1."""
    low, high = map(_log, fair)
    across = {"x0": xs[0], "x1": xs[1], "xref": "x", "yref": "y"}
    band = {"type": "rect", "y0": low, "y1": high, "fillcolor": SUMMARY, "opacity": 0.12}
    one = {"type": "line", "y0": 0, "y1": 0, "line": {"color": SUMMARY, "width": 1, "dash": "dot"}}
    return [across | band | {"line": {"width": 0}, "layer": "below"}, across | one]
