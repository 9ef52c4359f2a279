"""A part of a page that draws itself anew when one of its own controls is moved, and while there is more to come."""

from collections.abc import Callable

import streamlit as st

from clsviz.ui.state import forged, server, session
from clsviz.ui.state.pace import Pace, part


def show(
    draw: Callable[[], None],
    chosen: Callable[[], object],
    is_active: Callable[[], bool],
    news: Callable[[], object] | None = None,
    seconds: float = 1.0,
) -> None:
    """Draw it, every so many seconds again while there is more to come, and at the end the whole page once more.

    chosen: the settings that the rest of the page depends on. If something in this part changes them, the whole page is
        drawn anew. is_active: whether there is more to come. news: what it is that comes. With it a look at it takes a
        moment, and the page is drawn again when it has changed, and not each time.
    """
    is_in_browser = False
    before, was_active = chosen(), is_active()
    drawn = news() if news else None

    def keep_up() -> None:
        nonlocal is_in_browser
        if is_in_browser:  # or else the page has just seen to that
            if was_active and news is None:
                pace.keep()
            session.recall()
            forged.mend()
        if chosen() != before:
            st.rerun()
        with server.turns().one():
            draw()
        if is_in_browser and was_active != is_active():  # to begin, or to stop, drawing it again and again
            st.rerun()
        is_in_browser = True

    def look() -> None:
        """Draws nothing itself: what a part does not draw again it loses."""
        if is_in_browser:
            pace.keep()
        if is_in_browser and news is not None and (drawn != news() or was_active != is_active()):
            st.rerun()

    pace = Pace(seconds)
    every = pace.seconds if was_active else None
    part(keep_up, None if news else every)()
    if news and every:
        part(look, every)()
