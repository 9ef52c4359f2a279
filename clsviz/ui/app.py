"""The dashboard: the settings, the page that was chosen, and the question that it leads to."""

from pathlib import Path
from typing import Final

import streamlit as st

from clsviz.questions import FIRST_PAGE, PAGES, PRODUCT, STUDY, USE
from clsviz.ui import sidebar, typed
from clsviz.ui.server import is_too_fast

HOME: Final = Path(__file__).parent

STYLE, ICON, LOGO = (
    (HOME / name).read_text("utf-8") for name in ("style.css", "icon.svg", "logo.svg")
)
"""The icon is a picture, as browsers would ask the internet for an icon of a name."""

DOORS: Final = {USE: "search", STUDY: "where_length_lives"}


def main() -> None:
    """Draw the dashboard for a visitor."""
    st.set_page_config(page_title="clsviz", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large")
    st.html(f"<style>{STYLE}</style>")
    pages = {
        path: st.Page(HOME / "pages" / f"{path}.py", title=one.title, icon=f":material/{one.icon}:")
        for path, one in PAGES.items()
    }
    menu = {
        group: [pages[path] for path, one in PAGES.items() if one.group == group]
        for group in (STUDY, USE)
    }
    page = st.navigation(menu)
    if is_too_fast():
        st.error("You change this page more often than the server can follow. Wait a minute.")
        st.stop()
    typed.recall()
    st.session_state.experiment = sidebar.show(page.url_path)
    path = st.session_state.page = page.url_path or FIRST_PAGE
    if path == FIRST_PAGE:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="doors"):
            st.caption(PRODUCT, width="content")
            for label, door in DOORS.items():
                st.page_link(pages[door], label=label, width="content")
    page.run()
    paths = [*PAGES]
    for following in paths[paths.index(path) + 1 :][:1]:
        label, icon = PAGES[path].next, ":material/arrow_forward:"
        st.page_link(pages[following], label=label, icon=icon)
