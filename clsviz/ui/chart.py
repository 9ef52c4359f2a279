"""The chart: a component in which Plotly redraws only what has changed.

`st.plotly_chart` would make a new chart for every figure: zoom and hover would be lost.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from clsviz import web
from clsviz.figures.style import THEME

_component = st.components.v2.component(
    "clsviz.chart",
    js="export default (component) => window.clsvizChart(component)",  # chart.js, by the page
    isolate_styles=False,
)


def show(
    figure: str,
    *,
    key: str,
    alt: str,
    height: int = 450,
    is_private: bool = False,
    table: str = "",
    on_pick: Callable[[list[int]], None] | None = None,
) -> list[int]:
    """Draw a figure, given as JSON; returns the rows that the picked points carry as customdata.

    alt: the picture in a sentence. height: in pixels. is_private: it holds text of a visitor, and
    goes to this browser alone. table: names the table that rows are of: those picked in another are
    forgotten. on_pick: is called with the rows after each pick, before the page runs again.
    Rows come from the browser: any integer from 0.
    """
    data = {
        "address": "" if is_private else web.pack(figure),
        "figure": figure if is_private else "",
        "theme": THEME,
        "alt": alt,
        "height": height,
        "table": table,
    }

    def picked() -> None:
        if on_pick:
            on_pick(rows_of(st.session_state[key].get("picked"), table))

    component = _component(data=data, key=key, height=height, on_picked_change=picked)
    return rows_of(component.picked, table)


def rows_of(picked: Any, table: str) -> list[int]:
    """The rows of a table in a browser's message, which may be anything."""
    is_of_table = isinstance(picked, dict) and picked.get("table") == table
    rows = picked.get("rows") if is_of_table else None
    return [row for row in rows if type(row) is int and row >= 0] if isinstance(rows, list) else []
