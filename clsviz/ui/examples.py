"""Examples to open: the picture of each link with its answer. They take nothing until somebody looks at them."""

import html
from dataclasses import dataclass

import streamlit as st

from clsviz import words
from clsviz.ui.state import session

_FRESH_SECONDS = 60.0
"""What is stored may change."""


@dataclass(frozen=True)
class Example:
    """A link with its picture, both relative to the main page. answer: "" where it is still to be computed."""

    link: str
    picture: str
    alt: str
    question: str
    answer: str


def show() -> None:
    """The examples, closed at first."""
    st.fragment(_draw)()


def _draw() -> None:
    with st.expander(words.sharing.EXAMPLES, key="examples", on_change="rerun") as place:
        if place.open:
            examples = _offered()
            st.caption(words.sharing.about_examples(len(examples)))
            st.html(markup(examples))


@st.cache_resource(max_entries=1, ttl=_FRESH_SECONDS, show_spinner=False)
def _offered() -> list[Example]:
    return session.examples()


def markup(examples: list[Example]) -> str:
    """As many beside each other as there is room for."""
    columns = "repeat(auto-fill, minmax(min(100%, 15rem), 1fr))"
    return (
        f'<ul style="display: grid; grid-template-columns: {columns}; gap: 1.25rem; list-style: none; padding: 0; '
        f'margin: 0">{"".join(map(_item, examples))}</ul>'
    )


def _item(example: Example) -> str:
    link, picture, alt = (html.escape(text) for text in (example.link, example.picture, example.alt))
    question, answer = html.escape(example.question), html.escape(example.answer)
    return (
        f'<li style="margin: 0"><a href="{link}" style="color: inherit; text-decoration: none; display: block">'
        f'<img src="{picture}" alt="{alt}" width="1200" height="630" loading="lazy" style="width: 100%; height: auto; '
        'border: 1px solid color-mix(in srgb, currentColor 18%, transparent); border-radius: 8px">'
        f'<span style="display: block; margin-top: 0.4rem; font-weight: 600">{question}</span>'
        f'<span style="display: block; font-size: 0.875rem">{answer}</span></a></li>'
    )
