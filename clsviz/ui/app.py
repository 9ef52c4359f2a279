"""The dashboard: the settings, the page that was chosen, and the question that it leads to."""

from itertools import pairwise
from pathlib import Path
from typing import Final

import streamlit as st

from clsviz.questions import PAGES
from clsviz.ui import sidebar, typed
from clsviz.ui.server import is_too_fast

HOME: Final = Path(__file__).parent

STYLE, ICON, LOGO = (
    (HOME / name).read_text("utf-8") for name in ("style.css", "icon.svg", "logo.svg")
)
"""The icon is a picture, as browsers would ask the internet for an icon of a name."""


def main() -> None:
    """Draw the dashboard for a visitor."""
    st.set_page_config(page_title="clsviz", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large")
    st.html(f"<style>{STYLE}</style>")
    pages = [
        st.Page(HOME / "pages" / f"{path}.py", title=one.title, icon=f":material/{one.icon}:")
        for path, one in PAGES.items()
    ]
    page = st.navigation(pages)
    if is_too_fast():
        st.error("You change this page more often than the server can follow. Wait a minute.")
        st.stop()
    typed.recall()
    st.session_state.experiment = sidebar.show(page.url_path)
    page.run()
    for (this, following), question in zip(pairwise(pages), PAGES.values(), strict=False):
        if this.url_path == page.url_path:
            st.page_link(following, label=question.next, icon=":material/arrow_forward:")
