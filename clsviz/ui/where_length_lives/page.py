"""The page “Where length lives”: after which layer length can be read, from what, and what would fool us."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.settings import Pooling
from clsviz.ui.controls import sidebar as controls
from clsviz.ui.state import session
from clsviz.ui.where_length_lives import layers

PAGE = "where-length-lives"


def page() -> None:
    """The page, drawn anew at every run."""
    experiment, (job,) = session.begin(PAGE, Kind.VECTORS)

    outline = controls.outline(job)

    with st.sidebar:
        controls.sample_controls(job, of_vectors=True)
        controls.status(job, outline)
        controls.view_controls(job.work.found, list(Pooling))

    experiment = session.experiment()  # the view may have been brought back to what the model has

    query = session.write_url(experiment, PAGE, heat="probe" if st.session_state.heat else "")

    controls.show_notes(job)

    layers.show(job, experiment, query)
