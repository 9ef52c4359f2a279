"""The page “Does length bend my search?”: similarity by length, and what to do about it."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.settings import Pooling
from clsviz.ui import controls
from clsviz.ui.length_and_search import results
from clsviz.ui.parts import preview
from clsviz.ui.state import session, url, watching

PAGE = "length-and-search"


def page() -> None:
    """The page, drawn anew at every run."""
    experiment, (job,) = watching.begin(PAGE, Kind.VECTORS, suffices=results.is_kept)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.sample.show(job, of_vectors=True)
        controls.status.show(job, outline)
        controls.view.show(job.work.found, list(Pooling))
    experiment = session.experiment()  # the view may have been brought back to what the model has
    query = url.write(experiment, PAGE, joined="yes" if st.session_state.joined else "")
    controls.notes.show(job)
    preview.show(job)
    results.show(job, experiment, query)
    preview.explain(job)
