"""Every chart of the pages: one component, which draws with Plotly, and tells what is zoomed to, selected and clicked.

`st.plotly_chart` would make a new chart whenever anything in it changes: the zoom, the selection and the tool would be
lost. Here Plotly draws what is different. Figures and labels that are large go by a route of their own, named by what
is in them, so that they are compressed once for everybody; what a visitor typed or brought does not.
"""

import base64
import functools
import gzip
import hashlib
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cachetools
import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures, words
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, serving

_CHART = st.components.v2.component(
    "clsviz.chart", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)

_HEIGHT = 450
"""Where nobody says another."""

_LARGE = 50_000
"""Characters of a figure from which on it goes by its own route."""


@dataclass(frozen=True)
class Content:
    """What a browser fetches by its name: as gzip has it."""

    name: str
    packed: bytes


@dataclass(frozen=True)
class Drawing:
    """A figure as the browser gets it: JSON, or what is to be fetched instead, and the height that it asks for.

    labels: of all sentences of the sample that its points are of, if they are not in it.
    """

    json: str
    height: int
    routed: Content | None = None
    labels: Content | None = None


def show(
    figure: figures.Figure | Drawing,
    *,
    key: str,
    alt: str,
    height: int | None = None,
    tools: bool = False,
    is_dimmed: bool = False,
    is_kept: bool = False,
    zoom: Sequence[float] = (),
    marks: str = "",
    selected: NDArray[np.bool_] | None = None,
    on_zoom: Callable[[], None] | None = None,
    on_select: Callable[[], None] | None = None,
    on_click: Callable[[], None] | None = None,
) -> None:
    """Draw a figure in the colours of the theme; its arguments may change at every run.

    tools: whether Plotly's are offered. is_dimmed: whether it is of the settings before. is_kept: whether it is then
    seen again, by `show_before`. zoom: the ends of both axes to begin with, (4,), if not all is seen. marks: what is
    selected, in words; selected: which of the points that are, bool (n,). on_zoom, on_select, on_click: called once the
    visitor did so; `told` has what.
    """
    if not isinstance(figure, Drawing):
        figure = drawing(figures.plain_json(figure), figure.layout.height)
    height = height or figure.height
    if is_kept:
        st.session_state[f"{key}_before"] = figure, alt, height
    for content in filter(None, (figure.routed, figure.labels)):
        contents().keep(content)
    _CHART(
        data={
            "plotly": serving.script_of_charts(),
            "figure": figure.json,
            "route": figure.routed.name if figure.routed else "",
            "labels": figure.labels.name if figure.labels else "",
            "roles": roles(),
            "alt": alt,
            "height": height,
            "tools": tools,
            "dimmed": is_dimmed,
            "clicks": on_click is not None,
            "zoom": [*zoom],
            "marks": marks,
            "selected": "" if selected is None or not selected.any() else bits(selected),
        },
        key=key,
        height=height,
        on_zoomed_change=on_zoom or (lambda: None),
        on_selected_change=on_select or (lambda: None),
        on_clicked_change=on_click or (lambda: None),
    )


def show_before(key: str, about: str = words.waiting.SETTINGS_BEFORE) -> bool:
    """Draw what was drawn there and kept, dimmed, until there is more; False if there is nothing. about: what it is."""
    if (before := st.session_state.get(f"{key}_before")) is None:
        return False
    figure, alt, height = before
    show(figure, key=key, alt=f"{about}. {alt}", height=height, is_dimmed=True)
    st.caption(escape(f"{about}."))
    return True


def told(key: str, name: str) -> Any:
    """What the browser tells of a chart, in a callback: anything, as the message may be forged; None if nothing."""
    state = st.session_state.get(key)
    return state.get(name) if isinstance(state, Mapping) else None


def drawing(json: str, height: int | None, labels: Content | None = None, *, is_private: bool = False) -> Drawing:
    """A figure as the browser gets it; is_private: whether it holds what a visitor typed or brought."""
    if is_private or len(json) < _LARGE:
        return Drawing(json, height or _HEIGHT, None, labels)
    return Drawing("", height or _HEIGHT, content(json.encode()), labels)


def content(text: bytes) -> Content:
    """What is fetched by a name that is made of what it is."""
    return Content(hashlib.blake2b(text, digest_size=16).hexdigest(), gzip.compress(text, 3, mtime=0))


def once(of: Hashable, make: Callable[[], figures.Figure]) -> Drawing:
    """The figure that `make` makes, made once for all who look at the same.

    of: all that it is made of. What is told apart by what it is, and not by what is in it, must not change any more.
    What a visitor typed must not be among it.
    """

    def draw() -> Drawing:
        figure = make()
        return drawing(figures.plain_json(figure), figure.layout.height)

    return server.cache().get_or_compute(("figure", of), draw)


def bits(is_set: NDArray[np.bool_]) -> str:
    """A bit for each, as the browser reads them."""
    return base64.b64encode(np.packbits(is_set, bitorder="little").tobytes()).decode()


@functools.cache
def roles() -> dict[str, str]:
    """Which colours of the theme those of a palette are: the number of a category, or of the scale."""
    palette = figures.Palette()
    roles = {palette.points: "0", palette.line: "1", palette.summary: "2", palette.own: "3", palette.other: "4"}
    scale = {colour: f"scale {at}" for at, colour in enumerate(palette.scale)}
    return {**roles, palette.background: "background", **scale}


class Contents:
    """What browsers may fetch: what was shown last, up to so many bytes."""

    def __init__(self, most_bytes: int = 64_000_000) -> None:
        self._kept: cachetools.LRUCache[str, bytes] = cachetools.LRUCache(most_bytes, getsizeof=len)
        self._lock = threading.Lock()

    def keep(self, content: Content) -> None:
        """Have it fetched."""
        with self._lock:
            if len(content.packed) <= self._kept.maxsize:
                self._kept[content.name] = content.packed

    def get(self, name: str) -> bytes | None:
        """What goes by that name, as gzip has it; None if there is nothing."""
        with self._lock:
            return self._kept.get(name)


@functools.cache
def contents() -> Contents:
    """Those of this server."""
    return Contents()
