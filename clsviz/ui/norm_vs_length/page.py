"""The main page: norm of [CLS] against length, and the line through them."""

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui import controls
from clsviz.ui.norm_vs_length import picture, typed
from clsviz.ui.parts import chart, marks, own, preview
from clsviz.ui.state import session, url, watching

PAGE = "norm-vs-length"


def page() -> None:
    """The page, drawn anew at every run."""
    experiment, (job,) = watching.begin(PAGE, Kind.NORMS)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.presets.show()
        controls.sample.show(job)
        controls.status.show(job, outline)
        controls.view.show(job.work.found)
    experiment = session.experiment()  # the view may have been brought back to what the model has
    marks.follow(chart.zoom_of(experiment))
    query = url.write(experiment, PAGE, **chart.link())
    controls.notes.show(job)
    preview.show(job)

    # The visitor's sentences are measured before the picture is drawn, which marks them, but shown below it.
    picture_place, own_place = st.container(), st.container()
    with own_place:
        own.box()
        sentences = typed.measure(job, experiment)
    with picture_place:
        picture.show(job, experiment, sentences.points() if sentences else None, query)
    found = watching.found(job, experiment)
    if sentences and found:
        with own_place:
            typed.show(sentences, chart.view_of(found, experiment))
    picture.explain(job, experiment)
    preview.explain(job)
