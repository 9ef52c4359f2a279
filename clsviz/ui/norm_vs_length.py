"""The main page: norm of [CLS] against length, and the line through them."""

import streamlit as st

from clsviz import wording
from clsviz.errors import SettingError
from clsviz.ui import controls, own, picture, presets, session
from clsviz.ui.markdown import escape

session.restore()
try:
    experiment = session.experiment()
    job = session.job(experiment)
except SettingError as error:
    st.error(escape(error))
    st.stop()
outline = controls.outline(job)
with st.sidebar:
    presets.show()
    controls.sample_controls(job)
    controls.status(job, outline)
    controls.view_controls(job.extraction.found)
experiment = session.experiment()  # the view may have been brought back to what the model has
query = session.write_url(experiment)

notes = session.notes()
if job.extraction.found:
    notes += wording.notes(experiment, job.extraction.found)
    notes += wording.differences(session.made_with(), job.extraction.found)
for note in notes:
    st.warning(escape(note))

# Measured before the picture is drawn, which marks it, and shown below it.
picture_place, own_place = st.container(), st.container()
with own_place:
    own.box()
    mine = own.measure(job, experiment)
with picture_place:
    picture.show(job, experiment, mine, query)
found = session.found(job, experiment)
if mine and found:
    with own_place:
        own.show(mine, picture.view_of(found, experiment))
picture.explain(job, experiment)
