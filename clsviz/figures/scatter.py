"""Norm against length: a point for each sentence, and R² of every layer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.figures import style
from clsviz.figures.style import GRID, LINE, OTHER, POINTS, SUMMARY, Figure, Trace
from clsviz.numbers import counted, percent
from clsviz.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS, FEW_POINTS = 50_000, 5_000
"""Points that hover can search without delay; points above a histogram of still more sentences."""

MOST_LENGTHS, NORM_BINS, MARGINAL_BINS = 80, 96, 60
"""Cells of a two-dimensional histogram, and bars of the one of norms."""

MOST_NAMED: Final = 8  # stars of the visitor's own sentences with a label
PLOT: Final = {"x": [0.0, 0.9], "y": [0.0, 0.87]}
MARGINS: Final = {"x": [0.91, 1.0], "y": [0.885, 1.0]}
"""Shares of the picture for the points, and for the histograms next to them."""


def norms(result: Result) -> Figure:
    """The figure of a result of `results.norms`; points carry their row of the table as customdata.

    It draws the rows that are used, and what there is of its picture: labels {x, y},
    curve {lengths, norms}, bands {lengths, median, low, high}, line_band {lengths, low, high},
    typed [{sentence, length, norm}].
    """
    import pandas as pd

    picture, about = result.picture, result.about
    table = result.table[["sentence", "length", "norm"]].reset_index(drop=True)
    used = table[result.table["is_used"].to_numpy(bool)]
    typed = pd.DataFrame(picture.get("typed") or [], columns=table.columns)
    lengths, norms = used["length"].to_numpy(np.int32), used["norm"].to_numpy(np.float32)
    lines = _lines(result, lengths)
    xs = [0.0, 1.03 * max([1, *lengths.tolist(), *typed["length"]])]
    ys = style.ends(norms, *typed["norm"], *(end for line in lines for end in line["y"][[0, -1]]))
    ys[0] = max(ys[0], 0.0)
    is_rising = (result.fact("slope") or 0) > 0
    data, points, notes = list[Trace](), used, _names(lines, typed, xs, ys, is_rising)
    if len(used) > MOST_POINTS:
        data.append(_density(lengths, norms, ys))
        points = used.iloc[np.linspace(0, len(used) - 1, FEW_POINTS).astype(np.intp)]
        text = f"{counted(len(used))} by cell,<br>and {FEW_POINTS:,} of them as points"
        notes.append(style.corner(text, is_left=True, is_top=is_rising, align="left"))
    for key, name, colour, opacity in (
        ("bands", "5–95%", SUMMARY, 0.1),
        ("line_band", "95% interval of the line", LINE, 0.2),
    ):
        if band := picture.get(key):
            ends = band["lengths"], band["low"], band["high"]
            data.append(style.area(name, *ends, colour, opacity))
    unit, opacity = about.get("unit", "tokens"), np.clip(20 / max(len(points), 1) ** 0.5, 0.15, 0.7)
    cloud: Trace = {  # without picks all points look the same; where there are some, they stand out
        "customdata": points.index.to_numpy(np.int32),
        "marker": {"size": 5, "opacity": opacity, "color": POINTS},
        "selected": {"marker": {"size": 11, "opacity": 1, "color": SUMMARY}},
        "unselected": {"marker": {"opacity": opacity}},
    }
    data += [_points("sentences", points, unit, **cloud), *lines]
    data += [_points("your sentences", typed, unit, marker=style.STAR)] * bool(len(typed))
    data += _marginals(lengths, norms) if len(used) else []
    titles: Mapping[str, str] = picture.get("labels", {})
    side: Trace = {"visible": False, "fixedrange": True, "rangemode": "tozero"}
    view = ("model_fingerprint", "corpus_fingerprint", "layer", "pooling", "unit")
    return style.figure(
        data,
        xaxis=style.axis(titles.get("x", "Sentence length (tokens)"), xs, domain=PLOT["x"]),
        yaxis=style.axis(titles.get("y", "Norm of [CLS]"), ys, domain=PLOT["y"], showgrid=True),
        xaxis2=style.axis(domain=MARGINS["x"], **side),
        yaxis2=style.axis(domain=MARGINS["y"], **side),
        annotations=notes,
        dragmode="zoom",
        uirevision=" ".join(str(about.get(name)) for name in view),  # else zoom is undone
    )


def strip(result: Result) -> Figure:
    """R² of every layer, a bar each, of the same result; customdata is the place of a bar.

    It draws layers of its details, [{layer, r_squared, is_nearly_constant}]: a layer is a number,
    “mean” or “pooler”; bars of norms that differ on paper only are hatched.
    """
    layers = result.details["layers"]
    shares = {str(entry["layer"]): entry["r_squared"] for entry in layers}
    are_flat = [bool(entry["is_nearly_constant"]) for entry in layers]
    layer, pooling = result.about.get("layer"), result.about.get("pooling", "cls")
    last = max(filter(str.isdigit, shares), key=int)
    chosen = str(pooling) if pooling != "cls" else last if layer is None else str(layer)
    texts = [
        f"{'layer ' * name.isdecimal()}{name}: R² {'undefined' if r2 is None else percent(r2)}"
        f"{', of nearly constant norms' * is_flat}"
        for (name, r2), is_flat in zip(shares.items(), are_flat, strict=True)
    ]
    heights, small = [share or 0 for share in shares.values()], {"size": 11}
    bars = style.bars(
        list(shares),
        heights,
        texts,
        customdata=np.arange(len(shares), dtype=np.int32),
        marker={
            "color": [LINE if name == chosen else POINTS for name in shares],
            "pattern": {"shape": ["/" * is_flat for is_flat in are_flat], "bgcolor": GRID},
        },
        width=0.75,
    )
    span = [0, 1.1 * max([0.01, *heights])]
    return style.figure(
        [bars],
        xaxis=style.axis(type="category", tickangle=0, fixedrange=True, tickfont=small),
        yaxis=style.axis("R²", span, tickformat=".1~%", nticks=3, fixedrange=True, showgrid=True),
        dragmode=False,
        hovermode="x",  # the lowest bar can be clicked too
    )


def _points(name: str, sentences: "pd.DataFrame", unit: str, **look: object) -> Trace:
    """A point for each sentence, which the pointer reads."""
    return style.trace(
        name,
        sentences["length"].to_numpy(np.int32),
        sentences["norm"].to_numpy(np.float32),
        [style.hover_label(sentence) for sentence in sentences["sentence"]],
        f"%{{text}}<br><b>%{{x}} {unit}, norm %{{y:.5~g}}</b>",
        type="scattergl",
        mode="markers",
        **look,
    )


def _lines(result: Result, lengths: NDArray[np.int32]) -> list[Trace]:
    """The median, the curve and the line; by WebGL, as points cover the rest."""
    lines = []
    if bands := result.picture.get("bands"):
        look = {"color": SUMMARY, "width": 1.5}
        lines.append(("━ median, 5–95% shaded", bands["lengths"], bands["median"], look))
    bold, thin = {"width": 3}, {"width": 2, "dash": "dot"}
    curve = result.picture.get("curve")
    is_by_curve = bool(curve and curve["is_answer"])
    if curve:
        name, look = ("━", bold) if is_by_curve else ("┅", thin)
        name, look = f"{name} smooth curve", {"color": OTHER, **look}
        lines.append((name, curve["lengths"], curve["norms"], look))
    slope, intercept, share = map(result.fact, ("slope", "intercept", "r_squared"))
    if slope is not None and intercept is not None and len(lengths):
        x = np.array([lengths.min(), lengths.max()])
        name = "straight line" if share is None else f"line, R² {percent(share)}"
        name, look = (f"┅ {name}", thin) if is_by_curve else (f"━ {name}", bold)
        lines.append((name, x, intercept + slope * x, {"color": LINE, **look}))
    return [
        style.trace(
            name, np.asarray(x, np.float32), np.asarray(y, np.float32), type="scattergl", line=look
        )
        for name, x, y, look in lines
    ]


def _names(
    lines: list[Trace], typed: "pd.DataFrame", xs: list[float], ys: list[float], is_rising: bool
) -> list[Trace]:
    """The first words of each star, and the lines' names in the right corner that they leave."""
    stars = [
        style.label(style.shorten(text, 20), style.TEXT, x, norm, is_right=2 * x > xs[1])
        for text, x, norm in typed.itertuples(index=False)
    ]
    names = style.spread(stars, xs, ys) if len(stars) <= MOST_NAMED else []
    step = 18 if is_rising else -18
    for n, line in enumerate(reversed(lines)):
        place: Trace = {"is_left": False, "is_top": not is_rising, "yshift": step * n}
        names.append(style.corner(line["name"], line["line"]["color"], weight="bold", **place))
    return names


