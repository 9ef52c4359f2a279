"""The dashboard: streamlit run app.py."""

import streamlit as st

st.set_page_config(page_title="clsviz", page_icon="clsviz/ui/icon.svg", layout="wide")
st.navigation([st.Page("clsviz/ui/norm_vs_length.py", title="Norm vs length", icon=":material/scatter_plot:")]).run()
