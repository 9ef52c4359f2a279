"""The scatter with its line, error by layer, or exposure by fifths, as images: for previews of links, and for files."""

import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clsviz.figures.bars import LEAST_EXPOSURE, TICKS, ByFifth
from clsviz.figures.style import Palette, apart, least_range
from clsviz.statistics.exposure import FAIR
from clsviz.statistics.intervals import LEAST_TOLD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from clsviz.statistics.line import Fit

_QUIET, _GRID, _BRAND = "#5b6470", "#e3e7ec", "#5c7f9f"

_DOTS = 100
"""Pixels of an inch."""

_MOST_LINES = 2

_ROOM_BESIDE, _LABEL, _LONGEST_LINE = 0.14, 0.1, 12
"""Shares of the width that names beside a picture take, and of the axis that one takes; the letters of one line."""

_WIDTHS = {"normal": 0.6, "bold": 0.7}
"""Of most letters, as shares of the size of their font."""


@dataclass(frozen=True)
class Exposures:
    """Exposure and recall by fifths, as `search.exposure_by_fifth` draws them. spans: the token range of each fifth."""

    rows: Sequence[ByFifth]
    spans: Sequence[str]


@dataclass(frozen=True, eq=False)
class Lines:
    """A value by layer, from 0 on, for each line by its name; NaN where it is unknown. level: a line with its name.

    band: its name, and the lowest and the highest value by layer.
    """

    values: Mapping[str, NDArray[np.float64]]
    title: str
    level: tuple[str, float]
    band: tuple[str, NDArray[np.float64], NDArray[np.float64]] | None = None


@dataclass(frozen=True, eq=False)
class Scatter:
    """Sentences and the line through them: lengths int32 (n,), norms float32 (n,). line: intercept and slope."""

    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]
    length_title: str
    norm_title: str
    line: tuple[float, float] | None = None
    r_squared: float | None = None


def scatter_of(
    lengths: NDArray[np.int32], norms: NDArray[np.float32], titles: tuple[str, str], fit: "Fit | None"
) -> Scatter:
    """Sentences and the line through them; titles: of the axes of lengths and norms."""
    line, r_squared = ((fit.intercept, fit.slope), fit.r_squared) if fit else (None, None)
    return Scatter(lengths, norms, *titles, line, r_squared if fit and fit.n >= LEAST_TOLD else None)


def image(
    scatter: Scatter | Lines | Exposures | None,
    question: str,
    answer: str = "",
    site: str = "",
    *,
    kind: str = "png",
    width: int = 1200,
) -> bytes:
    """The question, the answer, and the picture below them, if there are sentences; `kind`: png, svg or pdf.

    Of a PNG: `width` pixels wide, 630 high. site: what stands in its corner.
    """
    from matplotlib.figure import Figure  # a second to import, and only pictures take it

    palette = Palette()
    figure = Figure(figsize=(width / _DOTS, 6.3), dpi=_DOTS, facecolor=palette.background)
    left, right = 0.047, 0.953
    top = _write(figure, question, 0.94, (30, 26, 22), "bold", width)
    top = _write(figure, answer, top - 0.02, (20, 17), "normal", width)
    figure.text(right, 0.03, site, color=_BRAND, fontsize=19, weight="bold", ha="right", va="bottom", parse_math=False)
    if isinstance(scatter, Exposures):
        _draw_exposures(figure, scatter, palette, left + 0.055, right, top)
    elif isinstance(scatter, Lines):
        axes = _axes(figure, left, right - _ROOM_BESIDE, top, "Layer (0: embeddings)", scatter.title)
        _draw_lines(axes, scatter, palette)
    elif scatter is not None and len(scatter.lengths):
        axes = _axes(figure, left, right, top, scatter.length_title, scatter.norm_title)
        n = len(scatter.lengths)
        opacity = float(np.clip(20 / n**0.5, 0.08, 0.7))
        axes.scatter(
            *(scatter.lengths, scatter.norms), s=22, color=palette.points, alpha=opacity, linewidths=0, rasterized=True
        )
        around = [*least_range(scatter.norms), float(scatter.norms.min()), float(scatter.norms.max())]
        room = max(0.05 * (max(around) - min(around)), 1e-9)
        axes.set_xlim(0, float(scatter.lengths.max()) + 1)
        axes.set_ylim(min(around) - room, max(around) + room)
        if scatter.line is not None:
            ends = np.array([scatter.lengths.min(), scatter.lengths.max()], float)
            axes.plot(ends, scatter.line[0] + scatter.line[1] * ends, color=palette.line, linewidth=3)
        if scatter.r_squared is not None:
            label: dict[str, Any] = {
                "color": palette.line,
                "fontsize": 19,
                "weight": "bold",
                "ha": "right",
                "va": "top",
            }
            behind = {"facecolor": palette.background, "edgecolor": "none", "pad": 4}
            text = f"R² {scatter.r_squared:.3f}"
            axes.text(0.995, 0.98, text, transform=axes.transAxes, bbox=behind, parse_math=False, **label)
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is a box
        figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else {})
    return content.getvalue()


def _axes(figure: "Figure", left: float, right: float, top: float, x_title: str, y_title: str) -> "Axes":
    axes = figure.add_axes((left + 0.055, 0.145, right - left - 0.055, max(top - 0.19, 0.3)))
    _arrange(axes, x_title, y_title)
    return axes


