"""The dashboard: streamlit run app.py."""

from clsviz.ui.app import main

main()
