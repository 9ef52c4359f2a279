"""How many sentences find their chunk, by its length, for each way to search."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace, Values
from clsviz.numbers import percent, points
from clsviz.results.result import Result

COLUMNS: Final = ["tokens", "recall_at_1_of_equal", "low_of_equal", "high_of_equal"]

TICKS: Final = (5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000)


def chunks(result: Result) -> Figure:
    """The figure of a result of `results.chunks`.

    It draws the table; of the picture advised, tokens or None, and own, the way asked about; and of
    the details own, the user's chunks, and whole, judged searches, or None.
    """
    table, advised, own = result.table, result.picture["advised"], result.details["own"]
    sizes = table.loc[table["way"] == result.picture["own"], "tokens"]
    x = np.log10(sizes.clip(lower=1).to_numpy())
    own_x = [math.log10(own["tokens"])] if own else []
    xs, ys = style.ends(x, *own_x, room=0.05), [0.0, 1.05]
    lines, notes = list[Trace](), list[Trace]()
    dots: Trace = {"width": 1, "dash": "dot"}
    if advised and math.log10(advised) < x.max():
        at = math.log10(advised)
        lines.append(style.trace("advised", [at, at], ys, line=dots | {"color": style.SUMMARY}))
        corner: Trace = {"x": at, "y": 0, "xanchor": "left", "yanchor": "bottom", "xshift": 4}
        notes.append(style.note(f"advised: {advised} tokens", style.SUMMARY, **corner))
    bands, curves = _retrievers(result, x)
    if judged := result.details["whole"]:
        uncut, look = [judged["recall_at_10"]] * 2, dots | {"color": style.OTHER}
        lines.append(style.trace("texts that are not cut", xs, uncut, line=look))
        curves.append(_judged(judged["chunks"], x))
    if own:
        share, ends = own["recall_at_1_of_equal"], own["interval_of_equal"]
        text = f"your chunks of {own['tokens']:.0f} tokens:<br><b>found by {percent(share)} "
        text += f"({' to '.join(map(percent, ends))})</b>"
        look = {"line": {"color": style.OWN, "width": 1}}
        lines.append(style.trace("interval of your chunks", own_x * 2, ends, **look))
        look = {"mode": "markers", "marker": style.STAR}
        curves.append(style.trace("your chunks", own_x, [share], [text], **look))
    labels = [
        style.label(one["name"], one["marker"]["color"], one["x"][-1], one["y"][-1])
        for one in curves
    ]
    ticks = {math.log10(n): str(n) for n in TICKS if xs[0] <= math.log10(n) <= xs[1]}
    look = {"fixedrange": True, "tickvals": list(ticks), "ticktext": list(ticks.values())}
    up: Trace = {"fixedrange": True, "tickformat": ".0%", "showgrid": True}
    return style.figure(
        [*bands, *lines, *curves],
        xaxis=style.axis("Tokens of a chunk (median)", range=xs, **look),
        yaxis=style.axis("Sentences that find their chunk first", range=ys, **up),
        annotations=[*style.spread(labels, xs, ys), *notes],
        dragmode=False,
        margin=style.LABEL_MARGIN,
    )


def _retrievers(result: Result, x: Values) -> tuple[list[Trace], list[Trace]]:
    """Bands and curves of the ways to search, that of the question first."""
    table, own = result.table, result.picture["own"]
    names = sorted(table["way"].unique(), key=lambda way: way != own)
    if result.details["cosine"] == result.details["dot"]:
        names = [way for way in names if way in (own, "BM25")]
    bands, curves = list[Trace](), list[Trace]()
    for way in names:
        rows, colour = table.loc[table["way"] == way, COLUMNS], style.colour_of(way)
        texts = [
            f"{way}, {result.details['n_equal']:,} chunks of {tokens:,.0f} tokens:<br><b>found by "
            f"{percent(share)} ({percent(low)} to {percent(high)})</b>"
            for tokens, share, low, high in rows.itertuples(index=False)
        ]
        _, shares, lows, highs = rows.to_numpy().T
        bands.append(style.area(way, x, lows, highs, colour, 0.15))
        curves.append(_curve(way, x, shares, texts, colour))
    return bands, curves


def _judged(sizes: Sequence[Mapping[str, Any]], x: Values) -> Trace:
    """The curve of judged searches."""
    texts = [
        f"right texts among ten: <b>{percent(one['recall'])}</b>,<br>{points(one['difference'])} "
        f"({' to '.join(map(points, one['interval']))}) beside those of texts that are not cut"
        for one in sizes
    ]
    recalls = [one["recall"] for one in sizes]
    return _curve("right texts", x[: len(sizes)], recalls, texts, style.OTHER)


def _curve(name: str, x: Values, y: Values, texts: Sequence[str], colour: str) -> Trace:
    marker = {"color": colour, "size": 7}
    look: Trace = {"line": {"color": colour, "width": 2}, "marker": marker}
    return style.trace(name, x, y, texts, mode="lines+markers", **look)
