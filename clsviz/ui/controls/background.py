"""Runs that the visitor started and left for other settings: they go on, and can be found again."""

import streamlit as st

from clsviz import words
from clsviz.measuring import MeasuringJob
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session
from clsviz.ui.state.pace import part

_MOST = 3


def show() -> None:
    """How far each is, with a way back to it; nothing if there is none."""
    jobs = server.jobs().left_running(server.visitor())
    if not jobs:
        return
    is_in_browser, before = False, {id(job) for job in jobs}

    def keep_up() -> None:
        nonlocal is_in_browser
        left = server.jobs().left_running(server.visitor())
        _draw(left)
        if is_in_browser and {id(job) for job in left} != before:
            st.rerun()
        is_in_browser = True

    part(keep_up, server.every())()


def _draw(jobs: list[MeasuringJob]) -> None:
    for number, job in enumerate(jobs[:_MOST]):
        with st.container(border=True, key=f"background_{number}", gap="xsmall"):
            found = job.work.found
            done, total = (len(found.measurements), len(found.sentences)) if found else (0, 0)
            st.caption(escape(words.waiting.in_background(job.work.experiment, done, total)))
            with st.container(horizontal=True):
                experiment = job.work.experiment
                st.button("Show it", key=f"show_{number}", on_click=session.choose, args=[experiment])
                st.button("Cancel it", key=f"cancel_background_{number}", on_click=job.cancel)
    if len(jobs) > _MOST:
        st.caption(f"And {len(jobs) - _MOST:,} more.")
