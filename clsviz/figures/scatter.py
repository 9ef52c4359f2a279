"""Norm against length: a point for each sentence, and R² of every layer."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.figures.style import (
    LINE,
    POINTS,
    SEQUENCE,
    STAR,
    SUMMARY,
    TEXT,
    Label,
    annotations,
    area,
    axis,
    corner,
    ends,
    hover_label,
    layout,
    shorten,
)
from clsviz.results.numbers import counted, percent
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_POINTS, FEW_POINTS = 50_000, 5_000
"""Points that hover can search without delay; points above a histogram of still more sentences."""

MOST_LENGTHS, NORM_BINS = 80, 96
"""Cells of a two-dimensional histogram."""

MOST_NAMED = 8
"""Stars of the visitor's own sentences with a label."""

PLOT: Final = {"x": [0.0, 0.9], "y": [0.0, 0.87]}
MARGINS: Final = {"x": [0.91, 1.0], "y": [0.885, 1.0]}
"""Shares of the picture for the points, and for the histograms next to them."""

Trace = dict[str, Any]


def norms(result: Result) -> "go.Figure":
    """The figure of a result of `results.norms`; points carry their row of the table as customdata.

    It draws the rows that are used, and what there is of its picture: labels {x, y},
    curve {lengths, norms}, bands {lengths, median, low, high}, typed [{sentence, length, norm}].
    """
    import plotly.graph_objects as go

    picture = result.picture
    rows = np.flatnonzero(result.table["is_used"].to_numpy(bool)).astype(np.int32)
    lengths = result.table["length"].to_numpy()[rows].astype(np.int32)
    norms = result.table["norm"].to_numpy()[rows].astype(np.float32)
    typed = picture.get("typed") or []
    lines = _lines(result, picture, lengths)
    xs = [0.0, 1.03 * max([1, *lengths.tolist(), *(own["length"] for own in typed)])]
    ys = ends(
        norms,
        *(own["norm"] for own in typed),
        *(end for line in lines for end in line["y"][[0, -1]]),
    )
    is_dense = len(rows) > MOST_POINTS
    n_points = FEW_POINTS if is_dense else len(rows)
    points = np.linspace(0, len(rows) - 1, n_points).astype(np.intp)
    axes = picture.get("labels", {})
    data = [
        *([_density(lengths, norms, xs, ys)] if is_dense else []),
        *_band("5–95%", picture.get("bands"), SUMMARY, 0.1),
        _cloud(result, rows[points], lengths[points], norms[points]),
        *_band("95% interval of the line", picture.get("line_band"), LINE, 0.2),
        *lines,
        *_stars(typed),
        *(_marginals(lengths, norms) if len(rows) else []),
    ]
    is_rising = (result.fact("slope") or 0) > 0
    named = annotations(_names(typed, xs[1]), xs, ys) + _key(lines, is_rising)
    if is_dense:
        note = f"{counted(len(rows))} by cell, and {FEW_POINTS:,} of them as points"
        named.append(corner(note, is_left=True, is_top=is_rising))
    shape = layout(
        xaxis=axis(axes.get("x", "Sentence length (tokens)"), xs, domain=PLOT["x"]),
        yaxis=axis(axes.get("y", "Norm of [CLS]"), ys, domain=PLOT["y"], showgrid=True),
        xaxis2=axis(domain=MARGINS["x"], visible=False, fixedrange=True, rangemode="tozero"),
        yaxis2=axis(domain=MARGINS["y"], visible=False, fixedrange=True, rangemode="tozero"),
        annotations=named,
        dragmode="zoom",
        uirevision=_revision(result),
    )
    return go.Figure(data, shape)


