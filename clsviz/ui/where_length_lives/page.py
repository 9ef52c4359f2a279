"""The page “Where length lives”: after which layer and from what length can be predicted, and the controls."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.settings import Pooling
from clsviz.ui import controls
from clsviz.ui.parts import preview
from clsviz.ui.state import session, url, watching
from clsviz.ui.where_length_lives import elsewhere, profile

PAGE = "where-length-lives"


def page() -> None:
    """The page, drawn anew at every run."""
    experiment, (job, *there) = watching.begin(PAGE, Kind.VECTORS, others=elsewhere.wanted)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.sample.show(job, of_vectors=True)
        controls.status.show(job, outline)
        controls.view.show(job.work.found, list(Pooling))
    experiment = session.experiment()  # the view may have been brought back to what the model has
    links = {
        "heat": "probe" if st.session_state.heat else "",
        "erase": "yes" if st.session_state.erase else "",
        "travel_to": st.session_state.travel_to,
        "sentlen_file": st.session_state.sentlen_file,
        "origin": str(st.session_state.origin or ""),
    }
    query = url.write(experiment, PAGE, **links)
    controls.notes.show(job)
    preview.show(job)
    profile.show(job, there[0] if there else None, experiment, query)
    preview.explain(job)
