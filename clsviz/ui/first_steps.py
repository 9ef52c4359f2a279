"""For who is new: a tour of the pages, and examples to open. Neither takes anything until it is asked for."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from clsviz import words
from clsviz.ui.parts import assist
from clsviz.ui.state import session

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

_FRESH_SECONDS = 60.0
"""What is stored may change."""


def tour_button() -> None:
    """Starts the tour: five steps, each about one thing on the page, which is framed and seen; then the other pages."""
    st.button("Tour", icon=":material/tour:", type="tertiary", key="tour_start", on_click=_go, args=[1])


def show_tour() -> None:
    """The step that the visitor is at on the main page, if the tour is on."""
    at, steps = int(st.session_state.get("tour", 0)), words.glossary.TOUR
    if not 1 <= at <= len(steps):
        return

    def lead_on() -> None:
        st.button("Back", key="tour_back", disabled=at == 1, on_click=_go, args=[at - 1])
        if at < len(steps):
            st.button("Next", key="tour_next", type="primary", on_click=_go, args=[at + 1])
        else:
            _link_to_next_page()

    _show_step(at, *steps[at - 1], _FRAMED[at - 1], lead_on)


def show_tour_of_page(at: int) -> None:
    """The one step of a page after the main one, if the tour is on; at: where the page stands in the story, from 0."""
    if at and st.session_state.get("tour", 0):
        _show_step(len(words.glossary.TOUR) + at, *words.glossary.TOUR_PAGES[at - 1], ("answer",), _link_to_next_page)


def _link_to_next_page() -> None:
    following = st.session_state.get("tour_leads_to")
    if following is None:
        st.button("Done", key="tour_next", type="primary", on_click=_go, args=[0])
    else:
        st.page_link(
            following,
            label=f"Next: {following.title}",
            icon=":material/arrow_forward:",
            icon_position="right",
            query_params=session.query(),
        )


def _show_step(number: int, title: str, text: str, framed: Sequence[str], lead_on: Callable[[], None]) -> None:
    n_steps = len(words.glossary.TOUR) + len(words.glossary.TOUR_PAGES)
    keys = ", ".join(f".st-key-{key}" for key in framed)
    st.html(f"<style>{keys} {{ outline: 3px solid {_FRAME}; outline-offset: 3px; border-radius: 4px; }}</style>")
    with st.container(border=True, key="tour_box", horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{number} of {n_steps} · {title}**  \n{text}", width="stretch")
        with st.container(horizontal=True, width="content", vertical_alignment="center", gap="xsmall"):
            if number < n_steps:
                st.button("End", key="tour_end", type="tertiary", on_click=_go, args=[0])
            lead_on()
        assist.bring_into_view(framed, f"step {number}", below="tour_box")


def _go(step: int) -> None:
    st.session_state.tour = step


@dataclass(frozen=True)
class Example:
    """A link with its picture, both relative to the main page. answer: "" where it is still to be computed."""

    link: str
    picture: str
    alt: str
    question: str
    answer: str


def show_examples(made: Callable[[], list[Example]]) -> None:
    """The examples, closed at first; made: asked for them once somebody looks at them."""
    with st.expander(words.sharing.EXAMPLES, key="examples", on_change="rerun") as place:
        if place.open:
            examples = _examples(made)
            st.caption(words.sharing.about_examples(len(examples)))
            st.html(markup(examples))


@st.cache_resource(max_entries=1, ttl=_FRESH_SECONDS, show_spinner=False)
def _examples(_made: Callable[[], list[Example]]) -> list[Example]:
    return _made()


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
