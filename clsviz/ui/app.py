"""The dashboard: the settings, and the page that was chosen."""

from pathlib import Path
from typing import Final

import streamlit as st

from clsviz.ui import public, sidebar, typed

PAGES: Final = Path(__file__).parent / "pages"

STYLE: Final = Path(__file__).with_name("style.css").read_text("utf-8")

ICON: Final = Path(__file__).with_name("icon.svg").read_text("utf-8")
"""A picture, as browsers would ask the internet for an icon of a name."""

LOGO: Final = Path(__file__).with_name("logo.svg").read_text("utf-8")


def main() -> None:
    """Draw the dashboard for a visitor."""
    st.set_page_config(page_title="clsviz", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large")
    st.html(f"<style>{STYLE}</style>")
    page = st.navigation(
        [
            st.Page(
                PAGES / "norm_vs_length.py",
                title="Norm vs length",
                icon=":material/scatter_plot:",
                default=True,
            ),
            st.Page(
                PAGES / "where_length_lives.py",
                title="Where length lives",
                icon=":material/layers:",
            ),
            st.Page(
                PAGES / "search.py",
                title="Does length bend my search?",
                icon=":material/search:",
            ),
            st.Page(
                PAGES / "compare.py",
                title="Compare models",
                icon=":material/compare_arrows:",
            ),
            st.Page(
                PAGES / "sentence.py",
                title="Try a sentence",
                icon=":material/edit:",
                url_path="sentence",
            ),
            st.Page(
                PAGES / "model.py",
                title="Inside the model",
                icon=":material/schema:",
                url_path="model",
            ),
        ]
    )
    if public.is_too_fast():
        st.error("You change this page more often than the server can follow. Wait a minute.")
        st.stop()
    typed.recall()
    st.session_state.experiment = sidebar.show(page.url_path)
    page.run()
