"""Traces and shapes of a figure as SVG, in units of the part of the plot that they are in; see still.py."""

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 3000, 1000
"""Units of each part of the plot; a unit is less than half a pixel, even on a large screen."""

_LAYERS = 16
"""Points are divided among so many paths, as a path that overlaps itself grows no darker, and points do."""


class Axis(TypedDict):
    """range: its ends. domain: the share of the plot that it takes. grid: where its lines are."""

    range: list[float]
    domain: list[float]
    grid: list[float]


class Ink:
    """Colours of a figure, with up to two digits of opacity, as attributes of SVG."""

    def __init__(self, colours: Mapping[str, str]) -> None:
        self._colours = colours

    def of(self, colour: str, kind: str, opacity: float = 1) -> str:
        """As the fill or the stroke."""
        if re.fullmatch(r"#\w{8}", colour):
            colour, opacity = colour[:7], opacity * int(colour[7:], 16) / 255
        faint = "" if opacity == 1 else f";{kind}-opacity:{opacity:.3g}"
        return f"{kind}:{self._colours.get(colour, colour)}{faint}"


class Scale:
    """From data to units of one part of the plot."""

    def __init__(self, x: Axis, y: Axis) -> None:
        self._x, self._y = x["range"], y["range"]

    def across(self, values: Any) -> Floats:
        """From the left."""
        start, end = self._x
        return (np.asarray(values, float) - start) / (end - start) * WIDTH

    def down(self, values: Any) -> Floats:
        """From the top."""
        start, end = self._y
        return (end - np.asarray(values, float)) / (end - start) * HEIGHT


