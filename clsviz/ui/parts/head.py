"""The top of a page: its question, the answer, and one quiet line of numbers."""

from collections.abc import Callable, Sequence

import streamlit as st

from clsviz import words
from clsviz.ui.markdown import escape


def show(
    question: str,
    answer: str,
    numbers: str | None = "",
    caveats: str = "",
    *,
    pending: str = "",
    terms: Sequence[str] = (),
    beside: Callable[[], None] | None = None,
) -> None:
    """Draw it; the place of each is kept while it is empty.

    numbers: None on a page that never has any. pending: what is still to come, after the answer. caveats: what else to
    know of the answer. terms: those of the page that are explained beside the question. beside: draws what else stands
    there.
    """
    with st.container(key="head", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="question", gap="small"):
            st.title(escape(question), anchor=False, width="stretch")
            if terms:
                with st.popover("Terms", icon=":material/dictionary:", type="tertiary"):
                    explained = words.glossary.explained(terms).items()
                    st.markdown("\n\n".join(f"**{escape(term)}** — {escape(meaning)}" for term, meaning in explained))
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
