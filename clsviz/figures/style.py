"""Colours by role, text safe to draw, traces, axes and labels: common to all figures."""

import functools
import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import plotly.graph_objects as go

Figure: TypeAlias = "go.Figure"
Trace: TypeAlias = dict[str, Any]
Values: TypeAlias = Sequence[Any] | NDArray[Any]

POINTS, LINE, SUMMARY, OWN, OTHER = "#4c7da8", "#d62728", "#27313f", "#c98a00", "#8a3ffc"
"""Sentences, the regression line, summaries, the visitor's own, a second group of sentences."""

SEQUENCE: Final = (
    *("#cee9f8", "#b7ddf4", "#a1d1f0", "#8bc4ed", "#75b7e9"),
    *("#60aae5", "#4c9ce2", "#388edd", "#3280d1", "#2d72c4"),
)
"""Few to many."""

SCALE: Final = [[n / (len(SEQUENCE) - 1), colour] for n, colour in enumerate(SEQUENCE)]
"""The same for cells of a picture."""

COLOURS: Final = (LINE, POINTS, SUMMARY, OWN, OTHER)
"""Colours side by side; the first is that of the result's own subject."""

RETRIEVERS: Final = {"cosine": POINTS, "dot product": LINE, "BM25": SUMMARY}
"""Ways to search, the same in every picture; a fix has another colour."""

BACKGROUND, TEXT, GRID = "#ffffff", "#3d4451", "#e3e7ec"

THEME: Final[dict[str, str]] = {
    **{
        colour: f"chart-categorical-colors {n}"
        for n, colour in enumerate((POINTS, LINE, SUMMARY, OWN, OTHER))
    },
    **{colour: f"chart-sequential-colors {n}" for n, colour in enumerate(SEQUENCE)},
    BACKGROUND: "background-color 0",
    TEXT: "text-color 0",
    GRID: "border-color-light 0",
}
"""The theme's variable, without --st-, and the place in it, that replaces a colour in a page."""

STAR: Final = {
    "symbol": "star",
    "size": 16,
    "color": OWN,
    "line": {"color": BACKGROUND, "width": 1},
}
"""The marker of a visitor's sentence."""

LONGEST_LABEL, LINE_LENGTH = 160, 44  # letters of a sentence in a hover label, and of a line of it
LABEL_SIZE: Final = 13
LABEL_MARGIN: Final = {"l": 8, "r": 106, "t": 8, "b": 8}
"""Around a plot whose lines have their names at the right."""

PLOT_WIDTH, PLOT_HEIGHT = 300, 330  # pixels of the plot on a phone, where labels collide first
_LINES = re.compile(rf"(.{{1,{LINE_LENGTH}}})(?:\s|$)|(.{{{LINE_LENGTH}}})")


def colour_of(retriever: str) -> str:
    """The colour of a way to search."""
    return RETRIEVERS.get(retriever, OTHER)


def shorten(text: str, longest: int) -> str:
    """Text from outside on one line: no control characters, not even those of writing direction."""
    text = text[: 2 * longest]
    if not text.isascii() or not text.isprintable():
        text = "".join(c for c in text if c.isspace() or unicodedata.category(c)[0] != "C")
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def escape(text: str) -> str:
    """Text that Plotly draws letter by letter, without reading markup in it."""
    return html.escape(text, quote=False)


@functools.lru_cache(maxsize=16_384)  # a moved cutoff draws the same sentences again
def hover_label(sentence: str) -> str:
    """A sentence in lines, as Plotly draws them."""
    lines = _LINES.sub(lambda match: f"{match[1] or match[2]}\n", shorten(sentence, LONGEST_LABEL))
    return escape(lines.rstrip("\n")).replace("\n", "<br>")


def figure(data: Sequence[Trace], **changes: Any) -> Figure:
    """A figure of traces, with changes of its layout by Plotly's names.

    spikedistance: Plotly looks for spikes even where there are none, and hover freezes.
    """
    import plotly.graph_objects as go

    layout = {
        "template": {},
        "font": {"size": LABEL_SIZE, "color": TEXT, "family": '"Source Sans", sans-serif'},
        "paper_bgcolor": BACKGROUND,
        "plot_bgcolor": BACKGROUND,
        "hoverlabel": {
            "bgcolor": BACKGROUND,
            "bordercolor": GRID,
            "font": {"color": TEXT},
            "align": "left",
        },
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "spikedistance": 0,
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": f"{TEXT}90",
            "activecolor": TEXT,
            "uirevision": "tool",
        },
        "bargap": 0,
    }
    return go.Figure(data, layout | changes)


