"""A page and its jobs."""

import time
from typing import NoReturn, TypeVar

import streamlit as st

from clsviz.jobs.jobs import Job, Jobs
from clsviz.results.numbers import counted, seconds
from clsviz.ui import layout
from clsviz.ui.server import session

T = TypeVar("T")

PATIENCE_SECONDS = 0.5
"""What is stored comes within this time, and the page is drawn once."""

POLL_SECONDS = 0.5


def require(jobs: Jobs, job: Job[T], what: str, reason: str, height: int) -> T:
    """The result of a job as far as there is one; a bar follows it. Without one the page stops.

    what: the work, as the bar names it: Measuring. reason: a sentence on the wait for it.
    height: of the picture that comes, so that the page does not jump.
    """
    result = wait(job, PATIENCE_SECONDS)
    follow(jobs, job, what, result)
    if result is None:
        stop(jobs, job, reason, height)
    return result


def stop(jobs: Jobs, job: Job[T], reason: str, height: int) -> NoReturn:
    """Stop the page, which has nothing to show without a job; see `require`."""
    if job.is_active and not job.has_left(session()):
        ahead = jobs.ahead(job)
        before = f" {counted(ahead, 'job')} of other visitors first." if ahead else ""
        st.info(layout.escape(f"{reason}{before}"), icon=":material/schedule:")
        st.skeleton(height)
    st.stop()


def wait(job: Job[T], seconds: float) -> T | None:
    """The result of a job, or None where there is none after so many seconds."""
    end = time.monotonic() + seconds
    while job.is_active and job.result is None and time.monotonic() < end:
        time.sleep(0.01)
    return job.result


def follow(jobs: Jobs, job: Job[T], what: str, visible: T | None) -> None:
    """Show a job's progress below the page while it is active, and its error on the page.

    visible: the result that the page shows; when there is a later one, it is drawn again.
    """
    has_left = job.has_left(session())
    if job.is_active and not has_left:
        with st.bottom:
            bar = st.fragment(_bar, run_every=POLL_SECONDS, key=f"job-{job.number}")
            bar(job, what, visible)
    elif job.error or job.is_cancelled or (has_left and job.is_active):
        if job.error:
            layout.error(job.error)
        else:
            st.info(f"{what} was cancelled.", icon=":material/cancel:")
        st.button(
            "Measure",
            on_click=jobs.again,
            args=(job, session()),
            icon=":material/play_arrow:",
            key=f"again-{job.number}",
        )


def _bar(job: Job[T], what: str, visible: T | None) -> None:
    if job.result is not visible or not job.is_active:
        st.rerun()
    share = job.done / max(job.total, 1)
    numbers = f": {job.done:,} of {job.total:,} {job.unit}" if job.total else "…"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(share, 1.0), f"{what}{numbers}{_remaining(job)}")
        st.button(
            "Cancel",
            on_click=job.leave,
            args=(session(),),
            icon=":material/close:",
            key=f"cancel-{job.number}",
        )


def _remaining(job: Job[T]) -> str:
    """About how long a job still takes, by its pace since this session has followed it."""
    number, began, done = st.session_state.setdefault("pace", (0, 0.0, 0))
    now = time.monotonic()
    if number != job.number or not done:  # the clock starts with the first sentences
        st.session_state.pace = job.number, now, job.done
    elif job.done > done:
        return f", about {seconds((job.total - job.done) * (now - began) / (job.done - done))} left"
    return ""
