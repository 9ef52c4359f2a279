"""Exposure and recall of each way to search, by fifths of the texts' lengths."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.numbers import percent, rounded, times
from clsviz.results.result import Result

LEAST: Final = 0.02
"""A smaller exposure is drawn there: 0 has no place on a logarithmic axis."""

TICKS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)

EXPOSURE, RECALL = [0.4, 1.0], [0.0, 0.3]
"""Shares of the picture's height."""


def search(result: Result) -> Figure:
    """The figure of a result of `results.search`: exposure with intervals, and recall below it.

    It draws its picture: spans, the shortest and longest length of each fifth; unit, of the
    lengths; fair, the ends of the band; lines, [{name, exposure, intervals, recall}], with None
    where undefined.
    """
    unit, spans = result.picture["unit"], result.picture["spans"]
    names = [f"{low:,}–{high:,}" for low, high in spans]
    xs, one = [-0.3, 4.3], {"color": style.SUMMARY, "width": 1, "dash": "dot"}
    low, high = ([end, end] for end in _heights(result.picture["fair"]))
    data = [
        style.area("fair shares", xs, low, high, style.SUMMARY, 0.12),
        style.trace("1", xs, [0, 0], line=one),
    ]
    labels, ends = [], [*_heights([0.5, 2])]
    for line in result.picture["lines"]:
        colour = style.colour_of(line["name"])
        intervals, exposures, recalls = _traces(line, colour, [f"{name} {unit}" for name in names])
        data += [intervals, exposures, recalls]
        ends += [*intervals["y"], *exposures["y"]]
        known = exposures["y"][np.isfinite(exposures["y"])]
        labels.append(style.label(line["name"], colour, 4, known[-1] if len(known) else 0.0))
    ys = [np.nanmin(ends) - 0.1, np.nanmax(ends) + 0.1]
    ticks = [share for share in TICKS if ys[0] <= np.log10(share) <= ys[1]]
    quintiles: Trace = {"fixedrange": True, "range": xs, "tickvals": list(range(5))}
    texts = [*names[:-1], f"{spans[-1][0]:,}+"]  # narrow enough for a phone
    exposure: Trace = {
        "domain": EXPOSURE,
        "range": ys,
        "fixedrange": True,
        "tickvals": np.log10(ticks).tolist(),
        "ticktext": [("≤ " * (share == LEAST)) + f"{share:g}" for share in ticks],
        "showgrid": True,
    }
    recall: Trace = {"domain": RECALL, "range": [0, 1.05], "tickformat": ".0%", "nticks": 4}
    return style.figure(
        data,
        xaxis=style.axis(**quintiles, ticktext=[""] * 5),
        xaxis2=style.axis(
            f"{unit.capitalize()} of the text, by fifths", **quintiles, ticktext=texts, anchor="y2"
        ),
        yaxis=style.axis("Exposure (times its share)", **exposure),
        yaxis2=style.axis("Recall", **recall, fixedrange=True),
        annotations=style.spread(labels, xs, ys),
        dragmode=False,
        margin=style.LABEL_MARGIN,
    )


def lengthened(result: Result) -> Figure:
    """The figure of places that a right text loses by each change of its length, from its facts."""
    facts = [fact for fact in result.facts if fact.key.startswith("places_lost_")]
    names = [fact.label.partition(", ")[2] for fact in facts]
    values = [fact.value or 0.0 for fact in facts]
    ends = np.array([fact.interval or (np.nan, np.nan) for fact in facts]).reshape(-1, 2)
    xs, ys = [-0.5, len(facts) - 0.5], style.ends(ends.ravel(), 0.0, room=0.1)
    x = np.arange(len(facts))
    upright = np.column_stack([ends, np.full(len(facts), np.nan)]).ravel()
    texts = [f"{name}: {value:+.2g} places" for name, value in zip(names, values, strict=True)]
    marker: Trace = {"mode": "markers", "marker": {"color": style.LINE, "size": 9}}
    return style.figure(
        [
            style.trace(
                "none", xs, [0, 0], line={"color": style.SUMMARY, "width": 1, "dash": "dot"}
            ),
            style.trace(
                "intervals", np.repeat(x, 3), upright, line={"color": style.LINE, "width": 1}
            ),
            style.trace("places lost", x, values, texts, **marker),
        ],
        xaxis=style.axis("", xs, fixedrange=True, tickvals=x.tolist(), ticktext=names),
        yaxis=style.axis("Places lost", ys, fixedrange=True, showgrid=True),
        dragmode=False,
    )


def _heights(exposures: ArrayLike) -> NDArray[np.float64]:
    return np.log10(np.maximum(np.asarray(exposures, np.float64), LEAST))


def _traces(line: Mapping[str, Any], colour: str, quintiles: Sequence[str]) -> list[Trace]:
    """Intervals as upright lines, exposures, and recalls, with labels for the pointer."""
    name, places = line["name"], np.arange(5)
    ends = np.array([pair or (np.nan, np.nan) for pair in line["intervals"]], np.float64)
    exposures, recalls = (np.array(line[key], np.float64) for key in ("exposure", "recall"))
    upright = _heights(np.column_stack([ends, np.full(5, np.nan)])).ravel()
    texts = [
        f"{name}, {fifth}: {times(share)} its share"
        + f" ({rounded(low)} to {rounded(high)})" * bool(np.isfinite(low))
        for fifth, share, (low, high) in zip(quintiles, exposures, ends, strict=True)
    ]
    below = [
        f"{name}, {fifth}: recall {percent(recall)}"
        for fifth, recall in zip(quintiles, recalls, strict=True)
    ]
    look: Trace = {"mode": "lines+markers", "line": {"color": colour, "width": 2}}
    large, small = ({"color": colour, "size": size} for size in (7, 5))
    lower: Trace = {"xaxis": "x2", "yaxis": "y2", "marker": small}
    return [
        style.trace(name, np.repeat(places, 3), upright, line={"color": colour, "width": 1}),
        style.trace(name, places, _heights(exposures), texts, **look, marker=large),
        style.trace(name, places, recalls, below, **look, **lower),
    ]
