"""The page of that name."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui import controls, session

PAGE = "where-length-lives"

experiment, (job,) = session.begin(PAGE, Kind.VECTORS)
outline = controls.outline(job)
with st.sidebar:
    controls.sample_controls(job, of_vectors=True)
    controls.status(job, outline)
query = session.write_url(experiment, PAGE)
controls.show_notes(job, experiment)
st.title("Where does it write the length")
