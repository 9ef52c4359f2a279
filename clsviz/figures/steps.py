"""Norms step by step: word by word, part by part of the model, and token by token."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.numbers import number, percent
from clsviz.results.result import Result

FEW_WORDS: Final = 14
"""Words that have room at their points."""

LONGEST_WORD: Final = 14

ROOM: Final = 1.8
"""Length of an axis, of its longest bar: numbers stand at the ends of bars."""


def growth(result: Result) -> Figure:
    """The figure of a result of `results.typed`: a point for each beginning of the sentence.

    It draws the table, and of its picture labels {x, y}, and bands {lengths, low, high}.
    """
    table, titles = result.table, result.picture.get("labels", {})
    x, y = table["length"].to_numpy(np.int32), table["norm"].to_numpy(np.float32)
    xs = [0.0, max(1.1 * float(x.max()), float(x.max()) + 2)]
    data = _band(result.picture.get("bands"), xs)
    ys = style.ends(y, *(end for area in data for end in area["y"]), room=0.1)
    place = {"is_left": False, "is_top": bool(2 * y[-1] < sum(ys))}
    notes = [style.corner("5–95% of the corpus shaded", style.SUMMARY, **place)] * len(data)
    if len(table) <= FEW_WORDS:
        around = np.pad(y, 1, mode="edge")
        is_low = 2 * y < around[:-2] + around[2:]
        for text, at, norm, is_below in zip(table["text"], x, y, is_low, strict=True):
            word = style.shorten((text.split() or [""])[-1], LONGEST_WORD)
            shift = -18 if is_below else 16
            notes.append(style.note(style.escape(word), x=int(at), y=float(norm), yshift=shift))
    texts = [style.hover_label(text) for text in table["text"]]
    label = "%{text}<br><b>norm %{y:.3~r}</b>"
    look = {"line": {"color": style.OWN, "width": 2}, "marker": {"color": style.OWN, "size": 6}}
    data += [
        style.trace("words", x, y, texts, label, mode="lines+markers", **look),
        style.trace("all of it", x[-1:], y[-1:], mode="markers", marker=style.STAR),
    ]
    return style.figure(
        data,
        xaxis=style.axis(titles.get("x", "Length"), xs),
        yaxis=style.axis(titles.get("y", "Norm"), ys, showgrid=True),
        annotations=notes,
        dragmode="zoom",
    )


def _band(bands: Mapping[str, Any] | None, xs: list[float]) -> list[Trace]:
    """The range of the corpus, as far as it is between the ends of the axis."""
    if bands is None:
        return []
    lengths = np.asarray(bands["lengths"], np.float64)
    x = np.unique(np.clip(lengths, max(xs[0], lengths[0]), min(xs[1], lengths[-1])))
    low, high = (np.interp(x, lengths, np.asarray(bands[end])) for end in ("low", "high"))
    return [style.area("corpus", x, low, high, style.SUMMARY, 0.15)] if len(x) > 1 else []


def way(result: Result) -> Figure:
    """The figure of a result of `results.anatomy`: weights and the norm after each part.

    It draws steps of its picture, [{name, weights, norm}], from top to bottom.
    """
    steps = result.picture["steps"]
    rows, span = [-row for row in range(len(steps))], [0.5 - len(steps), 0.5]
    names = [step["name"] for step in steps]
    data, notes, axes = [], [], {}
    for key, title, n, domain, colour, write in (
        ("weights", "Weights", "", [0.05, 0.5], style.POINTS, _size),
        ("norm", "Norm of [CLS]", "2", [0.54, 1.0], style.OWN, number),
    ):
        sizes = [step[key] or 0 for step in steps]
        place: Trace = {"xaxis": f"x{n}", "yaxis": f"y{n}", "orientation": "h", "width": 0.65}
        label = f"%{{hovertext}}: {key} %{{x:,.7~g}}"
        data.append(style.bars(sizes, rows, names, label, **place, marker={"color": colour}))
        quiet: Trace = {"tickvals": [], "ticktext": [], "fixedrange": True, "side": "top"}
        quiet |= {"domain": domain, "anchor": f"y{n}"}
        axes[f"xaxis{n}"] = style.axis(title, [0, ROOM * max(sizes)], **quiet)
        end: Trace = {"xref": f"x{n}", "yref": f"y{n}", "xanchor": "left", "xshift": 3}
        notes += [
            style.note(write(step[key]), x=step[key], y=row, **end)
            for row, step in zip(rows, steps, strict=True)
            if step[key] is not None
        ]
    return style.figure(
        data,
        **axes,
        yaxis=style.axis("", span, fixedrange=True, tickvals=rows, ticktext=names),
        yaxis2=style.axis("", span, fixedrange=True, visible=False),
        annotations=notes,
        dragmode=False,
    )


def tokens(result: Result) -> Figure:
    """Another figure of a result of `results.anatomy`: every token's norm after each layer.

    It draws of its picture tokens, from top to bottom; norms (n, n_layers + 1); and attention
    (n_layers, n), of which its layer's, the share of [CLS]'s that goes to each.
    """
    names, norms, attention = (result.picture[key] for key in ("tokens", "norms", "attention"))
    layer = result.about["layer"]
    shares = attention[layer - 1].tolist() if len(attention) else []
    words = [style.escape(style.shorten(name, LONGEST_WORD)) for name in names]
    rows, span = [-row for row in range(len(words))], [0.5 - len(words), 0.5]
    last, quiet = norms.shape[1] - 1, {"fixedrange": True, "side": "top"}
    cells: Trace = {
        "type": "heatmap",
        "x": list(range(last + 1)),
        "y": rows,
        "z": np.log10(norms).astype(np.float32),
        "text": [
            [f"{word}, layer {n}: norm {number(norm)}" for n, norm in enumerate(of_word)]
            for word, of_word in zip(words, norms.tolist(), strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "showscale": False,
        "colorscale": style.SCALE,
    }
    texts = [f"{word}: {percent(share)}" for word, share in zip(words, shares, strict=False)]
    place: Trace = {"xaxis": "x2", "yaxis": "y2", "orientation": "h", "width": 0.65}
    bars = style.bars(shares, rows[: len(texts)], texts, **place, marker={"color": style.LINE})
    title = f"[CLS] attends, layer {layer}" if texts else ""
    ends: Trace = {"domain": [0.64, 1.0], "anchor": "y2", "tickformat": ".0%", "nticks": 3}
    return style.figure(
        [cells, bars],
        xaxis=style.axis(
            "Norm after layer", [-0.5, last + 0.5], **quiet, domain=[0.0, 0.6], nticks=8
        ),
        xaxis2=style.axis(title, [0, 1.05 * max([0.01, *shares])], **quiet, **ends),
        yaxis=style.axis("", span, fixedrange=True, tickvals=rows, ticktext=words),
        yaxis2=style.axis("", span, fixedrange=True, visible=False),
        dragmode=False,
    )


def _size(n: float) -> str:
    """A number of weights, short."""
    return f"{n / 1e6:.1f} M" if n >= 1e6 else f"{n / 1e3:.0f} k" if n >= 1e4 else f"{n:,.0f}"
