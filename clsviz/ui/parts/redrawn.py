"""Parts of a page that draw themselves again: when one of their controls is moved, and while there is more to come."""

from collections.abc import Callable

import streamlit as st

from clsviz.ui.state import forged, server, session


def repeat(draw: Callable[[], None], every: float | None) -> None:
    """Draw a part of the page, which draws itself again when a control of its own is moved, and every so many seconds.

    every: less often in a crowd; None for a part that waits for nothing. Such a part has another name than the same
    part that waits: where it takes its place inside another part, Streamlit tells the browser of a pace but never that
    there is none any more, and the server drops what a part asks for that no longer exists.
    """

    def drawn() -> None:
        server.come_after_measuring()
        draw()

    drawn.__module__ = draw.__module__
    drawn.__qualname__ = f"{draw.__qualname__}.{'waiting' if every else 'still'}"
    st.fragment(drawn, run_every=every and every * server.times_slower())()


def follow(draw: Callable[[], None], outline: Callable[[], object], before: object, every: float | None) -> None:
    """Draw it every so many seconds, and once the outline is no longer what it was before, the whole page.

    Not at once: a page that is broken off reaches the browser without the values of its controls, and without the
    click on a button that is drawn here.
    """
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        draw()
        if is_in_browser and outline() != before:
            st.rerun()  # the whole page
        is_in_browser = True

    keep_up.__module__, keep_up.__qualname__ = draw.__module__, draw.__qualname__
    repeat(keep_up, every)


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
            session.recall()
            forged.mend()
            if chosen() != before:
                st.rerun()
        draw()
        if is_in_browser and was_active != is_active():  # to begin, or to stop, drawing it again and again
            st.rerun()
        is_in_browser = True

    def look() -> None:
        """Draws nothing itself: what a part does not draw again it loses."""
        if is_in_browser and news is not None and (drawn != news() or was_active != is_active()):
            st.rerun()

    repeat(keep_up, seconds if was_active and not news else None)
    if news:
        with st.container():  # always, as a part is known by its place: a click on its way to one below would be lost
            if was_active:
                repeat(look, seconds)
