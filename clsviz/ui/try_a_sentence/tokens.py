"""The tokens of a sentence with their ids, in the order in which the model reads them."""

import html

import streamlit as st

from clsviz import words
from clsviz.analysis.typed import TypedSentences
from clsviz.settings import printable
from clsviz.ui.markdown import escape

_MOST_SHOWN = 128


_CHIP = (
    "display:inline-flex;flex-direction:column;align-items:center;padding:2px 8px;border-radius:6px;"
    "border:1px solid rgba(128,128,128,0.45);line-height:1.35"
)


def show(typed: TypedSentences, at: int) -> None:
    """The tokens as chips."""
    st.subheader("What the model reads", anchor=False)
    st.caption(escape(words.try_a_sentence.tokens(typed, at, _MOST_SHOWN)))
    chips = [
        f'<span style="{_CHIP}"><span style="font-family:monospace">{html.escape(printable(token))}</span>'
        f'<span style="font-size:0.75rem;opacity:0.75">{token_id}</span></span>'
        for token, token_id in typed.tokens[at][:_MOST_SHOWN]
    ]
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:4px">{"".join(chips)}</div>')
