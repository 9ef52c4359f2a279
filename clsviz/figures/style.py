"""What all pictures share: colours, hover labels, points, and axes."""

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

Labels = NDArray[np.object_]
"""Hover labels, as `labels_of` makes them: an array of strings."""

_ROUNDING = 1e-5
"""Relative; more than the rounding error that a float32 norm gathers over all layers."""

MOST_IN_FULL = 20_000
"""With more points, each is drawn smaller and has a shorter label."""

_HOVER_WIDTH = 54
"""Characters of a line in a hover label."""

_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that would reverse the text after them."""


@dataclass(frozen=True)
class Palette:
    """Colours by role, as #rrggbb; on the pages the browser replaces them by those of the theme."""

    points: str = "#4c7da8"
    line: str = "#d62728"
    summary: str = "#27313f"
    own: str = "#c98a00"
    background: str = "#ffffff"
    other: str = "#8a3ffc"
    scale: tuple[str, ...] = (
        *("#cee9f8", "#b7ddf4", "#a1d1f0", "#8bc4ed", "#75b7e9"),
        *("#60aae5", "#4c9ce2", "#388edd", "#3280d1", "#2d72c4"),
    )
    """From few to many: ever further from the background in lightness, so apart for every kind of colour blindness."""


@dataclass(frozen=True, eq=False)
class Points:
    """Sentences to draw: hover labels from `labels_of`, lengths int32 (n,), norms float32 (n,)."""

    labels: Labels
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]


def hover_label(sentence: str, most_lines: int = 2) -> str:
    """A sentence for a hover label: a few short lines, with everything that Plotly takes for markup escaped."""
    text = _UNSHOWABLE.sub(" ", sentence[: 3 * _HOVER_WIDTH])
    lines: list[str] = []
    while text and len(lines) < most_lines:
        cut = len(text) if len(text) <= _HOVER_WIDTH else text.rfind(" ", 1, _HOVER_WIDTH + 1)
        line, text = text[: cut if cut > 0 else _HOVER_WIDTH], text[cut if cut > 0 else _HOVER_WIDTH :].lstrip()
        lines.append(html.escape(line, quote=False))
    return "<br>".join(lines) + ("…" if text else "")


def least_range(norms: NDArray[np.float32]) -> list[float]:
    """What the axis shows at least, so that norms that differ only by rounding error look the same."""
    mean = float(norms.mean()) if len(norms) else 0.0
    return [mean * (1 - _ROUNDING), mean * (1 + _ROUNDING)]


def labels_of(sentences: Sequence[str]) -> Labels:
    """Hover labels of many sentences; shorter if there are many, because they are most of what a browser receives."""
    most_lines = 2 if len(sentences) <= MOST_IN_FULL else 1
    labels = np.empty(len(sentences), dtype=object)
    labels[:] = [hover_label(sentence, most_lines) for sentence in sentences]
    return labels


_FEW = 20
"""Selected points that are larger, as their opacity alone would hardly be seen."""


def stand_out(trace: Any, selected: NDArray[np.intp] | None) -> None:
    """Let some of a trace's points, intp (n,), stand out from the others; without any, all are alike."""
    if selected is not None and len(selected):
        size, opacity = trace.marker.size, trace.marker.opacity
        trace.selectedpoints = selected.tolist()  # Plotly reads no other arrays here
        trace.selected = {"marker": {"opacity": max(opacity, 0.8), "size": size + (3 if len(selected) <= _FEW else 1)}}
        trace.unselected = {"marker": {"opacity": opacity / 4}}


SMALL = {"size": 11}

LONGEST_LABEL, LONGEST_NAME = 18, 26
"""Characters of a name beside a line or a cell, and in a legend."""


def short_name(name: str, most: int = LONGEST_LABEL) -> str:
    """A name, short enough to stand beside a line or a cell."""
    return hover_label(name if len(name) <= most else f"{name[: most - 1].rstrip()}…", 1)


def label_step(n: int) -> int:
    """Label step that fits a phone."""
    return 1 if n <= 13 else 2 if n <= 26 else 4


PLAIN: dict[str, Any] = {
    "showlegend": False,
    "hovermode": "closest",
    "hoverlabel": {"align": "left"},
    "margin": {"l": 8, "r": 8, "t": 32, "b": 8},  # the tools appear above the plot
}
"""The layout of pictures, where they have no other."""


def arrange(figure: go.Figure, x: dict[str, Any], y: dict[str, Any]) -> None:
    """Set the axes, and a legend above the plot: on a phone, labels at the ends of lines would not fit."""
    figure.update_layout(
        PLAIN,
        xaxis={"zeroline": False} | x,
        yaxis={"zeroline": False} | y,
        showlegend=True,
        legend={"orientation": "h", "entrywidth": 0, "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        overwrite=True,  # there are none yet, and to look for them takes Plotly four times as long
    )


ROOM_BESIDE, _LONGEST_LINE = 92, 12
"""Pixels beside a picture for the names of its lines, and the letters that one line of a name has there."""


def label_beside(
    figure: go.Figure,
    ends: Sequence[tuple[str, float, str]],
    span: tuple[float, float],
    share: float = 0.1,
) -> None:
    """Write the names of lines to the right of the picture, none over another, in place of a legend.

    ends: name, already escaped, height of the end, as the axis has it, and colour. span: of the axis. share: of it,
    that a name takes, of which a long one has two lines.
    """
    for (name, _, colour), y in zip(
        ends, apart([y for _, y, _ in ends], share * (span[1] - span[0]), span[1]), strict=True
    ):
        first, _, second = name.partition(", ")
        if not second and len(name) > _LONGEST_LINE:
            cut = 1 + max(name.rfind(between, 1, _LONGEST_LINE) for between in " -")
            first, second = (name[:cut].rstrip(), name[cut:]) if cut else (name, "")
        figure.add_annotation(
            text=f" {first}" + (f"<br> {second}" if second else ""),
            x=1,
            xref="paper",
            y=y,
            yref="y",
            xanchor="left",
            align="left",
            showarrow=False,
            font={"color": colour, "size": 12},
        )
    figure.update_layout(showlegend=False, margin={"l": 8, "r": ROOM_BESIDE, "t": 12, "b": 8})


def apart(places: Sequence[float], least: float, highest: float) -> list[float]:
    """The places, moved as little as keeps them `least` apart: up, and down again where that is beyond the highest."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = [*places]
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + least)
    limit = highest
    for at in order[::-1]:
        moved[at] = min(moved[at], limit)
        limit = moved[at] - least
    return moved


def layers_axis(last: int) -> dict[str, Any]:
    """Of lines over layers, from 0 to the last."""
    return {
        "title": "Layer (0: embeddings)",
        "range": [-0.4, last + 0.4],
        "tick0": 0,
        "dtick": label_step(last + 1),
        "tickangle": 0,
        "unifiedhovertitle": {"text": "layer %{x}"},
    }
