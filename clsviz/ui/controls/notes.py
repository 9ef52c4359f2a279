"""What stands above a page: what the visitor should know of their settings and of the result."""

from collections.abc import Iterable

import streamlit as st

from clsviz import words
from clsviz.errors import ClsvizError, Subject
from clsviz.measuring import MeasuringJob
from clsviz.ui.controls import errors
from clsviz.ui.markdown import escape
from clsviz.ui.state import session


def show(job: MeasuringJob) -> None:
    """How the result differs from what was asked for."""
    notes = []
    if job.work.found:
        notes += words.notes(job.work.experiment, job.work.found)
        notes += words.differences(session.made_with(), job.work.found)
    _show(notes, job.error)


def show_of_view() -> None:
    """Settings that could not be used, until one is changed."""
    _show(session.notes())


def _show(notes: Iterable[str], error: ClsvizError | None = None) -> None:
    with st.container():  # holds its place while it is empty: nothing below is there twice for a moment
        errors.show(error, Subject.SETTINGS)
        for note in notes:
            st.warning(escape(note))
