"""The page “Where length lives”: after which layer length can be read, from what, and what would fool us."""

import streamlit as st

from clsviz.experiment import Pooling
from clsviz.measurements import Kind
from clsviz.ui import controls, layers, session

PAGE = "where-length-lives"

experiment, (job,) = session.begin(PAGE, Kind.VECTORS)
outline = controls.outline(job)
with st.sidebar:
    controls.sample_controls(job, of_vectors=True)
    controls.status(job, outline)
    controls.view_controls(job.extraction.found, list(Pooling))
experiment = session.experiment()  # the view may have been brought back to what the model has
query = session.write_url(experiment, PAGE, heat="probe" if st.session_state.heat else "")
controls.show_notes(job)
layers.show(job, experiment, query)
