"""The tokens of a sentence."""

from typing import Final

import streamlit as st

from clsviz.encoder.anatomy import Anatomy
from clsviz.results.numbers import counted
from clsviz.ui import layout

MOST: Final = 64


def show(anatomy: Anatomy) -> None:
    """Draw the tokens that the model reads, each with its id."""
    pairs = list(zip(anatomy.tokens, anatomy.ids, strict=True))
    badges = [f":gray-badge[{layout.escape(token)} · {n}]" for token, n in pairs[:MOST]]
    rest = f" and {len(pairs) - MOST:,} others" if len(pairs) > MOST else ""
    cut = f", the first of {anatomy.n_tokens:,}" if anatomy.is_cut else ""
    st.caption(f"The model reads {counted(len(pairs), 'token')}{cut}, each with its id")
    st.markdown(" ".join(badges) + rest)
