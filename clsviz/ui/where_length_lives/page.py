"""The page “Where length lives”: after which layer and from what length can be predicted, and the controls."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui import controls
from clsviz.ui.parts import preview
from clsviz.ui.state import watching
from clsviz.ui.where_length_lives import elsewhere, profile

PAGE = "where-length-lives"


def page() -> None:
    """The page, drawn anew at every run."""
    _, (job, *there) = watching.begin(PAGE, Kind.VECTORS, others=elsewhere.wanted, suffices=profile.is_kept)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.sample.show(job, outline, of_vectors=True)
    controls.status.show_on_a_phone(job, outline)
    controls.notes.show(job)
    preview.show(job)
    profile.show(job, there[0] if there else None, PAGE)
    preview.explain(job)
