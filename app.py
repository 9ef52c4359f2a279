"""The dashboard: streamlit run app.py."""

import streamlit as st
from streamlit import runtime

from clsviz.ui import failures
from clsviz.ui.app import main

if runtime.exists():  # a visitor opens a page
    main()
else:  # the server starts
    app = st.App(__file__, on_script_error=failures.answer)
    failures.keep_out_of_the_log()
