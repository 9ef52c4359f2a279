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

from clsviz.figures import style
from clsviz.files import replacing
from clsviz.results.result import PICTURES, check_ending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Image

WIDTH, HEIGHT, DOTS = 1000, 560, 100
"""Plotly's pixels of an image, and of an inch; a PNG has twice as many."""

POINTS: Final = 72 / DOTS
"""Points of a pixel."""

LEFT, RIGHT, BOTTOM, TOP = 85, 15, 67, 14
"""Pixels around the plots."""

SYMBOLS: Final = {"circle": "o", "star": "*", "diamond": "D", "square": "s"}
DASHES: Final = {"solid": "-", "dot": ":", "dash": "--"}


def save(figure: style.Figure, path: Path) -> None:
    """Write a figure as .png, .svg, .pdf or .html; raises SettingError or StoreError."""
    check_ending(path, PICTURES)
    is_page = path.suffix == ".html"
    content = page(figure).encode() if is_page else render(figure, path.suffix[1:])
    with replacing(path) as file:
        file.write(content)


def script() -> str:
    """Plotly's script, as it stands inside a page."""
    text = (files("clsviz") / "ui" / "plotly" / "plotly.min.js").read_text("utf-8")
    return text.replace("</script", r"<\/script")


def values(figure: style.Figure) -> str:
    """A figure and its configuration as JSON, as it stands inside a page."""
    hidden = ["sendChartToCloud"]
    config = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": hidden}
    content = f'{{"figure": {figure.to_json()}, "config": {json.dumps(config)}}}'
    return content.replace("<", "\\u003c")


def page(figure: style.Figure) -> str:
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


def render(figure: style.Figure, kind: str = "png") -> bytes:
    """A figure as an image. kind: png, svg or pdf."""
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is a box
        metadata = {"Date": None} if kind == "svg" else {}
        translate(figure).savefig(content, format=kind, dpi=2 * DOTS, metadata=metadata)
    return content.getvalue()


def translate(figure: style.Figure, width: int = WIDTH, height: int = HEIGHT) -> "Image":
    """The figure as one of matplotlib, of so many pixels: traces of `MARKS`, and annotations."""
    from matplotlib.figure import Figure as Image
    from matplotlib.transforms import blended_transform_factory

    image = Image(figsize=(width / DOTS, height / DOTS), dpi=DOTS, facecolor=style.BACKGROUND)
    layout = figure.layout.to_plotly_json()
    plots: dict[tuple[str, str], Axes] = {}
    for order, trace in enumerate(figure.data, start=3):
        values = trace.to_plotly_json()
        names = values.get("xaxis", "x"), values.get("yaxis", "y")
        plot = plots[names] = plots.get(names) or _plot(image, layout, names)
        MARKS[values["type"]](plot, values, layout.get("bargap", 0), order)
    for annotation in layout.get("annotations", []):
        refs = [annotation.get(f"{side}ref", side) for side in "xy"]
        names = refs[0].removesuffix(" domain"), refs[1].removesuffix(" domain")
        plot = plots[names] = plots.get(names) or _plot(image, layout, names)
        shares = [plot.transAxes if " " in ref else plot.transData for ref in refs]
        _write(plot, annotation, xycoords=blended_transform_factory(*shares))
    return image


def _plot(image: "Image", layout: dict[str, Any], names: tuple[str, str]) -> "Axes":
    """A plot with its axes. names: of both; letters stand at axes of the same number alone."""
    looks = [layout.get(f"{name[0]}axis{name[1:]}", {}) for name in names]
    (width, height), right = image.get_size_inches() * DOTS, layout["margin"]["r"]
    around = np.array([[LEFT, width - max(right, RIGHT)], [BOTTOM, height - TOP]])
    around /= np.array([[width], [height]])
    domains = np.array([look.get("domain", [0, 1]) for look in looks])
    (x0, x1), (y0, y1) = around[:, :1] + np.diff(around) * domains
    plot = image.add_axes((x0, y0, x1 - x0, y1 - y0), facecolor="none")
    plot.spines[:].set_visible(False)
    plot.set_axisbelow(True)
    is_named = names[0][1:] == names[1][1:]
    _axis(plot, "x", looks[0], is_named)
    _axis(plot, "y", looks[1], is_named)
    return plot


