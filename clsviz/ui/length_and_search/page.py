"""The page “Does length bend my search?”: similarity by length, and what to do about it."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui import controls
from clsviz.ui.length_and_search import results
from clsviz.ui.parts import preview
from clsviz.ui.state import watching

PAGE = "length-and-search"


def page() -> None:
    """The page, drawn anew at every run."""
    _, (job,) = watching.begin(PAGE, Kind.VECTORS, suffices=results.is_kept)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.sample.show(job, outline, of_vectors=True)
    controls.status.show_on_a_phone(job, outline)
    controls.notes.show(job)
    preview.show(job)
    results.show(job, PAGE)
    preview.explain(job)
