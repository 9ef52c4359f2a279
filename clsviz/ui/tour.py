"""The tour: five steps, each about one thing on the page, which is framed and seen. It starts only when asked to."""

import streamlit as st

from clsviz import words
from clsviz.ui.parts import into_view

_FRAMED = (
    ("answer",),
    ("scatter",),
    ("scatter", "overlays"),
    ("strip",),
    ("text_line", "text_area", "copy_link"),
)
"""The keys of what each step is about; where not all of it fits the screen, the first is seen."""

_FRAME = "#4c8fc7"
"""Seen on the backgrounds of both themes."""


def button() -> None:
    """Starts it."""
    st.button("Tour", icon=":material/tour:", type="tertiary", key="tour_start", on_click=_go, args=[1])


def show() -> None:
    """The step that the visitor is at, if the tour is on."""
    at, steps = st.session_state.get("tour", 0), words.tour.STEPS
    if not 1 <= at <= len(steps):
        return
    title, text = steps[at - 1]
    framed = ", ".join(f".st-key-{key}" for key in _FRAMED[at - 1])
    st.html(f"<style>{framed} {{ outline: 3px solid {_FRAME}; outline-offset: 3px; border-radius: 4px; }}</style>")
    with st.container(border=True, key="tour_box", horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{at} of {len(steps)} · {title}**  \n{text}", width="stretch")
        with st.container(horizontal=True, width="content", vertical_alignment="center", gap="xsmall"):
            is_last = at == len(steps)
            if not is_last:
                st.button("End", key="tour_end", type="tertiary", on_click=_go, args=[0])
            st.button("Back", key="tour_back", disabled=at == 1, on_click=_go, args=[at - 1])
            after = 0 if is_last else at + 1
            st.button("Done" if is_last else "Next", key="tour_next", type="primary", on_click=_go, args=[after])
        into_view.bring(_FRAMED[at - 1], f"step {at}", below="tour_box")


def _go(step: int) -> None:
    st.session_state.tour = step
