"""A picture of many points that is drawn anew in its place.

Streamlit throws a chart away and makes another one whenever anything in it changes, and draws that twice. With many
points this takes seconds, and the visitor's tool is lost. So the chart that Streamlit has is an empty one that never
changes. What is seen is sent to the browser beside it, and Plotly draws it into that chart, of which it then redraws
only what is different. The labels of the points are most of what there is to send: they are sent once for a sample.
"""

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


def show(
    height: int,
    alt: str,
    drawing: bytes,
    labels: bytes,
    on_select: Callable[[], None],
    on_zoom: Callable[[], None] = lambda: None,
) -> None:
    """Draw it, as a chart with the key “scatter”; the arguments but for the height may change at every run.

    drawing: from `sent`. labels: from `labels_sent`. on_select: called when the visitor has marked something in it.
    on_zoom: called when something else of a density is seen than what it was made for.
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
        _DRAWING(data=labels, key=f"{_KEY}_labels")
    data = b'{"chart":"%b","alt":%b,%b' % (_KEY.encode(), orjson.dumps(alt), drawing[1:])
    _DRAWING(data=data, key=DRAWN, on_zoomed_change=on_zoom)


@lru_cache(maxsize=16)
def _blank(height: int, number: int) -> Any:  # plotly’s, of which only `figures` knows
    """The empty chart, made once: Streamlit sends a copy of it."""
    return figures.blank(height, number)
