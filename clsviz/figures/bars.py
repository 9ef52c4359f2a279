"""Exposure and recall of each way to search, by fifths of the texts' lengths."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from clsviz.figures import style
from clsviz.figures.style import Figure, Label, Trace
from clsviz.results.numbers import percent, times
from clsviz.results.result import Result

LEAST: Final = 0.02
"""A smaller exposure is drawn there: 0 has no place on a logarithmic axis."""

TICKS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)

EXPOSURE, RECALL = [0.4, 1.0], [0.0, 0.3]
"""Shares of the picture's height."""

ROOM: Final = 92
"""Pixels at the right that labels take."""


def search(result: Result) -> Figure:
    """The figure of a result of `results.search`: exposure with intervals, and recall below it.

    It draws its picture: spans, the shortest and longest length of each fifth; unit, of the
    lengths; fair, the ends of the band; lines, [{name, exposure, intervals, recall}], with None
    where undefined.
    """
    picture = result.picture
    unit, lines = picture["unit"], picture["lines"]
    values = [value for line in lines for value in line["exposure"] if value is not None]
    xs, ys = [-0.3, 4.3], [_log(min([0.5, *values])) - 0.1, _log(max([2.0, *values])) + 0.1]
    names = [f"{low:,}–{high:,} {unit}" for low, high in picture["spans"]]
    ticks = [f"{low:,}–{high:,}" for low, high in picture["spans"][:-1]]
    ticks.append(f"{picture['spans'][-1][0]:,}+")  # narrow enough for a phone
    low, high = ([_log(end)] * 2 for end in picture["fair"])
    one = {"color": style.SUMMARY, "width": 1, "dash": "dot"}
    data = [
        style.area("fair shares", xs, low, high, style.SUMMARY, 0.12),
        style.trace("1", xs, [0, 0], line=one),
    ]
    labels = []
    for line, colour in zip(lines, style.COLOURS, strict=False):
        data += _traces(line, colour, names)
        last = next((value for value in line["exposure"][::-1] if value is not None), 1.0)
        labels.append(Label(line["name"], colour, 4, _log(last)))
    shares = [share for share in TICKS if ys[0] <= math.log10(share) <= ys[1]]
    fifths: dict[str, Any] = {"fixedrange": True, "range": xs, "tickvals": list(range(5))}
    title = f"{unit.capitalize()} of the text, by fifths"
    return style.figure(
        data,
        xaxis=style.axis(**fifths, ticktext=[""] * 5),
        xaxis2=style.axis(title, **fifths, ticktext=ticks, anchor="y2"),
        yaxis=style.axis(
            "Exposure (times its share)",
            domain=EXPOSURE,
            range=ys,
            fixedrange=True,
            tickvals=[math.log10(share) for share in shares],
            ticktext=["≤ 0.02" if share == LEAST else f"{share:g}" for share in shares],
            showgrid=True,
        ),
        yaxis2=style.axis(
            "Recall", domain=RECALL, range=[0, 1.05], fixedrange=True, tickformat=".0%", nticks=4
        ),
        annotations=style.annotations(labels, xs, ys),
        dragmode=False,
        margin={"l": 8, "r": ROOM, "t": 8, "b": 8},
    )


def _log(exposure: float) -> float:
    return math.log10(max(exposure, LEAST))


def _traces(line: Mapping[str, Any], colour: str, fifths: Sequence[str]) -> list[Trace]:
    """Intervals as upright lines, exposures, and recalls, with labels for the pointer."""
    name, places = line["name"], list(range(5))
    x: list[int | None] = []
    y: list[float | None] = []
    notes = []
    rows = zip(places, fifths, line["exposure"], line["intervals"], strict=True)
    for place, fifth, share, interval in rows:
        words = "undefined" if share is None else f"{times(share)} its share"
        if interval:
            words += f" ({interval[0]:.2g} to {interval[1]:.2g})"
            x += [place, place, None]
            y += [*map(_log, interval), None]
        notes.append(f"{name}, {fifth}: {words}")
    heights = [None if share is None else _log(share) for share in line["exposure"]]
    recalls = [f"{name}: recall {percent(share or 0)}" for share in line["recall"]]
    look: Trace = {"mode": "lines+markers", "line": {"color": colour, "width": 2}}
    large, small = ({"color": colour, "size": size} for size in (7, 5))
    below: Trace = {"xaxis": "x2", "yaxis": "y2"}
    return [
        style.trace(name, x, y, line={"color": colour, "width": 1}),
        style.trace(name, places, heights, notes, **look, marker=large),
        style.trace(name, places, line["recall"], recalls, **look, marker=small, **below),
    ]