def _arrange(axes: "Axes", x_title: str, y_title: str) -> None:
    axes.spines[:].set_visible(False)
    axes.grid(axis="y", color=_GRID, linewidth=1)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_QUIET, labelsize=13, length=0)
    axes.set_xlabel(x_title, color=_QUIET, fontsize=14)
    axes.set_ylabel(y_title, color=_QUIET, fontsize=14)


def _draw_lines(axes: "Axes", drawn: Lines, palette: Palette) -> None:
    """Each line, the level and the band, with their names beside their ends."""
    lines = [
        (name, values, colour)
        for (name, values), colour in zip(drawn.values.items(), (palette.points, palette.line), strict=False)
    ]
    ends = [(drawn.level[0], np.array([drawn.level[1]]), palette.summary), *lines]
    axes.axhline(drawn.level[1], color=palette.summary, linewidth=2, linestyle=":")
    if drawn.band is not None:
        name, lowest, highest = drawn.band
        axes.fill_between(range(len(lowest)), lowest, highest, color=palette.other, alpha=0.35, linewidth=3)
        ends.append((name, (lowest + highest) / 2, palette.other))
    for _, values, colour in lines:
        axes.plot(values, color=colour, linewidth=3, marker="o", markersize=8)
    n_layers = max((len(values) for values in drawn.values.values()), default=1) - 1
    top = 1.12 * max(float(np.nanmax(values, initial=1e-9)) for _, values, _ in ends)
    axes.set_xlim(-0.3, n_layers + 0.3)
    axes.set_ylim(0, top)
    axes.locator_params(axis="x", integer=True)
    known = [(name, values[np.isfinite(values)], colour) for name, values, colour in ends if np.isfinite(values).any()]
    places = apart([float(values[-1]) for _, values, _ in known], _LABEL * top, top)
    for (name, _, colour), y in zip(known, places, strict=True):
        look: dict[str, Any] = {"fontsize": 15, "weight": "bold", "va": "center", "parse_math": False}
        in_two_lines = name.replace(" ", "\n", 1) if len(name) > _LONGEST_LINE else name
        axes.text(n_layers + 0.4, y, in_two_lines, color=colour, linespacing=0.95, **look)


def _draw_exposures(
    figure: "Figure", drawn: Exposures, palette: Palette, left: float, right: float, top: float
) -> None:
    """Exposure above recall, with a label at the end of each line."""
    width, room = right - left - 0.14, max(top - 0.19, 0.3)
    above = figure.add_axes((left, 0.145 + 0.36 * room, width, 0.64 * room))
    below = figure.add_axes((left, 0.145, width, 0.3 * room), sharex=above)
    above.set_yscale("log")
    above.axhline(1, color=palette.summary, linewidth=1, linestyle=":")
    above.axhspan(*FAIR, color=palette.summary, alpha=0.12, linewidth=0)
    colours = (palette.points, palette.line, palette.summary, palette.own, palette.other)
    for row, colour in zip(drawn.rows, colours, strict=False):
        style = "--" if row.name.startswith("BM25") else "-"
        y = [np.nan if value is None else max(value, LEAST_EXPOSURE) for value in row.exposure]
        recall = [np.nan if value is None else value for value in row.recall]
        above.plot(y, style, color=colour, linewidth=2.5, marker="o", markersize=6)
        bounds = [(value, value) if of is None else of for value, of in zip(y, row.interval, strict=True)]
        low, high = ([max(bound[end], LEAST_EXPOSURE) for bound in bounds] for end in (0, 1))
        above.fill_between(range(len(y)), low, high, color=colour, alpha=0.15, linewidth=0)
        below.plot(recall, style, color=colour, linewidth=2.5, marker="o", markersize=4)
        above.annotate(
            row.name,
            (len(y) - 1, y[-1]),
            (8, 0),
            "data",
            "offset points",
            color=colour,
            fontsize=12,
            va="center",
            parse_math=False,
        )
    ticks = [tick for tick in TICKS if above.get_ylim()[0] <= tick <= above.get_ylim()[1]]
    above.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    above.set_yticks([], minor=True)
    below.set_ylim(0, 1.05)
    below.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    below.set_xticks(range(len(drawn.spans)), [*drawn.spans])
    above.tick_params(labelbottom=False)
    _arrange(above, "", "Exposure")
    _arrange(below, "Tokens of the searched text, by fifths", "Recall")


def _write(figure: "Figure", text: str, top: float, sizes: tuple[int, ...], weight: str, width: int) -> float:
    """Write text from `top` down, a share of the height, as large as it fits into _MOST_LINES lines; where it ends."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text[:300]).split())
    lines: list[str] = []
    for size in sizes:
        n_letters = int(0.9 * width / (_WIDTHS[weight] * size * _DOTS / 72))
        lines = textwrap.wrap(text, n_letters, max_lines=_MOST_LINES, placeholder="…")
        if not lines or not lines[-1].endswith("…"):
            break
    for line in lines:
        look: dict[str, Any] = {"color": Palette().summary, "fontsize": size, "weight": weight, "va": "top"}
        figure.text(0.047, top, line, parse_math=False, **look)
        top -= 1.35 * size / 72 / 6.3
    return top
