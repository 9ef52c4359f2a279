"""The pages. All that knows Streamlit."""
