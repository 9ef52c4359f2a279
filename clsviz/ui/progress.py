"""A page and its jobs."""

import time
from collections.abc import Callable, Hashable
from typing import Any, Final, NoReturn, TypeVar

import streamlit as st

from clsviz.errors import SettingError
from clsviz.jobs.jobs import Job
from clsviz.numbers import counted, seconds
from clsviz.sources.models import count_weights
from clsviz.ui import layout
from clsviz.ui.server import server, session

T = TypeVar("T")

ANSWER_SECONDS = 1.5
"""The page waits so long for an answer, and is drawn once; later ones come with a redraw."""

PARTIAL_SECONDS = 0.1
"""It waits so long for the rest of an answer of which there is a part."""

POLL_SECONDS = 0.5

STAGES: Final = {
    "fetch": ("Preparing", "The server looks for the model, and reads the corpus."),
    "model": ("Measuring", "The server loads {label}, and measures {what}{cost}."),
    "analysis": ("Computing the answer", "The server computes the answer."),
}
"""By the resource that a job uses or waits for: the work as the bar names it, and a sentence."""


def ask(key: Hashable, function: Callable[[Job[T]], T], *, is_urgent: bool = False) -> Job[T]:
    """The job of this key, for this session."""
    return server().jobs.ask(key, function, session(), is_urgent=is_urgent)


def ask_now(name: str, key: Hashable, function: Callable[[Job[T]], T]) -> Job[T]:
    """An urgent job; the session leaves its last one of this name."""
    job = ask((name, key), function, is_urgent=True)
    last: Job[Any] = st.session_state.get(f"last-{name}", job)
    if last is not job and last.is_active:
        last.leave(session())
    st.session_state[f"last-{name}"] = job
    return job


def require(job: Job[T], height: int) -> T:
    """The result of a job as far as there is one; a bar follows it. Without one the page stops.

    height: of the picture that comes, so that the page does not jump.
    """
    result = wait(job)
    follow(job, result)
    if result is None:
        stop(job, height)
    return result


def stop(job: Job[T], height: int) -> NoReturn:
    """Stop the page, which has nothing to show without a job."""
    if job.is_active and not job.has_left(session()):
        ahead = server().jobs.ahead(job)
        before = f" {counted(ahead, 'job')} of other visitors first." if ahead else ""
        st.info(layout.escape(f"{reason_of(job)}{before}"), icon=":material/schedule:")
        st.skeleton(height)
    st.stop()


def reason_of(job: Job[Any]) -> str:
    """What the server does for a job, in a sentence."""
    if job.resource != "model" or job.weights is None:
        return STAGES[job.resource or "fetch"][1]
    what = f"{job.total:,} {job.unit}" if job.total else "your sentence"
    duration = None
    if job.total:
        precision = st.session_state.experiment.precision
        n_weights = count_weights(job.weights.folder)
        duration = server().workspace.estimate(n_weights, job.total, precision)
    cost = f", about {seconds(duration)} in all" if duration else ""
    return STAGES["model"][1].format(label=job.weights.label, what=what, cost=cost)


def wait(job: Job[T], seconds: float = ANSWER_SECONDS) -> T | None:
    """The result of a job, or None where there is none after so many seconds."""
    now = time.monotonic()
    soon, end = now + PARTIAL_SECONDS, now + seconds
    while job.is_active and (now := time.monotonic()) < end:
        if job.result is not None and now > soon:
            break
        time.sleep(0.01)
    return job.result


def follow(job: Job[T], visible: T | None) -> None:
    """Show a job's progress below the page while it is active, and its error on the page.

    visible: the result that the page shows; when there is a later one, it is drawn again.
    """
    has_left = job.has_left(session())
    if job.is_active and not has_left:
        with st.bottom:
            bar = st.fragment(_bar, run_every=POLL_SECONDS, key=f"job-{job.number}")
            bar(job, visible)
    elif job.error or job.is_cancelled or job.is_active:
        if job.error:
            layout.error(job.error)
        else:
            st.info("Measuring was cancelled. What is done is kept.", icon=":material/cancel:")
        if not isinstance(job.error, SettingError):
            st.button(
                "Try again" if job.error else "Measure",
                on_click=server().jobs.again,
                args=(job, session()),
                icon=":material/play_arrow:",
                key=f"again-{job.number}",
            )


def _bar(job: Job[T], visible: T | None) -> None:
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
    what = STAGES[job.resource or "fetch"][0]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(job.done / max(job.total, 1), 1.0), f"{what}{numbers}")
        st.button(
            "Cancel",
            on_click=job.leave,
            args=(session(),),
            icon=":material/close:",
            key=f"cancel-{job.number}",
        )
