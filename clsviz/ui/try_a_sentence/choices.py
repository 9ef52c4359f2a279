"""What the visitor chooses on this page: one of their sentences to look at, and one of its words to repeat."""

import streamlit as st

from clsviz import analysis
from clsviz.measurements import POOLED
from clsviz.settings import Pooling

POOLINGS = (*POOLED, Pooling.POOLER)


_DEFAULTS: dict[str, object] = {"nearest": False, "sentence": 1, "word": 1}
"""This page's own settings. Sentence and word are numbers, from 1, so that no link contains text unasked."""


def reset_for_new_text() -> None:
    """Go back to the first sentence and word when the text has changed.

    While a visitor types, the browser may still send a word of the sentence before, which a list gives as its text.
    """
    chosen = st.session_state.sentence, st.session_state.word
    is_new = st.session_state.get("text_chosen_from", st.session_state.text) != st.session_state.text
    if is_new or not all(isinstance(number, int) for number in chosen):
        st.session_state.sentence = st.session_state.word = 1
    st.session_state.text_chosen_from = st.session_state.text


def query() -> dict[str, str]:
    """The page's own settings as URL parameters; "" for those that have their defaults."""
    written = {"nearest": "yes", "sentence": str(st.session_state.sentence), "word": str(st.session_state.word)}
    return {name: written[name] if st.session_state[name] != value else "" for name, value in _DEFAULTS.items()}


def sentence_of(n: int) -> int:
    """The index of the one of n sentences to look at."""
    if not 1 <= st.session_state.sentence <= n:
        st.session_state.sentence = 1
    return int(st.session_state.sentence) - 1


def choose_sentence(sentences: list[str]) -> None:
    """The control of it, if there are several."""
    n = len(sentences)
    if n > 1:
        st.selectbox(
            "Sentence",
            range(1, n + 1),
            index=st.session_state.sentence - 1,
            format_func=lambda number: f"{number}. {sentences[number - 1]}",
            key="sentence",
            persist_state="session",
        )


def choose_word(sentence: str) -> str:
    """The word of the sentence to repeat."""
    words = analysis.typed.first_words(sentence)
    if not 1 <= st.session_state.word <= len(words):
        st.session_state.word = 1
    st.selectbox(
        "Word to repeat",
        range(1, len(words) + 1),
        index=st.session_state.word - 1,
        format_func=lambda number: words[number - 1],
        key="word",
        persist_state="session",
        width=260,
        help="One of the lines repeats this word as many times as the sentence has words.",
    )
    return words[int(st.session_state.word) - 1]
