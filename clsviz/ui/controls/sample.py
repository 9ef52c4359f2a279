"""What costs model time: model, corpus, and behind “Settings” how much of it is measured, and how."""

from collections.abc import Hashable

import streamlit as st

from clsviz.measuring import MeasuringJob
from clsviz.ui.controls import background, corpus, folded, model, presets, size, status, view
from clsviz.ui.state import session

_HEIGHT, _HEIGHT_OF_PRESETS = 304, 195
"""Of the settings, about."""


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
    view.fit_unit()

    def draw() -> None:
        if has_presets:
            presets.show()
        size.show(of_vectors=of_vectors)
        view.unit()

    height = _HEIGHT + _HEIGHT_OF_PRESETS * has_presets
    folded.show(folded.Box("Settings", "settings", draw, ":material/tune:", height), chosen=_chosen)


def _chosen() -> Hashable:
    return session.measured(), st.session_state.probe_size, st.session_state.unit
