"""The main page: norm of [CLS] against length, and the line through them."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui.controls import presets
from clsviz.ui.controls import sidebar as controls
from clsviz.ui.parts import own, picture
from clsviz.ui.state import session

PAGE = "norm-vs-length"


def page() -> None:
    """The page, drawn anew at every run."""
    experiment, (job,) = session.begin(PAGE, Kind.NORMS)

    outline = controls.outline(job)

    with st.sidebar:
        presets.show()
        controls.sample_controls(job)
        controls.status(job, outline)
        controls.view_controls(job.work.found)

    experiment = session.experiment()  # the view may have been brought back to what the model has

    query = session.write_url(experiment, PAGE)

    controls.show_notes(job)

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
