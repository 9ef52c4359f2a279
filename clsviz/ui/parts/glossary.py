"""What the terms of a page mean, where they are met first."""

from collections.abc import Sequence

import streamlit as st

from clsviz import words
from clsviz.ui.markdown import escape


def show(terms: Sequence[str]) -> None:
    """A small button that opens them."""
    with st.popover("Terms", icon=":material/dictionary:", type="tertiary"):
        explained = words.glossary.explained(terms).items()
        st.markdown("\n\n".join(f"**{escape(term)}** — {escape(meaning)}" for term, meaning in explained))