def plain(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace, with the arrays that Plotly packs as such."""
    return {name: _array(value) if _is_packed(value) else value for name, value in trace.items()}


def _is_packed(value: object) -> bool:
    return isinstance(value, Mapping) and "bdata" in value


def _array(packed: Mapping[str, str]) -> Floats:
    values = np.frombuffer(base64.b64decode(packed["bdata"]), np.dtype(packed["dtype"])).astype(float)
    return values.reshape([int(n) for n in packed["shape"].split(",")]) if "shape" in packed else values


def _scatter(
    trace: dict[str, Any], layout: Mapping[str, Any], scale: Scale, ink: Ink, bases: dict[Any, float]
) -> list[str]:
    """Lines, areas, and points that are plain dots; other marks keep their shape, so they are no part of this."""
    line, drawn = trace.get("line", {}), []
    x, y = (np.array(trace[name], float) for name in "xy")
    runs = list(_runs(scale.across(x), scale.down(y)))
    if trace.get("fill") == "toself":
        areas = "".join(f"M{_joined(*run)}z" for run in runs)
        drawn.append(f'<path d="{areas}" style="{ink.of(trace["fillcolor"], "fill")}"/>')
    if "lines" in trace["mode"] and line.get("width"):
        path = "".join(f"M{_joined(*run)}" for run in runs)
        drawn.append(f'<path class="line" d="{path}" style="{_stroke(line, ink)}"/>')
    if trace["mode"] == "markers" and "symbol" not in trace["marker"]:
        drawn += _dots(scale.across(x), scale.down(y), trace["marker"], ink)
    return drawn


def _runs(x: Floats, y: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Where neither is undefined."""
    defined = np.flatnonzero(np.isfinite(x + y))
    for run in filter(len, np.split(defined, np.flatnonzero(np.diff(defined) > 1) + 1)):
        yield x[run], y[run]


def _joined(x: Floats, y: Floats) -> str:
    return "L".join(f"{across:.1f} {down:.1f}" for across, down in zip(x, y, strict=True)).replace(".0", "")


def _stroke(line: Mapping[str, Any], ink: Ink) -> str:
    dash = _dashes(line.get("dash", "solid"), line["width"])
    return f"{ink.of(line['color'], 'stroke')};stroke-width:{line['width']:g}px" + (
        f";stroke-dasharray:{dash}" if dash else ""
    )


def _dashes(name: str, width: float) -> str:
    """As Plotly draws them."""
    return " ".join(f"{n * max(width, 3):g}" for n in _DASHES[name])


_DASHES: dict[str, tuple[int, ...]] = {
    "solid": (),
    "dot": (1, 1),
    "dash": (3, 3),
    "longdash": (5, 5),
    "dashdot": (3, 1, 1, 1),
    "longdashdot": (5, 2, 1, 2),
}


def _dots(x: Floats, y: Floats, marker: Mapping[str, Any], ink: Ink) -> list[str]:
    """Points, each of which darkens what is below it."""
    if not marker.get("opacity", 1):
        return []
    across, down = np.rint(x).astype(int), np.rint(y).astype(int)
    paths: list[list[tuple[int, int]]] = [[] for _ in range(_LAYERS)]
    for number, column in enumerate(np.unique(across)):
        for rank, height in enumerate(np.sort(down[across == column])):
            paths[(rank + 7 * number) % _LAYERS].append((int(column), int(height)))
    look = f"{ink.of(marker['color'], 'stroke', marker.get('opacity', 1))};stroke-width:{marker['size']:g}px"
    drawn = "".join(f'<path d="{_moves(path)}"/>' for path in paths if path)
    return [f'<g class="dots" style="{look}">{drawn}</g>']


def _moves(points: Sequence[tuple[int, int]]) -> str:
    """To every point once, in short."""
    moves, (x, y) = [], (0, 0)
    for to_x, to_y in dict.fromkeys(points):
        moves.append(f"m{to_x - x} {to_y - y}z".replace(" -", "-"))
        x, y = to_x, to_y
    return "".join(moves)


def _bars(
    trace: dict[str, Any], layout: Mapping[str, Any], scale: Scale, ink: Ink, bases: dict[Any, float]
) -> list[str]:
    """Bars; those of one place lie one upon the other, which is how all of ours are that have one place."""
    is_flat = trace.get("orientation") == "h"
    places, values = (trace["y"], trace["x"]) if is_flat else (trace["x"], trace["y"])
    if "marker" not in trace:  # it holds labels, which are texts
        return []
    width = np.broadcast_to(trace.get("width", 1 - layout["bargap"]), len(values))
    rectangles = []
    for number, (place, value) in enumerate(zip(places, values, strict=True)):
        at = number if isinstance(place, str) else place
        start = bases.get((at, is_flat), 0.0)
        bases[at, is_flat] = end = start + value
        sides = [at - width[number] / 2, at + width[number] / 2]
        if value:
            rectangles.append(
                _rectangle(scale, [start, end], sides) if is_flat else _rectangle(scale, sides, [start, end])
            )
    look = ink.of(trace["marker"]["color"], "fill", trace["marker"].get("opacity", 1))
    return [f'<path d="{"".join(rectangles)}" style="{look}"/>']


def _rectangle(scale: Scale, x: Sequence[float], y: Sequence[float]) -> str:
    (left, right), (top, bottom) = sorted(scale.across(x)), sorted(scale.down(y))
    return f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}z".replace(".0", "")


def _cells(
    trace: dict[str, Any], layout: Mapping[str, Any], scale: Scale, ink: Ink, bases: dict[Any, float]
) -> list[str]:
    """The cells of a heat map, between two opacities of one colour."""
    (_, least), (_, most) = trace["colorscale"]
    low, high = (int(colour[7:], 16) / 255 for colour in (least, most))
    drawn = []
    for (row, column), value in np.ndenumerate(np.asarray(trace["z"], float)):
        if math.isfinite(value):
            share = (value - trace["zmin"]) / (trace["zmax"] - trace["zmin"])
            place = _rectangle(scale, [column - 0.5, column + 0.5], [row - 0.5, row + 0.5])
            drawn.append(f'<path d="{place}" style="fill-opacity:{low + share * (high - low):.3g}"/>')
    return [f'<g class="cells" style="{ink.of(least[:7], "fill")};stroke-width:{trace["xgap"]}px">{"".join(drawn)}</g>']


