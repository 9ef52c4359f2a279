"""A page and its jobs: answers of the questions, their progress and their pictures."""

import time
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import streamlit as st

from clsviz import api, figures
from clsviz.errors import SettingError
from clsviz.figures.style import Figure
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import find_model
from clsviz.numbers import counted, seconds
from clsviz.results.result import Result
from clsviz.settings import Experiment, heeded
from clsviz.sources.models import Weights, count_weights
from clsviz.ui import chart, layout
from clsviz.ui.server import server, session

T = TypeVar("T")

ANSWER_SECONDS = 1.5
"""The page waits so long for an answer, and is drawn once; later ones come with a redraw."""

PARTIAL_SECONDS = 0.1  # it waits so long for the rest of an answer of which there is a part
POLL_SECONDS = 0.5

STEADY_SECONDS = 3.0  # after which an estimate is shown: earlier ones swing

STAGES: Final = {
    "fetch": "The server looks for the model, or reads the texts.",
    "model": "The server loads {label}, and measures {what}{cost}.",
    "analysis": "The server computes the answer.",
}
"""The work, by the resource that a job uses or waits for."""

_pictures: WeakKeyDictionary[Result, dict[object, str]] = WeakKeyDictionary()
"""Pictures of results, as long as somebody has these."""


def asked(question: Callable[..., T], settings: dict[str, Any], **options: Any) -> Job[T]:
    """The job that answers a question, a function of `api`; options are those of `ask`."""
    store, key = server().workspace, (question.__name__, repr(settings))
    return ask(key, lambda job: question(**settings, store=store, progress=job), **options)


def answered(question: Callable[..., Result], settings: dict[str, Any], height: int) -> Result:
    """The answer, as far as there is one; the page stops before there is any."""
    return require(asked(question, settings), height)


def norms(experiment: Experiment, height: int) -> Result:
    """The norms of the sample; they take all of it, whatever the vector sample is."""
    return answered(api.measure, asdict(heeded("measure", experiment)), height)


def weights(experiment: Experiment, height: int) -> Weights:
    """The model of an experiment; the page stops until it is here."""
    names = experiment.model, experiment.seed
    return require(ask(("find", *names), partial(find_model, *names)), height)


def cost(weights: Weights | None, n_sentences: int) -> str:
    """About how long so many sentences take, to follow other words; "" where that is not known."""
    n_weights = count_weights(weights.folder) if weights else 0
    precision = st.session_state.experiment.precision
    duration = server().workspace.estimate(n_weights, n_sentences, precision)
    return f", about {seconds(duration)} in all" if duration else ""


def picture(result: Result, draw: Callable[[Result], Figure] | None = None) -> str:
    """The figure of a result as JSON, or another one of it."""
    drawn = _pictures.setdefault(result, {})
    if draw not in drawn:
        drawn[draw] = (draw or figures.DRAW[result.kind])(result).to_json()
    return drawn[draw]


def ask(
    key: Hashable, function: Callable[[Job[T]], T], *, is_urgent: bool = False, name: str = ""
) -> Job[T]:
    """The job of this key, for all who ask for the same.

    name: of an urgent job; the session leaves its last one of this name.
    """
    job = server().jobs.ask(key, function, session(), is_urgent=is_urgent or bool(name))
    if name:
        last: Job[Any] = st.session_state.get(f"last-{name}", job)
        if last is not job and last.is_active:
            last.leave(session())
        st.session_state[f"last-{name}"] = job
    return job


def require(job: Job[T], height: int) -> T:
    """The result of a job as far as there is one; a bar follows it. Without one the page stops.

    height: of the picture that comes, so that the page does not jump; the last one stays, dimmed.
    """
    result, state = follow(job), st.session_state
    if result is None:
        page, last = state.get("answer", ("", None))
        if page == state.page and job.is_active and not job.has_left(session()):
            with st.container(key="last"):
                draw(last, height, key="last-picture", is_private=True)
        elif job.is_active:
            st.skeleton(height)
        st.stop()
    if isinstance(result, Result):
        state.answer = state.page, result
    return result


def draw(result: Result, height: int, *, key: str = "", **options: Any) -> list[int]:
    """Draw the picture of a result, as `chart.show` does."""
    alt = f"{result.question} {result.verdict}"
    return chart.show(picture(result), key=key or result.kind, alt=alt, height=height, **options)


def reason_of(job: Job[Any]) -> str:
    """What the server does for a job, and what comes first, in sentences."""
    ahead = server().jobs.ahead(job)
    before = f" {counted(ahead, 'other job')} first." if ahead else ""
    if job.resource != "model" or job.weights is None:
        return f"{STAGES[job.resource or 'fetch']}{before}"
    what = f"{job.total:,} {job.unit}" if job.total else "one sentence"
    words = {"label": job.weights.label, "what": what, "cost": cost(job.weights, job.total)}
    return f"{STAGES['model'].format(**words)}{before}"


def wait(job: Job[T], seconds: float = ANSWER_SECONDS) -> T | None:
    """The result of a job, or None where there is none after so many seconds."""
    now = time.monotonic()
    soon, end = now + PARTIAL_SECONDS, now + seconds
    while job.is_active and (now := time.monotonic()) < end:
        if job.result is not None and now > soon:
            break
        time.sleep(0.01)
    return job.result


def follow(job: Job[T]) -> T | None:
    """The result of a job as far as there is one; a bar, or its error, is drawn.

    The bar is in the place of a result that is not there yet, and below the page otherwise.
    """
    visible = wait(job)
    if job.is_active and not job.has_left(session()):
        with nullcontext() if visible is None else st.bottom:
            st.fragment(_bar, run_every=POLL_SECONDS, key=f"job-{job.number}")(job, visible)
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
    return visible


def _bar(job: Job[T], visible: T | None) -> None:
    if job.result is not visible or not job.is_active:
        st.rerun()
    words = reason_of(job)
    number, began, done = st.session_state.setdefault("pace", (0, 0.0, 0))
    now = time.monotonic()
    if number != job.number or job.done <= done:  # the clock starts with what is measured first
        st.session_state.pace = job.number, now, job.done
    else:
        words = f"Measuring: {job.done:,} of {job.total:,} {job.unit}"
        if now > began + STEADY_SECONDS:
            remaining = (job.total - job.done) * (now - began) / (job.done - done)
            words += f", about {seconds(remaining)} left"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(job.done / max(job.total, 1), 1.0), layout.escape(words))
        st.button(
            "Cancel",
            on_click=job.leave,
            args=(session(),),
            icon=":material/close:",
            key=f"cancel-{job.number}",
        )
