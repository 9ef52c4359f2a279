"""Brings parts of a page into view, once for each occasion."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

_INTO_VIEW = st.components.v2.component("clsviz.into_view", js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def bring(keys: Sequence[str], occasion: str, below: str = "") -> None:
    """Scroll to the parts with these keys, if some of them cannot be seen, and close a sidebar that covers them.

    If not all of them fit, the first is seen. Afterwards the visitor is free to scroll elsewhere, until there is
    another occasion. below: the key of what lies on the page's lower end, which they are not to be under.
    """
    _INTO_VIEW(data={"keys": list(keys), "occasion": occasion, "below": below}, key=f"into_view_{keys[0]}")
