"""A picture of many points that is drawn anew in its place.

Streamlit throws a chart away and makes another one whenever anything in it changes, and draws that twice. With many
points this takes seconds, and the visitor's tool is lost. So the chart that Streamlit has is an empty one that never
changes. What is seen is sent to the browser beside it, and Plotly draws it into that chart, of which it then redraws
only what is different. The labels of the points are most of what there is to send: they are sent once for a sample.
Both are the same for all visitors, and so compressed once for all of them.
"""

import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import streamlit as st

from clsviz import figures
from clsviz.ui.parts import marks

_DRAWING = st.components.v2.component("clsviz.drawing", js=Path(__file__).with_suffix(".js").read_text("utf-8"))

_KEY = "scatter"

DRAWN = f"{_KEY}_drawn"
"""The key of what is drawn, where the browser tells “zoomed”: the ends of both axes, and of which view."""


_LEVEL = 3
"""Of compression. More would take several times as long, for a tenth of the size."""


def packed(sent: bytes) -> bytes:
    """A JSON object, as `figures` makes it for the browser, compressed for `show`."""
    return zlib.compress(sent, _LEVEL)


def show(
    height: int,
    alt: str,
    drawing: bytes,
    labels: bytes,
    on_select: Callable[[], None],
    on_zoom: Callable[[], None] = lambda: None,
) -> None:
    """Draw it, as a chart with the key “scatter”; the arguments but for the height may change at every run.

    drawing: from `sent`, and labels: from `labels_sent`, both `packed`. on_select: called when the visitor has marked
    something in it. on_zoom: called when something else of a density is seen than what it was made for.
    """
    st.plotly_chart(
        _blank(height, marks.chart_number()),
        height=height,
        key=_KEY,
        on_select=on_select,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"]},
        alt="The picture",
    )
    if labels:
        _DRAWING(data=b"{}\n" + labels, key=f"{_KEY}_labels")
    of_this_run = orjson.dumps({"chart": _KEY, "alt": alt})
    _DRAWING(data=of_this_run + b"\n" + drawing, key=DRAWN, on_zoomed_change=on_zoom)


@lru_cache(maxsize=16)
def _blank(height: int, number: int) -> Any:  # plotly’s, of which only `figures` knows
    """The empty chart, made once: Streamlit sends a copy of it."""
    return figures.blank(height, number)