def strip(result: Result) -> "go.Figure":
    """R² of every layer, a bar each, of the same result; customdata is the place of a bar.

    It draws layers of its details, [{layer, r_squared}]: a layer is a number, “mean” or “pooler”.
    """
    import plotly.graph_objects as go

    layers = result.details["layers"]
    names = [str(entry["layer"]) for entry in layers]
    shares = [entry["r_squared"] for entry in layers]
    chosen = _chosen(result, names)
    bars = {
        "type": "bar",
        "x": names,
        "y": [share or 0 for share in shares],
        "hovertext": [_bar_label(*pair) for pair in zip(names, shares, strict=True)],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "customdata": np.arange(len(layers), dtype=np.int32),
        "marker": {"color": [LINE if name == chosen else POINTS for name in names]},
    }
    span = [0, 1.1 * max([0.01, *(share or 0 for share in shares)])]
    shape = layout(
        xaxis=axis("", type="category", tickangle=0, fixedrange=True, tickfont={"size": 11}),
        yaxis=axis("R²", span, tickformat=".1~%", nticks=3, fixedrange=True, showgrid=True),
        dragmode=False,
        hovermode="x",  # the lowest bar can be clicked too
        bargap=0.25,
    )
    return go.Figure([bars], shape)


def _bar_label(name: str, share: float | None) -> str:
    place = f"layer {name}" if name.isdecimal() else name
    return f"{place}: R² {'undefined' if share is None else percent(share)}"


def _revision(result: Result) -> str:
    """A name of the axes: while it is the same, zoom survives a redraw."""
    names = ("model_fingerprint", "corpus_fingerprint", "layer", "pooling", "unit")
    return " ".join(str(result.about.get(name)) for name in names)


def _chosen(result: Result, names: list[str]) -> str:
    """The name of the bar of the layer and vector that the result is about."""
    pooling = result.about.get("pooling", "cls")
    if pooling != "cls":
        return str(pooling)
    layer = result.about.get("layer")
    return max(filter(str.isdigit, names), key=int) if layer is None else str(layer)


def _cloud(
    result: Result, rows: NDArray[np.int32], lengths: NDArray[np.int32], norms: NDArray[np.float32]
) -> Trace:
    """The points. Without picks all look the same; where there are some, they stand out."""
    opacity = float(np.clip(20 / max(len(rows), 1) ** 0.5, 0.15, 0.7))
    sentences = result.table["sentence"].to_numpy()[rows]
    numbers = f"%{{x}} {result.about.get('unit', 'tokens')}, norm %{{y:.5~g}}"
    return {
        "type": "scattergl",
        "name": "sentences",
        "mode": "markers",
        "x": lengths,
        "y": norms,
        "customdata": rows,
        "text": [hover_label(sentence) for sentence in sentences],
        "hovertemplate": f"%{{text}}<br><b>{numbers}</b><extra></extra>",
        "marker": {"size": 5, "opacity": opacity, "color": POINTS},
        "selected": {"marker": {"size": 11, "opacity": 1, "color": SUMMARY}},
        "unselected": {"marker": {"opacity": opacity}},
    }


def _lines(result: Result, picture: Mapping[str, Any], lengths: NDArray[np.int32]) -> list[Trace]:
    """The median, the curve and the line; by WebGL, as points cover the rest."""
    lines = []
    if bands := picture.get("bands"):
        look = {"color": SUMMARY, "width": 1.5}
        lines.append(_line("━ median, 5–95% shaded", bands["lengths"], bands["median"], look))
    if curve := picture.get("curve"):
        look = {"color": LINE, "width": 2, "dash": "dot"}
        lines.append(_line("┅ smooth curve", curve["lengths"], curve["norms"], look))
    slope, intercept, share = map(result.fact, ("slope", "intercept", "r_squared"))
    if slope is not None and intercept is not None and len(lengths):
        x = np.array([lengths.min(), lengths.max()])
        name = "━ straight line" if share is None else f"━ line, R² {percent(share)}"
        lines.append(_line(name, x, intercept + slope * x, {"color": LINE, "width": 3}))
    return lines


def _line(name: str, x: ArrayLike, y: ArrayLike, look: dict[str, Any]) -> Trace:
    trace = {"type": "scattergl", "mode": "lines", "name": name, "line": look, "hoverinfo": "skip"}
    return {**trace, "x": np.asarray(x, np.float32), "y": np.asarray(y, np.float32)}