DRAW: dict[str, Callable[[dict[str, Any], Mapping[str, Any], Scale, Ink, dict[Any, float]], list[str]]] = {
    "scatter": _scatter,
    "scattergl": _scatter,
    "bar": _bars,
    "heatmap": _cells,
}


def marks_of(trace: dict[str, Any], scale: Scale, ink: Ink) -> list[str]:
    """Points that are more than dots, each an SVG of its own, as they are not stretched."""
    marker = trace.get("marker", {})
    if not trace["type"].startswith("scatter") or "symbol" not in marker:
        return []
    name, size, width = marker["symbol"], marker["size"], marker.get("line", {}).get("width", 0)
    is_open = name.endswith("-open")
    look = ink.of("none" if is_open else marker["color"], "fill")
    if is_open or width:
        look += f";{ink.of(marker['color'] if is_open else marker['line']['color'], 'stroke')}"
        look += f";stroke-width:{width or 1:g}px"
    path = f'<path d="{_SYMBOLS[name.removesuffix("-open")](size / 2)}" style="{look}"/>'
    places = zip(scale.across(trace["x"]) / WIDTH, scale.down(trace["y"]) / HEIGHT, strict=True)
    return [
        f'<svg class="mark" style="left:{100 * x:.2f}%;top:{100 * y:.2f}%">{path}</svg>'
        for x, y in places
        if math.isfinite(x + y)
    ]


def _polygon(*corners: tuple[float, float]) -> str:
    return f"M{'L'.join(f'{x:.2f} {y:.2f}' for x, y in corners)}z"


def _star(radius: float) -> str:
    angles = [math.pi * number / 5 for number in range(10)]
    radii = [1.4 * radius * (1 if number % 2 == 0 else 0.382) for number in range(10)]
    return _polygon(*((r * math.sin(angle), -r * math.cos(angle)) for r, angle in zip(radii, angles, strict=True)))


def _cross(radius: float) -> str:
    """A cross of two bars, on its corners."""
    arm = radius / math.sqrt(2)
    corners = [(0, 1), (1, 2), (2, 1), (1, 0), (2, -1), (1, -2), (0, -1), (-1, -2), (-2, -1), (-1, 0), (-2, 1), (-1, 2)]
    return _polygon(*((x * arm, y * arm) for x, y in corners))


_SYMBOLS: dict[str, Callable[[float], str]] = {
    "circle": lambda r: f"M{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0",
    "square": lambda r: _polygon((-r, -r), (r, -r), (r, r), (-r, r)),
    "diamond": lambda r: _polygon((1.3 * r, 0), (0, 1.3 * r), (-1.3 * r, 0), (0, -1.3 * r)),
    "triangle-up": lambda r: _polygon((-r * 2 / math.sqrt(3), r / 2), (r * 2 / math.sqrt(3), r / 2), (0, -r)),
    "x": _cross,
    "star": _star,
}
"""As Plotly draws them, of a radius; around the middle."""


def _path(shape: Mapping[str, Any], scale: Scale, ink: Ink) -> str:
    """A path through points, as SVG has it, filled or as a line."""
    points = np.array([[float(part) for part in pair.split(",")] for pair in re.findall(r"[^MLZ]+", shape["path"])])
    path = f"M{_joined(scale.across(points[:, 0]), scale.down(points[:, 1]))}"
    if shape.get("fillcolor"):
        return f'<path d="{path}z" style="{ink.of(shape["fillcolor"], "fill")}"/>'
    return f'<path class="line" d="{path}" style="{_stroke(shape["line"], ink)}"/>'


def _segment(shape: Mapping[str, Any], scale: Scale, ink: Ink) -> str:
    x, y = scale.across([shape["x0"], shape["x1"]]), scale.down([shape["y0"], shape["y1"]])
    return f'<path class="line" d="M{_joined(x, y)}" style="{_stroke(shape["line"], ink)}"/>'


SHAPES: dict[str, Callable[[Mapping[str, Any], Scale, Ink], str]] = {"path": _path, "line": _segment}
