"""What costs model time: model, corpus, and behind “Settings” how much of it is measured, and how."""

import streamlit as st

from clsviz.measuring import MeasuringJob
from clsviz.ui.controls import background, corpus, model, presets, size, status, view


def show(
    job: MeasuringJob, outline: tuple[bool, bool, bool], *, of_vectors: bool = False, has_presets: bool = False
) -> None:
    """All of them, each with what is wrong with it, and how far the job is.

    outline: the job's before anything was drawn. of_vectors: whether vectors are measured, and not norms. has_presets:
    whether all of them can be set at once.
    """
    model.show(job.error)
    corpus.show(job)
    settings(of_vectors=of_vectors, has_presets=has_presets)
    status.show(job, outline)
    background.show()


def settings(*, of_vectors: bool, has_presets: bool = False) -> None:
    """Whatever is rarely changed."""
    with st.expander("Settings", icon=":material/tune:"):
        if has_presets:
            presets.show()
        size.show(of_vectors=of_vectors)
        view.unit()
