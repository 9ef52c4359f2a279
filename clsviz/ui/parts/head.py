"""The top of a page: its question, the answer, and one quiet line of numbers."""

import streamlit as st

from clsviz.ui.markdown import escape


def show(question: str, answer: str, numbers: str = "", caveats: str = "", *, pending: str = "") -> None:
    """Draw it; the place of each is kept while it is empty.

    pending: what is still to come, after the answer. caveats: what else to know of the answer.
    """
    with st.container(key="head", gap="xsmall"):
        st.title(escape(question), anchor=False)
        with st.container(key="answer"):
            st.header(escape(answer) + (f" :gray[{escape(pending)}]" if pending else ""), anchor=False)
        with st.container(key="numbers", gap="xsmall"):
            st.caption(escape(numbers))
            if caveats:
                st.caption(escape(caveats))
