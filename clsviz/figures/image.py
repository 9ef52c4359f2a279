"""Figures as files: images by matplotlib, and pages that need no network."""

import html
import io
import json
import re
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from clsviz.figures.style import BACKGROUND, TEXT
from clsviz.files import replacing
from clsviz.results.result import check_ending

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

ENDINGS: Final = (".png", ".svg", ".pdf", ".html")

WIDTH, HEIGHT, DOTS = 1000, 560, 100
"""Of an image in Plotly's pixels, and how many of them make an inch; a PNG has twice as many."""

POINTS: Final = 72 / DOTS
"""Points of a pixel."""

LEFT, RIGHT, BOTTOM, TOP = 0.085, 0.985, 0.12, 0.975
"""Ends of the plots, as shares of an image."""

SYMBOLS: Final = {"circle": "o", "star": "*", "diamond": "D", "square": "s", "line-ew": "_"}
DASHES: Final = {"solid": "-", "dot": ":", "dash": "--", "dashdot": "-."}


def save(figure: "go.Figure", path: Path) -> None:
    """Write a figure as .png, .svg, .pdf or .html; raises SettingError or StoreError."""
    check_ending(path, ENDINGS)
    is_page = path.suffix == ".html"
    content = page(figure).encode() if is_page else _render(figure, path.suffix[1:])
    with replacing(path) as file:
        file.write(content)


def png(figure: "go.Figure") -> bytes:
    """A figure as a PNG."""
    return _render(figure, "png")


def script() -> str:
    """Plotly's script, as it stands inside a page."""
    text = (files("clsviz") / "ui" / "plotly" / "plotly.min.js").read_text("utf-8")
    return text.replace("</script", r"<\/script")


def values(figure: "go.Figure") -> str:
    """A figure and its configuration as JSON, as it stands inside a page."""
    config = {
        "displaylogo": False,
        "responsive": True,
        "modeBarButtonsToRemove": ["sendChartToCloud"],
    }
    content = f'{{"figure": {figure.to_json()}, "config": {json.dumps(config)}}}'
    return content.replace("<", "\\u003c")


