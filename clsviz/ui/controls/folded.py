"""Boxes whose content is drawn once they are opened, and nothing else of the page with it.

What nobody has opened takes neither the server nor the browser anything. What was open once is drawn ever after, so
that nothing in it is lost, and nothing flickers, when it is closed and opened again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from clsviz.ui.state import forged, server, session


@dataclass(frozen=True)
class Box:
    """A box that unfolds. draw: draws what is in it.

    height, width: of that, about, in pixels, so that nothing jumps when it comes; 0 where it is not known.
    """

    label: str
    key: str
    draw: Callable[[], object]
    icon: str | None = None
    height: int = 0
    width: int = 0

    def show(self) -> None:
        """Draw it, and what is in it if it is or was open."""
        with st.expander(self.label, icon=self.icon, key=self.key, on_change="rerun") as place:
            self.fill(place)

    def fill(self, place: Any) -> None:
        """Draw what is in it. place: the expander or popover that it is."""
        seen = f"{self.key}_seen"
        if place.open:
            st.session_state[seen] = True
        if place.open or st.session_state.get(seen):
            self.draw()
        elif self.height:
            st.skeleton(self.height, width=self.width or "stretch")


@dataclass(frozen=True)
class Menu(Box):
    """A button below which it opens."""

    is_disabled: bool = False

    def show(self) -> None:
        """Draw it, and what is in it if it is or was open."""
        with st.popover(
            self.label, icon=self.icon, key=self.key, on_change="rerun", disabled=self.is_disabled
        ) as place:
            self.fill(place)


def show(*boxes: Box, chosen: Callable[[], object] = lambda: None) -> None:
    """Draw them as a part of the page that draws itself anew.

    chosen: the settings that the rest of the page depends on. If something in a box changes them, the whole page is
        drawn anew.
    """
    before, is_in_browser = chosen(), False

    def keep_up() -> None:
        nonlocal is_in_browser
        if is_in_browser:  # or else the page has just seen to that
            session.recall()
            forged.mend()
            if chosen() != before:
                st.rerun()
        is_in_browser = True
        with server.turns().one():
            for box in boxes:
                box.show()

    st.fragment(keep_up)()