def _axis(plot: "Axes", side: Literal["x", "y"], look: dict[str, Any], is_named: bool) -> None:
    """Ends, title, ticks and grid of an axis; is_named: with letters at its ticks."""
    axis = getattr(plot, f"{side}axis")
    ends = look.get("autorangeoptions", {})
    span = look.get("range") or [ends[end] for end in ("minallowed", "maxallowed") if end in ends]
    if span:
        getattr(plot, f"set_{side}lim")(*span)
    labels = {"x": "labelbottom", "y": "labelleft"}
    plot.tick_params(side, colors=style.TEXT, length=0, labelsize=10, **{labels[side]: is_named})
    axis.set_visible(look.get("visible", True))
    if is_named:
        axis.set_label_text(look.get("title", {}).get("text", ""), color=style.TEXT, fontsize=11)
    if look.get("showgrid"):
        axis.grid(color=look["gridcolor"], linewidth=0.8)
    if "tickvals" in look:
        axis.set_ticks(look["tickvals"], look["ticktext"])
    elif look.get("tickformat", "").endswith("%"):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def _scatter(plot: "Axes", trace: dict[str, Any], _: float, order: int) -> None:
    x, y, line, marker = trace["x"], trace["y"], trace.get("line", {}), trace.get("marker", {})
    opacity = trace.get("opacity", 1)
    if "fill" in trace:
        plot.fill(x, y, color=trace["fillcolor"], alpha=opacity, linewidth=0, zorder=2)
    elif "lines" in trace["mode"]:
        dash, width = DASHES[line.get("dash", "solid")], line["width"] * POINTS
        plot.plot(x, y, color=line["color"], linestyle=dash, linewidth=width, zorder=order)
    if "markers" in trace["mode"]:
        edge = marker.get("line", {})
        plot.scatter(
            x,
            y,
            s=(marker["size"] * POINTS) ** 2,
            c=marker["color"],
            marker=SYMBOLS[marker.get("symbol", "circle")],
            alpha=marker.get("opacity", 1),
            edgecolors=edge.get("color", "none"),
            linewidths=edge.get("width", 0) * POINTS,
            rasterized=len(x) > 1000,
            zorder=order,
        )


def _bar(plot: "Axes", trace: dict[str, Any], gap: float, order: int) -> None:
    is_flat = trace.get("orientation") == "h"
    places, sizes = (trace["y"], trace["x"]) if is_flat else (trace["x"], trace["y"])
    is_named = isinstance(places[0], str) or len(places) < 2
    width = (1 - gap) * (1.0 if is_named else float(abs(places[1] - places[0])))
    marker = trace["marker"]
    look = {"color": marker["color"], "alpha": marker.get("opacity", 1), "zorder": order}
    (plot.barh if is_flat else plot.bar)(places, sizes, width, **look)


def _heatmap(plot: "Axes", trace: dict[str, Any], _: float, __: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("", [tuple(stop) for stop in trace["colorscale"]])
    look: dict[str, Any] = {"cmap": colours, "shading": "nearest", "rasterized": True, "zorder": 2}
    plot.pcolormesh(trace["x"], trace["y"], np.ma.masked_invalid(trace["z"]), **look)


MARKS: Final[dict[str, Callable[["Axes", dict[str, Any], float, int], None]]] = {
    "scatter": _scatter,
    "scattergl": _scatter,
    "bar": _bar,
    "heatmap": _heatmap,
}
"""Draw a trace in a plot, with this gap between bars, and above what has a lower order."""


def _write(plot: "Axes", annotation: dict[str, Any], xycoords: Any) -> None:
    """Write an annotation, whose place is in these coordinates."""
    text = html.unescape(re.sub(r"<[^>]*>", "", annotation["text"].replace("<br>", "\n")))
    font, vertical = annotation["font"], annotation.get("yanchor", "middle")
    plot.annotate(
        text,
        (annotation["x"], annotation["y"]),
        (annotation.get("xshift", 0) * POINTS, annotation.get("yshift", 0) * POINTS),
        xycoords=xycoords,
        textcoords="offset points",
        ha=annotation.get("xanchor", "center"),
        va="center" if vertical == "middle" else vertical,
        color=font["color"],
        fontsize=style.LABEL_SIZE * POINTS,
        weight=font["weight"],
        bbox={"facecolor": annotation.get("bgcolor", "none"), "edgecolor": "none", "pad": 1.5},
        zorder=100,
        parse_math=False,
    )
