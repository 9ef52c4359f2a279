"""Norm against length: a point for each sentence, and R² of every layer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.figures import style
from clsviz.figures.style import LINE, POINTS, SUMMARY, Figure, Label, Trace
from clsviz.results.numbers import counted, percent
from clsviz.results.result import Result

MOST_POINTS, FEW_POINTS = 50_000, 5_000
"""Points that hover can search without delay; points above a histogram of still more sentences."""

MOST_LENGTHS, NORM_BINS, MARGINAL_BINS = 80, 96, 60
"""Cells of a two-dimensional histogram, and bars of the one of norms."""

MOST_NAMED: Final = 8
"""Stars of the visitor's own sentences with a label."""

PLOT: Final = {"x": [0.0, 0.9], "y": [0.0, 0.87]}
MARGINS: Final = {"x": [0.91, 1.0], "y": [0.885, 1.0]}
"""Shares of the picture for the points, and for the histograms next to them."""


def norms(result: Result) -> Figure:
    """The figure of a result of `results.norms`; points carry their row of the table as customdata.

    It draws the rows that are used, and what there is of its picture: labels {x, y},
    curve {lengths, norms}, bands {lengths, median, low, high}, line_band {lengths, low, high},
    typed [{sentence, length, norm}].
    """
    picture, typed = result.picture, result.picture.get("typed") or []
    rows = np.flatnonzero(result.table["is_used"].to_numpy(bool)).astype(np.int32)
    lengths = result.table["length"].to_numpy()[rows].astype(np.int32)
    norms = result.table["norm"].to_numpy()[rows].astype(np.float32)
    lines = _lines(result, lengths)
    xs = [0.0, 1.03 * max([1, *lengths.tolist(), *(own["length"] for own in typed)])]
    line_ends = (end for line in lines for end in line["y"][[0, -1]])
    ys = style.ends(norms, *(own["norm"] for own in typed), *line_ends)
    is_dense, is_rising = len(rows) > MOST_POINTS, (result.fact("slope") or 0) > 0
    n_points = FEW_POINTS if is_dense else len(rows)
    places = np.linspace(0, len(rows) - 1, n_points).astype(np.intp)
    bands = [
        style.area(name, band["lengths"], band["low"], band["high"], colour, opacity)
        for key, name, colour, opacity in (
            ("bands", "5–95%", SUMMARY, 0.1),
            ("line_band", "95% interval of the line", LINE, 0.2),
        )
        if (band := picture.get(key))
    ]
    data = [
        *bands,
        _cloud(result, rows[places], lengths[places], norms[places]),
        *lines,
        *_stars(typed),
        *(_marginals(lengths, norms) if len(rows) else []),
    ]
    notes = _notes(lines, typed, xs, ys, is_rising)
    if is_dense:
        data.insert(0, _density(lengths, norms, ys))
        text = f"{counted(len(rows))} by cell, and {FEW_POINTS:,} of them as points"
        notes.append(style.corner(text, is_left=True, is_top=is_rising))
    titles = picture.get("labels", {})
    side: Trace = {"visible": False, "fixedrange": True, "rangemode": "tozero"}
    about = ("model_fingerprint", "corpus_fingerprint", "layer", "pooling", "unit")
    return style.figure(
        data,
        xaxis=style.axis(titles.get("x", "Sentence length (tokens)"), xs, domain=PLOT["x"]),
        yaxis=style.axis(titles.get("y", "Norm of [CLS]"), ys, domain=PLOT["y"], showgrid=True),
        xaxis2=style.axis(domain=MARGINS["x"], **side),
        yaxis2=style.axis(domain=MARGINS["y"], **side),
        annotations=notes,
        dragmode="zoom",
        uirevision=" ".join(str(result.about.get(name)) for name in about),  # else zoom is undone
    )


def strip(result: Result) -> Figure:
    """R² of every layer, a bar each, of the same result; customdata is the place of a bar.

    It draws layers of its details, [{layer, r_squared}]: a layer is a number, “mean” or “pooler”.
    """
    layers, about = result.details["layers"], result.about
    names = [str(entry["layer"]) for entry in layers]
    shares = [entry["r_squared"] for entry in layers]
    labels = [
        f"{'layer ' * name.isdecimal()}{name}: R² {'undefined' if r2 is None else percent(r2)}"
        for name, r2 in zip(names, shares, strict=True)
    ]
    last = max(filter(str.isdigit, names), key=int)
    layer, pooling = about.get("layer"), about.get("pooling", "cls")
    chosen = str(pooling) if pooling != "cls" else last if layer is None else str(layer)
    heights = [share or 0 for share in shares]
    bars = {
        "type": "bar",
        "x": names,
        "y": heights,
        "hovertext": labels,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "customdata": np.arange(len(layers), dtype=np.int32),
        "marker": {"color": [LINE if name == chosen else POINTS for name in names]},
    }
    span, small = [0, 1.1 * max([0.01, *heights])], {"size": 11}
    return style.figure(
        [bars],
        xaxis=style.axis("", type="category", tickangle=0, fixedrange=True, tickfont=small),
        yaxis=style.axis("R²", span, tickformat=".1~%", nticks=3, fixedrange=True, showgrid=True),
        dragmode=False,
        hovermode="x",  # the lowest bar can be clicked too
        bargap=0.25,
    )


