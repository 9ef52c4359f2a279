"""A part of a page that draws itself anew when one of its own controls is moved, and while there is more to come."""

from collections.abc import Callable

import streamlit as st

from clsviz.ui.state import forged, session

_POLL_SECONDS = 1.0


def show(draw: Callable[[], None], chosen: Callable[[], object], is_active: Callable[[], bool]) -> None:
    """Draw it, each second again while there is more to come, and at the end the whole page once more.

    chosen: the settings that the rest of the page depends on. If something in this part changes them, the whole page is
        drawn anew. is_active: whether there is more to come.
    """
    is_in_browser = False
    before, was_active = chosen(), is_active()

    def keep_up() -> None:
        nonlocal is_in_browser
        session.recall()
        forged.mend()
        if chosen() != before:
            st.rerun()
        draw()
        if is_in_browser and was_active != is_active():  # to begin, or to stop, drawing it again and again
            st.rerun()
        is_in_browser = True

    st.fragment(keep_up, run_every=_POLL_SECONDS if was_active else None)()
