"""The dashboard: streamlit run app.py."""

from pathlib import Path

import streamlit as st

ICON = Path(__file__).parent / "clsviz" / "ui" / "icon.svg"  # wherever the server was started

st.set_page_config(page_title="clsviz", page_icon=ICON, layout="wide")
st.navigation([st.Page("clsviz/ui/norm_vs_length.py", title="Norm vs length", icon=":material/scatter_plot:")]).run()
