"""The pages: the only place that imports Streamlit."""
