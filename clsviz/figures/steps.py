"""The norm of [CLS] step by step: word by word, and part by part of the model."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.results.numbers import number
from clsviz.results.result import Result

FEW_WORDS: Final = 14
"""Words that have room above their points."""

LONGEST_WORD: Final = 14

ROOM: Final = 1.5
"""Length of an axis, of its longest bar: numbers stand at the ends of bars."""


def growth(result: Result) -> Figure:
    """The figure of a result of `results.typed`: a point for each beginning of the sentence.

    It draws the table, and of its picture labels {x, y}, and bands {lengths, low, high}.
    """
    table, titles = result.table, result.picture.get("labels", {})
    x, y = table["length"].to_numpy(np.int32), table["norm"].to_numpy(np.float32)
    xs = [0.0, max(1.1 * float(x.max()), float(x.max()) + 2)]
    band = _band(result.picture.get("bands"), xs)
    ys = style.ends(y, *(end for area in band for end in area["y"]), room=0.1)
    texts = [style.hover_label(text) for text in table["text"]]
    label = "%{text}<br><b>norm %{y:.5~g}</b>"
    look = {"line": {"color": style.OWN, "width": 2}, "marker": {"color": style.OWN, "size": 6}}
    words = style.trace("words", x, y, texts, label, mode="lines+markers", **look)
    star = style.trace("all of it", x[-1:], y[-1:], mode="markers", marker=style.STAR)
    place = {"is_left": False, "is_top": bool(2 * y[-1] < sum(ys))}
    name = style.corner("5–95% of the corpus shaded", style.SUMMARY, **place)
    last_words = [(text.split() or [""])[-1] for text in table["text"]]
    names = [
        style.note(style.escape(style.shorten(word, LONGEST_WORD)), x=at, y=norm, yshift=16)
        for word, at, norm in zip(last_words, x.tolist(), y.tolist(), strict=True)
    ]
    return style.figure(
        [*band, words, star],
        xaxis=style.axis(titles.get("x", "Length"), xs),
        yaxis=style.axis(titles.get("y", "Norm"), ys, showgrid=True),
        annotations=[name] * len(band) + names * (len(names) <= FEW_WORDS),
        dragmode="zoom",
    )


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
    return [style.area("corpus", x, low, high, style.SUMMARY, 0.15)]


def way(result: Result) -> Figure:
    """The figure of a result of `results.anatomy`: weights and the norm after each part.

    It draws steps of its picture, [{name, weights, norm}], from top to bottom.
    """
    steps = result.picture["steps"]
    rows = [-row for row in range(len(steps))]
    span = [0.5 - len(steps), 0.5]
    names = [step["name"] for step in steps]
    data, notes, axes = [], [], {}
    for key, title, n, domain, colour, write in (
        ("weights", "Weights", "", [0.05, 0.5], style.POINTS, _size),
        ("norm", "Norm of [CLS]", "2", [0.54, 1.0], style.OWN, number),
    ):
        sizes = [step[key] for step in steps]
        bars = [size or 0 for size in sizes]
        label = f"%{{customdata}}: {key} %{{x:,.7~g}}<extra></extra>"
        look = {"type": "bar", "orientation": "h", "marker": {"color": colour}}
        place = {"xaxis": f"x{n}", "yaxis": f"y{n}", "x": bars, "y": rows}
        data.append({"name": key, **look, **place, "customdata": names, "hovertemplate": label})
        quiet: Trace = {"tickvals": [], "ticktext": [], "fixedrange": True, "side": "top"}
        quiet |= {"domain": domain, "anchor": f"y{n}"}
        axes[f"xaxis{n}"] = style.axis(title, [0, ROOM * max(bars)], **quiet)
        notes += [
            style.note(
                write(size), x=size, y=row, xref=f"x{n}", yref=f"y{n}", xanchor="left", xshift=3
            )
            for row, size in zip(rows, sizes, strict=True)
            if size is not None
        ]
    return style.figure(
        data,
        **axes,
        yaxis=style.axis("", span, fixedrange=True, tickvals=rows, ticktext=names),
        yaxis2=style.axis("", span, fixedrange=True, visible=False),
        annotations=notes,
        dragmode=False,
        bargap=0.35,
    )


def _size(n: float) -> str:
    """A number of weights, short."""
    return f"{n / 1e6:.1f} M" if n >= 1e6 else f"{n / 1e3:.0f} k" if n >= 1e4 else f"{n:,.0f}"
