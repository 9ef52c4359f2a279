"""Boxes whose content is drawn once they are opened, and nothing else of the page with it.

What nobody has opened takes neither the server nor the browser anything. What was open once is drawn ever after, so
that nothing in it is lost, and nothing flickers, when it is closed and opened again.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from clsviz.ui.parts import redrawn


def show(
    label: str,
    key: str,
    draw: Callable[[], object],
    *,
    icon: str | None = None,
    height: int = 0,
    chosen: Callable[[], object] = lambda: None,
    is_active: Callable[[], bool] = lambda: False,
) -> None:
    """A box that unfolds, as a part of the page that draws itself anew; draw: draws what is in it.

    height: of that, about, in pixels, so that nothing jumps when it comes. chosen: the settings that the rest of the
    page depends on: if something in the box changes them, the whole page is drawn anew. is_active: whether more is to
    come, after which the page is drawn once more.
    """

    def box() -> None:
        with st.expander(label, icon=icon, key=key, on_change="rerun") as place:
            _fill(place, key, draw, height)

    redrawn.show(box, chosen, is_active, lambda: None)


def menu(
    label: str, key: str, draw: Callable[[], object], *, icon: str, height: int, width: int, is_disabled: bool = False
) -> None:
    """A button below which a box opens, of about that height and width in pixels."""

    def button() -> None:
        with st.popover(label, icon=icon, key=key, on_change="rerun", disabled=is_disabled) as place:
            _fill(place, key, draw, height, width)

    redrawn.show(button, lambda: None, lambda: False)


def _fill(place: Any, key: str, draw: Callable[[], object], height: int, width: int = 0) -> None:
    """Draw what is in an expander or popover if it is or was open."""
    seen = f"{key}_seen"
    if place.open:
        st.session_state[seen] = True
    if place.open or st.session_state.get(seen):
        draw()
    elif height:
        st.skeleton(height, width=width or "stretch")