def page(figure: "go.Figure") -> str:
    """A figure as a page with all that it needs."""
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>clsviz</title>
<style>body {{ margin: 0 }} #figure {{ height: 100vh }}</style>
<div id="figure" role="figure"></div>
<script>{script()}</script>
<script>
(({{ figure, config }}) => Plotly.newPlot("figure", {{ ...figure, config }}))({values(figure)})
</script>
</html>
"""


def _render(figure: "go.Figure", kind: str) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is a box
        metadata = {"Date": None} if kind == "svg" else {}
        translate(figure).savefig(content, format=kind, dpi=2 * DOTS, metadata=metadata)
    return content.getvalue()


def translate(figure: "go.Figure") -> "Figure":
    """The figure as one of matplotlib: the traces in TRACES, lines and rectangles, annotations."""
    from matplotlib.figure import Figure

    image = Figure(figsize=(WIDTH / DOTS, HEIGHT / DOTS), dpi=DOTS, facecolor=BACKGROUND)
    layout = figure.layout.to_plotly_json()
    plots: dict[tuple[str, str], Axes] = {}
    for order, trace in enumerate(figure.data):
        values = trace.to_plotly_json()
        names = values.get("xaxis", "x"), values.get("yaxis", "y")
        if names not in plots:
            plots[names] = _plot(image, layout, names)
        TRACES[values["type"]](plots[names], values, layout, order)
    for shape in layout.get("shapes", []):
        _shape(_plot_of(plots, shape), shape)
    for annotation in layout.get("annotations", []):
        _annotation(_plot_of(plots, annotation), annotation)
    for (x, y), plot in plots.items():
        _axis(plot, "x", _look(layout, x), is_named=y[1:] == x[1:])
        _axis(plot, "y", _look(layout, y), is_named=x[1:] == y[1:])
    return image


def _look(layout: dict[str, Any], name: str) -> dict[str, Any]:
    """The layout of an axis, such as that of y2, which is yaxis2."""
    look: dict[str, Any] = layout.get(f"{name[0]}axis{name[1:]}", {})
    return look


def _plot(image: "Figure", layout: dict[str, Any], names: tuple[str, str]) -> "Axes":
    (left, right), (bottom, top) = (_look(layout, name).get("domain", [0, 1]) for name in names)
    width, height = RIGHT - LEFT, TOP - BOTTOM
    box = (
        LEFT + left * width,
        BOTTOM + bottom * height,
        (right - left) * width,
        (top - bottom) * height,
    )
    return image.add_axes(box, facecolor="none")


def _plot_of(plots: "dict[tuple[str, str], Axes]", item: dict[str, Any]) -> "Axes":
    """The plot that a shape or annotation refers to, or the first one."""
    names = (item.get(f"{side}ref", side).removesuffix(" domain") for side in "xy")
    return plots.get((next(names), next(names)), next(iter(plots.values())))


def _axis(plot: "Axes", side: Literal["x", "y"], look: dict[str, Any], *, is_named: bool) -> None:
    """Ends, title, ticks and grid of an axis; is_named: with letters at its ticks."""
    axis = getattr(plot, f"{side}axis")
    ends = look.get("autorangeoptions", {})
    span = look.get("range") or [ends[end] for end in ("minallowed", "maxallowed") if end in ends]
    if look.get("type") == "log":
        getattr(plot, f"set_{side}scale")("log")
        span = [10**end for end in span]
    if span:
        getattr(plot, f"set_{side}lim")(*span)
    plot.spines[:].set_visible(False)
    is_bottom, is_left = is_named and side == "x", is_named and side == "y"
    plot.tick_params(
        side, colors=TEXT, length=0, labelsize=10, labelbottom=is_bottom, labelleft=is_left
    )
    axis.set_visible(look.get("visible", True))
    if is_named:
        axis.set_label_text(look.get("title", {}).get("text", ""), color=TEXT, fontsize=11)
    if look.get("showgrid", True):
        axis.grid(color=look.get("gridcolor"), linewidth=0.8)
    plot.set_axisbelow(True)
    if "tickvals" in look:
        axis.set_ticks(look["tickvals"], look["ticktext"])
    elif look.get("tickformat", "").endswith("%"):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def _scatter(plot: "Axes", trace: dict[str, Any], _: dict[str, Any], order: int) -> None:
    x, y, look = trace["x"], trace["y"], trace.get("line", {})
    opacity = trace.get("opacity", 1)
    if trace.get("fill") == "toself":
        plot.fill(x, y, color=trace["fillcolor"], alpha=opacity, linewidth=0, zorder=2)
    if "lines" in trace["mode"] and look.get("width", 2):
        style = {"color": look.get("color"), "linestyle": DASHES[look.get("dash", "solid")]}
        width = look.get("width", 2) * POINTS
        plot.plot(x, y, linewidth=width, alpha=opacity, zorder=3 + order, **style)
    if "markers" in trace["mode"]:
        marker = trace.get("marker", {})
        edge = marker.get("line", {})
        plot.scatter(
            x,
            y,
            s=(marker.get("size", 6) * POINTS) ** 2,
            c=marker.get("color", look.get("color")),
            marker=SYMBOLS[marker.get("symbol", "circle")],
            alpha=marker.get("opacity", opacity),
            edgecolors=edge.get("color", "none"),
            linewidths=edge.get("width", 0) * POINTS,
            rasterized=len(x) > 1000,
            zorder=3 + order,
        )


def _bar(plot: "Axes", trace: dict[str, Any], layout: dict[str, Any], order: int) -> None:
    is_flat = trace.get("orientation") == "h"
    places, sizes = (trace["y"], trace["x"]) if is_flat else (trace["x"], trace["y"])
    is_named = isinstance(places[0], str)
    step = 1.0 if is_named or len(places) < 2 else float(np.diff(places).min())
    marker = trace.get("marker", {})
    look = {"color": marker.get("color"), "alpha": marker.get("opacity", trace.get("opacity", 1))}
    draw = plot.barh if is_flat else plot.bar
    draw(places, sizes, step * (1 - layout.get("bargap", 0.2)), zorder=3 + order, **look)


def _heatmap(plot: "Axes", trace: dict[str, Any], _: dict[str, Any], order: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("", [tuple(stop) for stop in trace["colorscale"]])
    cells = np.ma.masked_invalid(np.array(trace["z"], float))
    image = plot.pcolormesh(trace["x"], trace["y"], cells, cmap=colours, shading="nearest")
    image.set(rasterized=True, zorder=2, clim=(trace.get("zmin"), trace.get("zmax")))


TRACES: Final[dict[str, Callable[["Axes", dict[str, Any], dict[str, Any], int], None]]] = {
    "scatter": _scatter,
    "scattergl": _scatter,
    "bar": _bar,
    "heatmap": _heatmap,
}
"""Draw a trace in a plot, given the layout and its place among the traces."""


def _transform(plot: "Axes", item: dict[str, Any]) -> "Transform":
    """The coordinates of a shape or annotation: data, or shares of the plot."""
    from matplotlib.transforms import blended_transform_factory

    is_share = [item.get(f"{side}ref", "").endswith(("domain", "paper")) for side in "xy"]
    sides = [plot.transAxes if share else plot.transData for share in is_share]
    return blended_transform_factory(*sides)


def _shape(plot: "Axes", shape: dict[str, Any]) -> None:
    """A line or a rectangle."""
    x, y = [shape["x0"], shape["x1"]], [shape["y0"], shape["y1"]]
    look = shape.get("line", {})
    place = {"transform": _transform(plot, shape), "alpha": shape.get("opacity", 1)}
    if shape["type"] == "rect":
        corners = [x[0], x[1], x[1], x[0]], [y[0], y[0], y[1], y[1]]
        plot.fill(*corners, color=shape["fillcolor"], linewidth=0, zorder=1, **place)
    else:
        style = {"color": look.get("color"), "linestyle": DASHES[look.get("dash", "solid")]}
        plot.plot(x, y, linewidth=look.get("width", 2) * POINTS, zorder=3, **style, **place)


def _annotation(plot: "Axes", annotation: dict[str, Any]) -> None:
    font = annotation.get("font", {})
    text = html.unescape(re.sub(r"<[^>]*>", "", annotation["text"].replace("<br>", "\n")))
    box = {"facecolor": annotation.get("bgcolor", "none"), "edgecolor": "none", "pad": 1.5}
    plot.annotate(
        text,
        (annotation["x"], annotation["y"]),
        (annotation.get("xshift", 0) * POINTS, annotation.get("yshift", 0) * POINTS),
        xycoords=_transform(plot, annotation),
        textcoords="offset points",
        ha=annotation.get("xanchor", "center"),
        va={"middle": "center"}.get(anchor := annotation.get("yanchor", "middle"), anchor),
        color=font.get("color", TEXT),
        fontsize=font.get("size", 13) * POINTS,
        weight=font.get("weight", "normal"),
        bbox=box,
        zorder=100,
        parse_math=False,
    )