def _key(lines: Sequence[Trace], is_rising: bool) -> list[Trace]:
    """The names of the lines, in the right corner that they leave free."""
    step = 18 if is_rising else -18
    names = []
    for n, trace in enumerate(reversed(lines)):
        name = corner(trace["name"], is_left=False, is_top=not is_rising, yshift=step * n)
        name["font"] = {"color": trace["line"]["color"], "weight": "bold"}
        names.append(name)
    return names


def _band(name: str, band: Mapping[str, Any] | None, colour: str, opacity: float) -> list[Trace]:
    """The area between the low and the high end, below the points."""
    if not band:
        return []
    return [area(name, band["lengths"], band["low"], band["high"], colour, opacity)]


def _stars(typed: Sequence[Mapping[str, Any]]) -> list[Trace]:
    """The visitor's own sentences."""
    if not typed:
        return []
    return [
        {
            "type": "scattergl",
            "mode": "markers",
            "name": "your sentences",
            "x": np.array([own["length"] for own in typed], np.int32),
            "y": np.array([own["norm"] for own in typed], np.float32),
            "text": [hover_label(own["sentence"]) for own in typed],
            "hovertemplate": "%{text}<br><b>%{x}, norm %{y:.5~g}</b><extra></extra>",
            "marker": STAR,
        }
    ]


def _names(typed: Sequence[Mapping[str, Any]], longest: float) -> list[Label]:
    """The first words of each star, on the side where there is room."""
    if len(typed) > MOST_NAMED:
        return []
    return [
        Label(
            shorten(own["sentence"], 20),
            TEXT,
            own["length"],
            own["norm"],
            own["length"] > longest / 2,
        )
        for own in typed
    ]


def _density(
    lengths: NDArray[np.int32], norms: NDArray[np.float32], xs: list[float], ys: list[float]
) -> Trace:
    """A histogram in two dimensions; darkness by the logarithm of the count."""
    step = -(-int(lengths.max() + 1) // MOST_LENGTHS)
    x = np.arange(0, lengths.max() + 1 + step, step) - 0.5
    y = np.linspace(ys[0], ys[1], NORM_BINS + 1)
    counts = np.histogram2d(norms, lengths, [y, x])[0]
    return {
        "type": "heatmap",
        "x": (x[:-1] + x[1:]) / 2,
        "y": (y[:-1] + y[1:]) / 2,
        "z": np.log10(counts, where=counts > 0, out=np.full(counts.shape, np.nan)).astype(
            np.float32
        ),
        "text": [[counted(int(n)) for n in row] for row in counts.tolist()],
        "hovertemplate": "length %{x:.0f}, norm %{y:.4~g}: %{text}<extra></extra>",
        "hoverongaps": False,
        "showscale": False,
        "colorscale": [[n / (len(SEQUENCE) - 1), colour] for n, colour in enumerate(SEQUENCE)],
    }


def _marginals(lengths: NDArray[np.int32], norms: NDArray[np.float32]) -> list[Trace]:
    """Histograms of the lengths on top, and of the norms at the right."""
    step = -(-int(np.ptp(lengths) + 1) // MOST_LENGTHS)
    edges = np.arange(lengths.min(), lengths.max() + 1 + step, step) - 0.5
    top = _histogram(lengths, edges, ("x", "y"), "length %{x:.0f}: %{text}")
    low, high = ends(norms, room=0)
    edges = np.linspace(low, high, 61)
    right = _histogram(norms, edges, ("y", "x"), "norm %{y:.4~g}: %{text}")
    return [{**top, "yaxis": "y2"}, {**right, "xaxis": "x2", "orientation": "h"}]


def _histogram(
    values: NDArray[Any], edges: NDArray[np.float64], sides: tuple[str, str], label: str
) -> Trace:
    """A bar for each bin; sides: the axis of the values, and that of the counts."""
    counts = np.histogram(values, edges)[0]
    return {
        "type": "bar",
        sides[0]: (edges[:-1] + edges[1:]) / 2,
        sides[1]: counts,
        "text": [counted(n) for n in counts.tolist()],
        "textposition": "none",
        "hovertemplate": f"{label}<extra></extra>",
        "marker": {"color": POINTS, "opacity": 0.35, "line": {"width": 0}},
    }