def axis(title: str = "", span: Sequence[float] = (), **changes: Any) -> dict[str, Any]:
    """An axis of a figure, with changes by Plotly's names.

    span: its ends, as those of an automatic range: a fixed one that changed would undo a zoom.
    """
    look = {
        "title": {"text": title, "standoff": 8, "font": {"size": LABEL_SIZE}},
        "gridcolor": GRID,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": True,
        "tickfont": {"color": TEXT},
    }
    if span:
        look["autorangeoptions"] = {"minallowed": span[0], "maxallowed": span[1]}
    return look | changes


def ends(values: NDArray[Any], *others: float, room: float = 0.04) -> list[float]:
    """The ends of an axis with room around values and others, wider than float32's rounding."""
    known = np.array([*np.asarray(values, float), *others])
    known = known[np.isfinite(known)]
    if not len(known):
        return [0.0, 1.0]
    centre = float(known.mean())
    least = 1e-5 * max(abs(centre), 1e-9)
    low = min(float(known.min()), centre - least)
    high = max(float(known.max()), centre + least)
    return [low - room * (high - low), high + room * (high - low)]


def trace(
    name: str, x: Values, y: Values, texts: Sequence[str] = (), label: str = "%{text}", **look: Any
) -> Trace:
    """Points or a line, by Plotly's names; the pointer leaves it out where it has no texts.

    label: under the pointer, a template of Plotly.
    """
    words = {"text": texts, "hovertemplate": f"{label}<extra></extra>"}
    hover = words if texts else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, **hover, **look}


def area(
    name: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, opacity: float
) -> Trace:
    """The area between two lines; WebGL and labels under the pointer leave it out."""
    x, low, high = (np.asarray(values, np.float32) for values in (x, low, high))
    around = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
    look: Trace = {"fill": "toself", "fillcolor": colour, "opacity": opacity}
    return trace(name, *around, **look, line={"width": 0})


def bars(x: Values, y: Values, texts: Values, label: str = "%{hovertext}", **look: Any) -> Trace:
    """Bars, by Plotly's names; label: under the pointer, a template of Plotly."""
    hover = {"hovertext": texts, "hovertemplate": f"{label}<extra></extra>"}
    return {"type": "bar", "x": x, "y": y, **hover, **look}


def note(text: str, colour: str = TEXT, weight: str = "normal", **place: Any) -> Trace:
    """A text in the picture, without an arrow."""
    font = {"color": colour, "weight": weight}
    return {"text": text, "showarrow": False, "font": font, **place}


def corner(text: str, colour: str = TEXT, *, is_left: bool, is_top: bool, **place: Any) -> Trace:
    """A text in a corner of the plot."""
    place |= {"xref": "x domain", "x": 0.01 if is_left else 0.99}
    place |= {"yref": "y domain", "y": 0.99 if is_top else 0.01}
    place |= {"xanchor": "left" if is_left else "right", "yanchor": "top" if is_top else "bottom"}
    return note(text, colour, bgcolor=f"{BACKGROUND}c0", **place)


def label(text: str, colour: str, x: float, y: float, *, is_right: bool = False) -> Trace:
    """The name of a thing, next to its end at x and y, in data; is_right: the text ends there."""
    side = {"xanchor": "right", "xshift": -10} if is_right else {"xanchor": "left", "xshift": 10}
    ground = {"bgcolor": f"{BACKGROUND}c0", "borderpad": 1}
    return note(escape(text), colour, "bold", x=x, y=y, **side, **ground)


def spread(labels: Iterable[Trace], xs: Sequence[float], ys: Sequence[float]) -> list[Trace]:
    """Labels, moved up so that none lies over one before it, on a phone too.

    xs, ys: the ends of the axes.
    """
    boxes: list[tuple[float, float, float]] = []
    placed = []
    for label in sorted(labels, key=lambda label: label["y"]):
        width = 0.6 * LABEL_SIZE * len(label["text"])
        x = PLOT_WIDTH * (label["x"] - xs[0]) / (xs[1] - xs[0])
        x -= width * (label["xanchor"] == "right")
        y = start = PLOT_HEIGHT * (label["y"] - ys[0]) / (ys[1] - ys[0])
        for begin, end, below in sorted(boxes, key=lambda box: box[2]):
            if begin < x + width and x < end and abs(below - y) < 1.5 * LABEL_SIZE:
                y = below + 1.5 * LABEL_SIZE
        boxes.append((x, x + width, y))
        placed.append(label | {"yshift": round(y - start)})
    return placed
