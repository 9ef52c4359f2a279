"""A part of a page that draws itself anew while there is more to come."""

from collections.abc import Callable

import streamlit as st

from clsviz.ui.state import session

_POLL_SECONDS = 1.0


def show(draw: Callable[[], None], chosen: Callable[[], object], is_active: Callable[[], bool]) -> None:
    """Draw it, each second again while there is more to come, and at the end the whole page once more.

    chosen: the settings that the rest of the page depends on. If something in this part changes them, the whole page is
        drawn anew. is_active: whether there is more to come.

    Once nothing is, it is a part of the page like any other: what a control in a part that draws itself anew sends
    just when the visitor goes to another page would have Streamlit look for that part there, and show nothing.
    """
    is_in_browser = False
    if not is_active():
        draw()
        if is_active():  # only now, because of what it asked for
            st.fragment(lambda: st.rerun() if is_in_browser else None, run_every=_POLL_SECONDS)()
            is_in_browser = True
        return
    before = chosen()

    def keep_up() -> None:
        nonlocal is_in_browser
        session.recall()
        if chosen() != before:
            st.rerun()
        draw()
        if is_in_browser and not is_active():
            st.rerun()
        is_in_browser = True

    st.fragment(keep_up, run_every=_POLL_SECONDS)()
