"""A figure that stands still: its data as SVG, which a browser shows before Plotly is there, and stretches as it does.

What a figure holds says nothing of where Plotly draws it: that was measured in a browser, and is a `Frame`. Every part
of the plot is an SVG of its own without a fixed ratio. Its strokes keep their widths, and so do points, which are
strokes of no length with round ends.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from clsviz.figures.still_traces import DRAW, HEIGHT, SHAPES, WIDTH, Axis, Ink, Scale, marks_of, plain


class Text(TypedDict):
    """A line of text: its middle in pixels of the chart, its size, its angle, and the role of its colour.

    on: whether the background shines through less than elsewhere.
    """

    text: str
    x: float
    y: float
    size: float
    angle: float
    colour: str
    weight: str
    on: bool


class Stroke(TypedDict):
    """A path of the legend, which begins at x and y."""

    d: str
    x: float
    y: float
    stroke: str
    width: float
    dash: str
    fill: str
    opacity: float


class Arrangement(TypedDict):
    """How a figure is arranged in a chart of some width; margins: left, right, top and bottom, in pixels."""

    width: float
    margins: list[float]
    texts: list[Text]
    legend: list[Stroke]


class Frame(TypedDict):
    """Where Plotly draws a figure: on a wide page, and on a phone; height: of the chart, in pixels."""

    height: float
    axes: dict[str, Axis]
    wide: Arrangement
    narrow: Arrangement


def still(figure: Mapping[str, Any], frame: Frame, colours: Mapping[str, str]) -> str:
    """The figure, as plain data, in HTML that fills the chart; colours: of the figure, and what they are in CSS.

    Raises KeyError for what no figure that pages open with has, such as another type of trace.
    """
    ink = Ink(colours)
    left, right, top, bottom = frame["wide"]["margins"]
    *_, top_of_narrow, _ = frame["narrow"]["margins"]
    look = f"--l:{left:g}px;--r:{right:g}px;--t:{top:g}px;--b:{bottom:g}px;--n:{top_of_narrow:g}px"
    parts = "".join(_part(figure, frame, pair, ink) for pair in _pairs(figure))
    return f'<div class="chart" style="height:{frame["height"]:g}px;{look}">{parts}{_texts(frame)}</div>'


def _pairs(figure: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The axes that traces are drawn on."""
    return [*dict.fromkeys(_axes_of(trace) for trace in figure["data"])]


def _axes_of(item: Mapping[str, Any], x: str = "xaxis", y: str = "yaxis") -> tuple[str, str]:
    return str(item.get(x, "x")), str(item.get(y, "y"))


def _part(figure: Mapping[str, Any], frame: Frame, pair: tuple[str, str], ink: Ink) -> str:
    """The part of the plot between two axes."""
    x, y = (frame["axes"][name] for name in pair)
    scale, (left, right), (low, high) = Scale(x, y), x["domain"], y["domain"]
    lines = "".join(f"M0 {at:.1f}h{WIDTH}" for at in scale.down(y["grid"]))
    lines += "".join(f"M{at:.1f} 0v{HEIGHT}" for at in scale.across(x["grid"]))
    drawn = [f'<path class="grid" d="{lines}"/>'] if lines else []
    bases: dict[Any, float] = {}
    marks: list[str] = []
    for trace in figure["data"]:
        if _axes_of(trace) == pair:
            drawn += DRAW[trace["type"]](plain(trace), figure["layout"], scale, ink, bases)
            marks += marks_of(plain(trace), scale, ink)
    for shape in figure["layout"].get("shapes", ()):
        if _axes_of(shape, "xref", "yref") == pair:
            drawn.append(SHAPES[shape["type"]](shape, scale, ink))
    place = f"--x:{left:.5g};--w:{right - left:.5g};--y:{1 - high:.5g};--v:{high - low:.5g}"
    box = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">{"".join(drawn)}</svg>'
    return f'<div class="part" data-axes="{"".join(pair)}" style="{place}">{box}{"".join(marks)}</div>'


def _texts(frame: Frame) -> str:
    """All texts: those that are in both arrangements once, moving with the width of the chart."""
    wide, narrow = frame["wide"], frame["narrow"]
    named, known = _named(wide["texts"]), _named(narrow["texts"])
    shared = [name for name in named if len(named[name]) == len(known.get(name, ()))]
    pairs = [pair for name in shared for pair in zip(named[name], known[name], strict=True)]
    drawn = [_text(one, *_along(one, other, wide["width"], narrow["width"])) for one, other in pairs]
    for kind, one in (("wide", wide), ("narrow", narrow)):
        rest = [text for name, texts in _named(one["texts"]).items() if name not in shared for text in texts]
        legend = "".join(map(_stroke_of_legend, one["legend"]))
        if rest or legend:
            own = "".join(_text(text, *_in_plot(text["x"], one)) for text in rest)
            drawn.append(f'<div class="{kind}">{own}{f"<svg>{legend}</svg>" if legend else ""}</div>')
    return "".join(drawn)


def _named(texts: Sequence[Text]) -> dict[tuple[object, ...], list[Text]]:
    """The texts of each name, from left to right; those of one name are the same in either arrangement."""
    named: dict[tuple[object, ...], list[Text]] = {}
    for text in sorted(texts, key=lambda text: text["x"]):
        named.setdefault((text["text"], round(text["y"]), text["size"], text["angle"]), []).append(text)
    return named


def _along(wide: Text, narrow: Text, width: float, width_of_narrow: float) -> tuple[float, float]:
    """Where the middle of a text is: pixels, and a share of the width of the chart."""
    share = (wide["x"] - narrow["x"]) / (width - width_of_narrow)
    return wide["x"] - share * width, share


def _in_plot(x: float, one: Arrangement) -> tuple[float, float]:
    """The same of a text in one arrangement alone: inside the plot it moves with it, and left of it stays there."""
    left, right, *_ = one["margins"]
    share = max(0.0, (x - left) / (one["width"] - left - right))
    return x - share * one["width"], share


def _text(text: Text, pixels: float, share: float) -> str:
    look = f"left:calc({pixels:.1f}px + {100 * share:.2f}%);top:{text['y']:.1f}px;font-size:{text['size']:g}px"
    kinds = [text["colour"], *(["up"] if text["angle"] else []), *(["on"] if text["on"] else [])]
    bold = ";font-weight:600" if text["weight"] in ("600", "700", "bold") else ""
    return f'<i class="{" ".join(kinds)}" style="{look}{bold}">{html.escape(text["text"])}</i>'


def _stroke_of_legend(one: Stroke) -> str:
    look = f"fill:{one['fill']};fill-opacity:{one['opacity']:g}" if one["fill"] != "none" else "fill:none"
    if one["width"]:
        look += f";stroke:{one['stroke']};stroke-width:{one['width']:g}px"
    look += f";stroke-dasharray:{one['dash']}" if one["dash"] else ""
    return f'<path transform="translate({one["x"]:g} {one["y"]:g})" d="{html.escape(one["d"])}" style="{look}"/>'
