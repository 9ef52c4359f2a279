"""The dashboard: streamlit run app.py."""

from pathlib import Path

import streamlit as st

from clsviz.ui import session

ICON = Path(__file__).parent / "clsviz" / "ui" / "icon.svg"  # wherever the server was started

st.set_page_config(page_title="clsviz", page_icon=ICON, layout="wide")
PAGES = [
    st.Page("clsviz/ui/norm_vs_length.py", title="Norm vs length", icon=":material/scatter_plot:", default=True),
    st.Page("clsviz/ui/where_length_lives.py", title="Where length lives", icon=":material/layers:"),
    st.Page("clsviz/ui/try_a_sentence.py", title="Try a sentence", icon=":material/edit_note:"),
    st.Page("clsviz/ui/compare_models.py", title="Compare models", icon=":material/compare_arrows:"),
    st.Page("clsviz/ui/inside_the_model.py", title="Inside the model", icon=":material/account_tree:"),
]
page = st.navigation(PAGES, position="hidden")
links = st.sidebar.container(gap="xxsmall")
try:
    page.run()
finally:  # also of a page that stops early
    with links:
        for other in PAGES:  # with the settings, which Streamlit's own menu would leave behind
            st.page_link(other, query_params=session.query())
