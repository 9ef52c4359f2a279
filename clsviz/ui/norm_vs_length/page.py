"""The main page: norm of [CLS] against length, and the line through them."""

from functools import partial

import streamlit as st

from clsviz.measurements import Kind
from clsviz.ui import controls
from clsviz.ui.norm_vs_length import examples, picture
from clsviz.ui.parts import preview, redrawn
from clsviz.ui.state import session, watching

PAGE = "norm-vs-length"


def page() -> None:
    """The page, drawn anew at every run."""
    _, (job,) = watching.begin(PAGE, Kind.NORMS)
    outline = controls.status.outline(job)
    with st.sidebar:
        controls.sample.show(job, outline, has_presets=True)
    controls.status.show_on_a_phone(job, outline)
    controls.notes.show(job)
    preview.show(job)
    is_active, news = partial(picture.is_active, job), partial(picture.news, job)
    redrawn.show(lambda: picture.show(job, PAGE), session.measured, is_active, news)
    preview.explain(job)
    examples.show()
