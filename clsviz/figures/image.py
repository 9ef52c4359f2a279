"""Figures as files: images by matplotlib, and pages that need no network."""

import html
import io
import re
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures import style
from clsviz.files import replacing
from clsviz.results.result import PICTURES, check_ending

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Image

WIDTH, HEIGHT, DOTS = 1000, 560, 100
"""Plotly's pixels of an image, and of an inch; a PNG has twice as many."""

POINTS: Final = 72 / DOTS  # points of a pixel
LEFT, RIGHT, BOTTOM, TOP = 85, 15, 67, 14  # pixels around the plots

SYMBOLS: Final = {"circle": ("o", 1), "star": ("*", 2), "diamond": ("D", 1), "square": ("s", 1)}
"""Matplotlib's symbols, and the area that makes each as large as Plotly's."""

DASHES: Final = {"solid": "-", "dot": ":", "dash": "--"}

CONFIG: Final = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["sendChartToCloud"],
}


def save(figure: style.Figure, path: Path) -> None:
    """Write a figure as .png, .svg, .pdf or .html; raises SettingError or StoreError."""
    check_ending(path, PICTURES)
    is_page = path.suffix == ".html"
    content = page(figure).encode() if is_page else render(figure, path.suffix[1:])
    with replacing(path) as file:
        file.write(content)


def page(figure: style.Figure) -> str:
    """A figure as a page with all that it needs."""
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>clsviz</title>
<style>body {{ margin: 0 }} .figure {{ height: 100vh }}</style>
<body>
{script()}
{element(figure)}
</html>
"""


def element(figure: style.Figure, name: str = "") -> str:
    """A figure inside a page with `script`. name: the picture in words."""
    content: str = figure.to_html(CONFIG, include_plotlyjs=False, full_html=False)
    return f'<div class="figure" role="figure" aria-label="{html.escape(name)}">{content}</div>'


def script() -> str:
    """Plotly, in a page’s body before its figures."""
    plotly = (files("clsviz") / "ui" / "plotly" / "plotly.min.js").read_text("utf-8")
    safe = plotly.replace("</script", r"<\/script")
    return f"<script>{safe}</script>"


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

    image = Image(figsize=(width / DOTS, height / DOTS), dpi=DOTS, facecolor=style.BACKGROUND)
    layout = figure.layout.to_plotly_json()
    plots: dict[tuple[str, str], Axes] = {}

    def plot_of(part: dict[str, Any], key: str) -> "Axes":
        x, y = (part.get(f"{side}{key}", side).removesuffix(" domain") for side in "xy")
        plots[x, y] = plots.get((x, y)) or _plot(image, layout, x, y)
        return plots[x, y]

    for trace in (trace.to_plotly_json() for trace in figure.data):
        MARKS[trace["type"]](plot_of(trace, "axis"), trace)
    for annotation in layout.get("annotations", []):
        _write(plot_of(annotation, "ref"), annotation)
    return image


def _plot(image: "Image", layout: dict[str, Any], x: str, y: str) -> "Axes":
    """A plot with axes of these names; letters stand at axes of the same number alone."""
    (width, height), right = image.get_size_inches() * DOTS, layout["margin"]["r"]
    looks = [layout.get(f"{name[0]}axis{name[1:]}", {}) for name in (x, y)]
    around = np.array([[LEFT, width - max(right, RIGHT)], [BOTTOM, height - TOP]])
    around /= np.array([[width], [height]])
    domains = np.array([look.get("domain", [0, 1]) for look in looks])
    (x0, x1), (y0, y1) = around[:, :1] + np.diff(around) * domains
    plot = image.add_axes((x0, y0, x1 - x0, y1 - y0), facecolor="none")
    plot.spines[:].set_visible(False)
    plot.set_axisbelow(True)
    has_letters = x[1:] == y[1:]
    plot.tick_params(colors=style.TEXT, length=0, labelsize=10)
    plot.tick_params(labelbottom=has_letters, labelleft=has_letters)
    for side, axis, look in zip("xy", (plot.xaxis, plot.yaxis), looks, strict=True):
        ends = look.get("autorangeoptions")
        if span := look.get("range") or (ends and [ends["minallowed"], ends["maxallowed"]]):
            plot.set(**{f"{side}lim": span})
        axis.set_visible(look.get("visible", True))
        if has_letters:
            axis.set_label_text(
                look.get("title", {}).get("text", ""), color=style.TEXT, fontsize=11
            )
        if look.get("showgrid"):
            axis.grid(color=look["gridcolor"], linewidth=0.8)
        if "tickvals" in look:
            axis.set_ticks(look["tickvals"], look["ticktext"])
        elif look.get("tickformat", "").endswith("%"):
            axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    return plot


def _scatter(plot: "Axes", trace: dict[str, Any]) -> None:
    x, y, line, marker = trace["x"], trace["y"], trace.get("line", {}), trace.get("marker", {})
    if "fill" in trace:
        plot.fill(x, y, color=trace["fillcolor"], alpha=trace["opacity"], linewidth=0, zorder=1)
    elif "lines" in trace["mode"]:
        dash, width = DASHES[line.get("dash", "solid")], line["width"] * POINTS
        plot.plot(x, y, color=line["color"], linestyle=dash, linewidth=width, zorder=2)
    if "markers" in trace["mode"]:
        edge = marker.get("line", {})
        symbol, area = SYMBOLS[marker.get("symbol", "circle")]
        plot.scatter(
            x,
            y,
            s=area * (marker["size"] * POINTS) ** 2,
            c=marker["color"],
            marker=symbol,
            alpha=marker.get("opacity", 1),
            edgecolors=edge.get("color", "none"),
            linewidths=edge.get("width", 0) * POINTS,
            rasterized=len(x) > 1000,
            zorder=2,
        )


def _bar(plot: "Axes", trace: dict[str, Any]) -> None:
    x, y, width, marker = trace["x"], trace["y"], trace["width"], trace["marker"]
    look = {"color": marker["color"], "alpha": marker.get("opacity", 1), "zorder": 2}
    if trace.get("orientation") == "h":
        plot.barh(y, x, width, **look)
    else:
        plot.bar(x, y, width, **look)


def _heatmap(plot: "Axes", trace: dict[str, Any]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("", [tuple(stop) for stop in trace["colorscale"]])
    look: dict[str, Any] = {"cmap": colours, "shading": "nearest", "rasterized": True, "zorder": 1}
    plot.pcolormesh(trace["x"], trace["y"], np.ma.masked_invalid(trace["z"]), **look)


MARKS: Final[dict[str, Callable[["Axes", dict[str, Any]], None]]] = {
    "scatter": _scatter,
    "scattergl": _scatter,
    "bar": _bar,
    "heatmap": _heatmap,
}
"""Draw a trace in a plot: areas and cells at the bottom, else in the order of the figure."""


def _write(plot: "Axes", annotation: dict[str, Any]) -> None:
    """Write an annotation, whose place is in data, or in shares of the plot."""
    text = html.unescape(re.sub(r"<[^>]*>", "", annotation["text"].replace("<br>", "\n")))
    font, vertical = annotation["font"], annotation.get("yanchor", "middle")
    x, y = (
        "axes fraction" if "domain" in annotation.get(ref, "") else "data"
        for ref in ("xref", "yref")
    )
    plot.annotate(
        text,
        (annotation["x"], annotation["y"]),
        (annotation.get("xshift", 0) * POINTS, annotation.get("yshift", 0) * POINTS),
        xycoords=(x, y),
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
