"""A page and its jobs."""

import time
from collections.abc import Callable, Hashable
from typing import Any, NoReturn, TypeVar

import streamlit as st

from clsviz.jobs.jobs import Job, Jobs, Steps
from clsviz.numbers import counted, seconds
from clsviz.sources.models import Weights
from clsviz.ui import layout
from clsviz.ui.server import server, session

T = TypeVar("T")

PATIENCE_SECONDS = 0.5
"""Stored results come within this time, and the page is drawn once."""

ANSWER_SECONDS = 1.5
"""The page waits so long for an answer or a typed sentence; later they come with a redraw."""

POLL_SECONDS = 0.5


def start(
    jobs: Jobs,
    key: Hashable,
    steps: Callable[..., Steps],
    *inputs: Any,
    weights: Weights | None = None,
    is_urgent: bool = False,
) -> Job[Any]:
    """The job of this key, for this session. steps: takes the job and inputs. weights: it runs."""
    return jobs.ask(
        key,
        lambda job: steps(job, *inputs),
        session(),
        model=weights and weights.fingerprint,
        is_urgent=is_urgent,
    )


def start_now(
    name: str, key: Hashable, weights: Weights, steps: Callable[..., Steps], *inputs: Any
) -> Job[Any]:
    """An urgent job of a model; the session leaves its last one of this name."""
    shared = server().model
    job = start(
        shared, (name, weights.fingerprint, key), steps, *inputs, weights=weights, is_urgent=True
    )
    last: Job[Any] = st.session_state.get(f"last-{name}", job)
    if last is not job and last.is_active:
        last.leave(session())
    st.session_state[f"last-{name}"] = job
    return job


def require(jobs: Jobs, job: Job[T], what: str, reason: str, height: int) -> T:
    """The result of a job as far as there is one; a bar follows it. Without one the page stops.

    what: the work, as the bar names it: Measuring. reason: a sentence on the wait for it.
    height: of the picture that comes, so that the page does not jump.
    """
    result = wait(job)
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


def wait(job: Job[T], seconds: float = PATIENCE_SECONDS) -> T | None:
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
    elif job.error or job.is_cancelled or job.is_active:
        if job.error:
            layout.error(job.error)
        else:
            st.info(f"{what} was cancelled. What is done is kept.", icon=":material/cancel:")
        st.button(
            "Try again" if job.error else "Measure",
            on_click=jobs.again,
            args=(job, session()),
            icon=":material/play_arrow:",
            key=f"again-{job.number}",
        )


def _bar(job: Job[T], what: str, visible: T | None) -> None:
    if job.result is not visible or not job.is_active:
        st.rerun()
    numbers = f": {job.done:,} of {job.total:,} {job.unit}" if job.total else "…"
    number, began, done = st.session_state.setdefault("pace", (0, 0.0, 0))
    now = time.monotonic()
    if number != job.number or not done:  # the clock starts with the first sentences
        st.session_state.pace = job.number, now, job.done
    elif job.done > done:
        remaining = (job.total - job.done) * (now - began) / (job.done - done)
        numbers += f", about {seconds(remaining)} left"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(job.done / max(job.total, 1), 1.0), f"{what}{numbers}")
        st.button(
            "Cancel",
            on_click=job.leave,
            args=(session(),),
            icon=":material/close:",
            key=f"cancel-{job.number}",
        )
