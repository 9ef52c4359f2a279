"""How many sentences find their chunk, by its length, for each way to search."""

import math
from typing import Final

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.numbers import percent, points
from clsviz.results.result import Result

COLUMNS: Final = ["tokens", "recall_at_1_of_equal", "low_of_equal", "high_of_equal"]

TICKS: Final = (5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000)


def chunks(result: Result) -> Figure:
    """The figure of a result of `results.chunks`.

    It draws the table, and of the picture advised, tokens or None; own, the way asked about;
    judged, for each size recall, what cutting adds and its interval; uncut, recall of texts that
    are not cut; and yours, the user's chunks, or None.
    """
    table, advised, n_equal = result.table, result.picture["advised"], result.details["n_equal"]
    table = table.assign(x=np.log10(table["tokens"].clip(lower=1)))
    yours = result.picture["yours"]
    own_x = [math.log10(yours["tokens"])] if yours else []
    xs, ys = style.ends(table["x"].to_numpy(), *own_x, room=0.05), [0.0, 1.05]
    data, labels, notes = list[Trace](), list[Trace](), []
    if advised and math.log10(advised) < table["x"].max():
        at, dots = math.log10(advised), {"color": style.SUMMARY, "width": 1, "dash": "dot"}
        data.append(style.trace("advised", [at, at], ys, line=dots))
        corner: Trace = {"x": at, "y": 0, "xanchor": "left", "yanchor": "bottom", "xshift": 4}
        notes.append(style.note(f"advised: {advised} tokens", style.SUMMARY, **corner))
    retrievers = sorted(table["way"].unique(), key=lambda way: way != result.picture["own"])
    if result.details["cosine"] == result.details["dot"]:
        retrievers = [way for way in retrievers if way in (result.picture["own"], "BM25")]
    for way, colour in zip(retrievers, map(style.colour_of, retrievers), strict=True):
        rows = table[table["way"] == way]
        x, share = rows["x"].to_numpy(), rows["recall_at_1_of_equal"].to_numpy()
        texts = [
            f"{way}, {n_equal:,} chunks of {tokens:,.0f} tokens:<br><b>found by "
            f"{percent(recall)} ({percent(low)} to {percent(high)})</b>"
            for tokens, recall, low, high in rows[COLUMNS].itertuples(index=False)
        ]
        data += [
            style.area(way, x, rows["low_of_equal"], rows["high_of_equal"], colour, 0.15),
            style.trace(way, x, share, texts, **_look(colour)),
        ]
        labels.append(style.label(way, colour, x[-1], share[-1]))
    if judged := result.picture["judged"]:
        uncut, colour = result.picture["uncut"], style.OTHER
        x = table["x"].unique()[: len(judged)]
        texts = [
            f"right texts among ten: <b>{percent(recall)}</b>,<br>{points(by)} "
            f"({points(low)} to {points(high)}) beside those of texts that are not cut"
            for recall, by, low, high in judged
        ]
        recalls = [recall for recall, *_ in judged]
        dots = {"color": colour, "width": 1, "dash": "dot"}
        data += [
            style.trace("texts that are not cut", xs, [uncut, uncut], line=dots),
            style.trace("right texts", x, recalls, texts, **_look(colour)),
        ]
        labels.append(style.label("right texts", colour, x[-1], recalls[-1]))
    if yours:
        recall, (low, high) = yours["recall_at_1_of_equal"], yours["interval_of_equal"]
        words = f"your chunks of {yours['tokens']:.0f} tokens:<br><b>found by {percent(recall)} "
        words += f"({percent(low)} to {percent(high)})</b>"
        line: Trace = {"line": {"color": style.OWN, "width": 1}}
        star: Trace = {"mode": "markers", "marker": style.STAR}
        data += [
            style.trace("interval of your chunks", own_x * 2, [low, high], **line),
            style.trace("your chunks", own_x, [recall], [words], **star),
        ]
        labels.append(style.label("your chunks", style.OWN, own_x[0], recall))
    ticks = [tick for tick in TICKS if xs[0] <= math.log10(tick) <= xs[1]]
    return style.figure(
        data,
        xaxis=style.axis(
            "Tokens of a chunk (median)",
            range=xs,
            fixedrange=True,
            tickvals=list(map(math.log10, ticks)),
            ticktext=list(map(str, ticks)),
        ),
        yaxis=style.axis(
            "Sentences that find their chunk first",
            range=ys,
            fixedrange=True,
            tickformat=".0%",
            showgrid=True,
        ),
        annotations=[*style.spread(labels, xs, ys), *notes],
        dragmode=False,
        margin=style.LABEL_MARGIN,
    )


def _look(colour: str) -> Trace:
    marker = {"color": colour, "size": 7}
    return {"line": {"color": colour, "width": 2}, "mode": "lines+markers", "marker": marker}
