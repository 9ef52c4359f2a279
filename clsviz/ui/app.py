"""The dashboard: its pages, and the links between them."""

import logging
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from clsviz import words
from clsviz.errors import SettingError
from clsviz.ui import first_steps
from clsviz.ui.compare_models import page as compare_models
from clsviz.ui.first_steps import Example
from clsviz.ui.inside_the_model import page as inside_the_model
from clsviz.ui.length_and_search import page as length_and_search
from clsviz.ui.norm_vs_length import page as norm_vs_length
from clsviz.ui.parts import assist, redrawn
from clsviz.ui.state import server, session, watching
from clsviz.ui.try_a_sentence import page as try_a_sentence
from clsviz.ui.where_length_lives import page as where_length_lives

_log = logging.getLogger(__name__)

_RETRY_SECONDS = 30.0

_STORY = (
    ("", norm_vs_length, "Norm vs length", "scatter_plot", "Then where is it?"),
    ("where_length_lives", where_length_lives, "Where length lives", "layers", "Does it matter?"),
    ("length_and_search", length_and_search, "Does length bend my search?", "search", "Is another model better?"),
    ("compare_models", compare_models, "Compare models", "compare_arrows", "And your sentence?"),
    ("try_a_sentence", try_a_sentence, "Try a sentence", "edit_note", "How does the model do that?"),
    ("inside_the_model", inside_the_model, "Inside the model", "account_tree", ""),
)
"""The pages in the order of their story: path, what draws it, title, icon, and the question that leads to the next."""

_HERE = Path(__file__).parent  # absolute, whatever folder the server was started in


def main(examples: Callable[[], list[Example]] = list) -> None:
    """Draw the page that the visitor is on; examples: those that the main page offers, asked for when they are seen."""
    st.set_page_config(page_title="clsviz", page_icon=_HERE / "icon.svg", layout="wide")
    st.logo(_HERE / "logo.svg", size="large")
    try:
        server.come_after_measuring()
        is_admitted = watching.is_admitted()
    except SettingError as error:  # of the server, whose operator reads its log
        _log.error("%s", error)
        st.error("This server is not set up correctly; its log says what is wrong.")
        return
    if not is_admitted:
        _show_busy()
        return
    pages = [
        st.Page(draw, title=title, icon=f":material/{icon}:", url_path=name, default=not name)
        for name, draw, title, icon, _ in _STORY
    ]
    page = st.navigation(pages, position="hidden")
    written = session.query() or st.query_params.to_dict()
    menu = st.sidebar.container(key="pages", gap="xxsmall")
    at = pages.index(page)
    body, next_place = st.container(), st.container(key="next").empty()
    is_linked = is_drawn = False

    def link(query: dict[str, str]) -> None:  # at every run: where a fragment did not write at first, it may not
        nonlocal is_linked
        is_linked = True
        with menu:  # Streamlit's own menu would drop the settings
            for other in pages:
                st.page_link(other, query_params=query)
        if is_drawn:
            link_next(query)
        else:  # it would be pushed down by all that comes; a fragment may only write where it wrote before
            next_place.empty()

    def link_next(query: dict[str, str]) -> None:
        if st.context.is_embedded:  # in the page of somebody else, a link back
            address = f"./{_STORY[at][0]}?{urlencode(query)}"
            next_place.link_button("Open in clsviz", address, icon=":material/open_in_new:", type="tertiary")
        elif page is not pages[-1]:
            label, icon = _STORY[at][-1], ":material/arrow_forward:"
            next_place.page_link(pages[at + 1], label=label, icon=icon, icon_position="right", query_params=query)

    session.link_pages_by(link)
    st.session_state.tour_leads_to = pages[at + 1] if at + 1 < len(pages) else None
    try:
        with body:
            page.run()
            if page is pages[0]:
                first_steps.show_examples(examples)
            first_steps.show_tour_of_page(at)
    finally:
        if not is_linked:  # whatever happened, there is a way to the other pages
            link(written)
    is_drawn = True
    link_next(session.query() or written)
    assist.show()


def _show_busy() -> None:
    """That there is no room for this visitor now; it tries again by itself."""
    title, text = words.waiting.full(server.limits().sessions or 0)

    def keep_up() -> None:
        st.title(title, anchor=False)
        st.markdown(text)
        if watching.is_admitted():
            st.rerun()

    redrawn.repeat(keep_up, _RETRY_SECONDS)
