"""What every page is made of: its head, and boxes that unfold.

What nobody has opened takes neither the server nor the browser anything. What was open once is drawn ever after, so
that nothing in it is lost, and nothing flickers, when it is closed and opened again.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from clsviz import words
from clsviz.ui.markdown import escape
from clsviz.ui.parts import redrawn


def head(
    question: str,
    answer: str,
    numbers: str | None = "",
    caveats: str = "",
    *,
    pending: str = "",
    terms: Sequence[str] = (),
    beside: Callable[[], None] | None = None,
) -> None:
    """The question of a page, the answer, and one quiet line of numbers; the place of each is kept while it is empty.

    numbers: None on a page that never has any. pending: what is still to come, after the answer. caveats: what else to
    know of the answer. terms: those of the page that are explained beside the question. beside: draws what else stands
    there.
    """
    with st.container(key="head", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="question", gap="small"):
            st.title(escape(question), anchor=False, width="stretch")
            if terms:
                with st.popover("Terms", icon=":material/dictionary:", type="tertiary"):
                    explained = [f"**{escape(term)}** — {escape(words.glossary.TERMS[term])}" for term in terms]
                    st.markdown("\n\n".join(explained))
            if beside:
                beside()
        with st.container(key="answer"):
            st.header(escape(answer) + (f" :gray[{escape(pending)}]" if pending else ""), anchor=False)
        if numbers is None:
            return
        with st.container(key="numbers", gap="xsmall"):
            st.caption(escape(numbers))
            if caveats:
                st.caption(escape(caveats))


def box(
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

    def unfold() -> None:
        with st.expander(escape(label), icon=icon, key=key, on_change="rerun") as place:
            fill(place, key, draw, height)

    redrawn.show(unfold, chosen, is_active, lambda: None)


def fill(place: Any, key: str, draw: Callable[[], object], height: int, width: int = 0) -> None:
    """Draw what is in an expander or popover if it is or was open; height, width: of that, about, in pixels."""
    seen = f"{key}_seen"
    if place.open:
        st.session_state[seen] = True
    if place.open or st.session_state.get(seen):
        draw()
    elif height:
        st.skeleton(height, width=width or "stretch")
