"""What stands above a page: what the visitor should know of their settings and of the result."""

import streamlit as st

from clsviz import words
from clsviz.errors import Subject
from clsviz.measuring import MeasuringJob
from clsviz.ui.controls import errors
from clsviz.ui.markdown import escape
from clsviz.ui.state import session


def show(job: MeasuringJob) -> None:
    """How the result differs from what was asked for."""
    errors.show(job.error, Subject.SETTINGS)
    notes: list[str] = []
    if job.work.found:
        notes += words.notes(job.work.experiment, job.work.found)
        notes += words.differences(session.made_with(), job.work.found)
    with st.container():  # holds its place while it is empty: nothing below is there twice for a moment
        for note in notes:
            st.warning(escape(note))


def show_of_view() -> None:
    """Settings that could not be used, until one is changed."""
    for note in session.notes():
        st.warning(escape(note))
