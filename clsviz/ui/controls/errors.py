"""Errors, each shown where its cause is."""

import streamlit as st

from clsviz.errors import ClsvizError, Subject
from clsviz.ui.markdown import escape

OF_THE_SIDEBAR = (Subject.MODEL, Subject.CORPUS)
"""What a control in the sidebar is to blame for: shown under it."""

OF_THE_RUN = (Subject.STORE, Subject.PROGRAM, Subject.SENTENCES)
"""What no control is to blame for: shown beside the Run button."""


def show(error: ClsvizError | None, *subjects: Subject) -> None:
    """Show the error here if it is about one of these subjects."""
    if error is not None and error.subject in subjects:
        st.error(escape(error))