def _density(lengths: NDArray[np.int32], norms: NDArray[np.float32], ys: list[float]) -> Trace:
    """A histogram in two dimensions; darkness by the logarithm of the count."""
    x, y = _cells(lengths), np.linspace(ys[0], ys[1], NORM_BINS + 1)
    counts = np.histogram2d(norms, lengths, [y, x])[0]
    return {
        "type": "heatmap",
        "x": _middles(x),
        "y": _middles(y),
        "z": np.log10(np.where(counts > 0, counts, np.nan)).astype(np.float32),
        "text": [[counted(int(n)) for n in row] for row in counts.tolist()],
        "hovertemplate": "length %{x:.0f}, norm %{y:.3~r}: %{text}<extra></extra>",
        "hoverongaps": False,
        "showscale": False,
        "colorscale": style.SCALE,
    }


def _marginals(lengths: NDArray[np.int32], norms: NDArray[np.float32]) -> list[Trace]:
    """Histograms of the lengths on top, and of the norms at the right."""
    low, high = style.ends(norms, room=0)
    x, y = _cells(lengths), np.linspace(low, high, MARGINAL_BINS + 1)
    top, right = np.histogram(lengths, x)[0], np.histogram(norms, y)[0]
    texts = [list(map(counted, counts.tolist())) for counts in (top, right)]
    labels = "length %{x:.0f}: %{hovertext}", "norm %{y:.3~r}: %{hovertext}"
    look: Trace = {"marker": {"color": POINTS, "opacity": 0.35, "line": {"width": 0}}}
    flat: Trace = {"xaxis": "x2", "orientation": "h", "width": y[1] - y[0]}
    return [
        style.bars(_middles(x), top, texts[0], labels[0], yaxis="y2", width=x[1] - x[0], **look),
        style.bars(right, _middles(y), texts[1], labels[1], **flat, **look),
    ]


def _cells(lengths: NDArray[np.int32]) -> NDArray[np.float64]:
    """Edges of at most `MOST_LENGTHS` cells of whole lengths."""
    step = -(-int(np.ptp(lengths) + 1) // MOST_LENGTHS)
    return np.arange(lengths.min(), lengths.max() + 1 + step, step) - 0.5


def _middles(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    return (edges[:-1] + edges[1:]) / 2