def _cloud(
    result: Result, rows: NDArray[np.int32], lengths: NDArray[np.int32], norms: NDArray[np.float32]
) -> Trace:
    """The points. Without picks all look the same; where there are some, they stand out."""
    opacity = float(np.clip(20 / max(len(rows), 1) ** 0.5, 0.15, 0.7))
    sentences = result.table["sentence"].to_numpy()[rows]
    unit = result.about.get("unit", "tokens")
    return style.trace(
        "sentences",
        lengths,
        norms,
        [style.hover_label(sentence) for sentence in sentences],
        f"%{{text}}<br><b>%{{x}} {unit}, norm %{{y:.5~g}}</b>",
        type="scattergl",
        mode="markers",
        customdata=rows,
        marker={"size": 5, "opacity": opacity, "color": POINTS},
        selected={"marker": {"size": 11, "opacity": 1, "color": SUMMARY}},
        unselected={"marker": {"opacity": opacity}},
    )


def _lines(result: Result, lengths: NDArray[np.int32]) -> list[Trace]:
    """The median, the curve and the line; by WebGL, as points cover the rest."""
    lines: list[tuple[str, ArrayLike, ArrayLike, dict[str, Any]]] = []
    if bands := result.picture.get("bands"):
        look = {"color": SUMMARY, "width": 1.5}
        lines.append(("━ median, 5–95% shaded", bands["lengths"], bands["median"], look))
    if curve := result.picture.get("curve"):
        look = {"color": LINE, "width": 2, "dash": "dot"}
        lines.append(("┅ smooth curve", curve["lengths"], curve["norms"], look))
    slope, intercept, share = map(result.fact, ("slope", "intercept", "r_squared"))
    if slope is not None and intercept is not None and len(lengths):
        x = np.array([lengths.min(), lengths.max()])
        name = "━ straight line" if share is None else f"━ line, R² {percent(share)}"
        lines.append((name, x, intercept + slope * x, {"color": LINE, "width": 3}))
    return [
        style.trace(
            name, np.asarray(x, np.float32), np.asarray(y, np.float32), type="scattergl", line=look
        )
        for name, x, y, look in lines
    ]


def _stars(typed: Sequence[Mapping[str, Any]]) -> list[Trace]:
    """The visitor's own sentences."""
    texts = [style.hover_label(own["sentence"]) for own in typed]
    x = np.array([own["length"] for own in typed], np.int32)
    y = np.array([own["norm"] for own in typed], np.float32)
    label = "%{text}<br><b>%{x}, norm %{y:.5~g}</b>"
    look: Trace = {"type": "scattergl", "mode": "markers", "marker": style.STAR}
    return [style.trace("your sentences", x, y, texts, label, **look)] if texts else []


def _cells(lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """Edges of at most `MOST_LENGTHS` cells of whole lengths."""
    step = -(-int(np.ptp(lengths) + 1) // MOST_LENGTHS)
    return np.arange(lengths.min(), lengths.max() + 1 + step, step) - 0.5


def _notes(
    lines: Sequence[Trace],
    typed: Sequence[Mapping[str, Any]],
    xs: list[float],
    ys: list[float],
    is_rising: bool,
) -> list[Trace]:
    """The first words of each star, and the lines' names in the right corner that they leave."""
    stars = [
        Label(style.shorten(own["sentence"], 20), style.TEXT, x, own["norm"], 2 * x > xs[1])
        for own in typed
        for x in [own["length"]]
    ]
    notes = style.annotations(stars if len(stars) <= MOST_NAMED else [], xs, ys)
    corner: Trace = {"is_left": False, "is_top": not is_rising, "weight": "bold"}
    step = 18 if is_rising else -18
    for n, line in enumerate(reversed(lines)):
        colour = line["line"]["color"]
        notes.append(style.corner(line["name"], colour, yshift=step * n, **corner))
    return notes


def _density(lengths: NDArray[np.int32], norms: NDArray[np.float32], ys: list[float]) -> Trace:
    """A histogram in two dimensions; darkness by the logarithm of the count."""
    x, y = _cells(lengths), np.linspace(ys[0], ys[1], NORM_BINS + 1)
    counts = np.histogram2d(norms, lengths, [y, x])[0]
    with np.errstate(divide="ignore"):
        logarithms = np.log10(counts).astype(np.float32)
    return {
        "type": "heatmap",
        "x": (x[:-1] + x[1:]) / 2,
        "y": (y[:-1] + y[1:]) / 2,
        "z": np.where(counts > 0, logarithms, np.nan),
        "text": [[counted(int(n)) for n in row] for row in counts.tolist()],
        "hovertemplate": "length %{x:.0f}, norm %{y:.4~g}: %{text}<extra></extra>",
        "hoverongaps": False,
        "showscale": False,
        "colorscale": [
            [n / (len(style.SEQUENCE) - 1), colour] for n, colour in enumerate(style.SEQUENCE)
        ],
    }


def _marginals(lengths: NDArray[np.int32], norms: NDArray[np.float32]) -> list[Trace]:
    """Histograms of the lengths on top, and of the norms at the right."""
    low, high = style.ends(norms, room=0)
    bins = np.linspace(low, high, MARGINAL_BINS + 1)
    bars: list[Trace] = []
    for values, edges, sides, label, place in (
        (lengths, _cells(lengths), "xy", "length %{x:.0f}", {"yaxis": "y2"}),
        (norms, bins, "yx", "norm %{y:.4~g}", {"xaxis": "x2", "orientation": "h"}),
    ):
        counts = np.histogram(values, edges)[0]
        bars.append(
            {
                "type": "bar",
                sides[0]: (edges[:-1] + edges[1:]) / 2,
                sides[1]: counts,
                "text": [counted(n) for n in counts.tolist()],
                "textposition": "none",
                "hovertemplate": f"{label}: %{{text}}<extra></extra>",
                "marker": {"color": POINTS, "opacity": 0.35, "line": {"width": 0}},
                **place,
            }
        )
    return bars
