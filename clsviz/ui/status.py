"""How far a job is, with the button that starts or stops it; and errors, each where its cause is."""

import streamlit as st

from clsviz import words
from clsviz.errors import ClsvizError, Subject
from clsviz.jobs import MeasuringJob, State
from clsviz.measurements import Kind
from clsviz.settings import ALL
from clsviz.sources import catalogue, models
from clsviz.ui.markdown import escape
from clsviz.ui.parts import redrawn
from clsviz.ui.state import server, watching

OF_THE_RUN = (Subject.STORE, Subject.PROGRAM, Subject.SENTENCES)
"""Errors that no control is to blame for: shown next to the Measure button."""

_POLL_SECONDS = 0.5
"""Between two looks, as this is what the first points wait for."""

_LONG_SECONDS = 180
"""What is estimated to take longer is told in more detail before it is begun."""


def show_error(error: ClsvizError | None, *subjects: Subject) -> None:
    """Show the error here if it is about one of these subjects."""
    if error is not None and error.subject in subjects:
        st.error(escape(error))


def outline(job: MeasuringJob) -> tuple[bool, bool, bool]:
    """What the rest of the page depends on: whether the job is active, knows its sentences, and has measured any."""
    found = job.work.found
    return job.state.is_active, found is not None, found is not None and len(found.measurements) > 0


def show(job: MeasuringJob, before: tuple[bool, bool, bool], name: str = "", seconds: float = _POLL_SECONDS) -> None:
    """The status, which keeps itself up to date while the job is active.

    before: the job's outline before anything was drawn. Once that no longer holds, the page is drawn again.
    name: tells the buttons of several jobs apart. seconds: between two looks at it.
    """
    will_change = job.state.is_active or before != outline(job)
    redrawn.follow(lambda: draw(job, name), lambda: outline(job), before, seconds if will_change else None)


def show_on_a_phone(job: MeasuringJob, before: tuple[bool, bool, bool]) -> None:
    """The same in the main column, for screens that hide the sidebar, while there is something to do or to know."""
    with st.container():
        if job.state is not State.DONE:
            with st.container(key="phone"):
                show_error(job.error, Subject.MODEL, Subject.CORPUS)  # the status shows those of the run
                show(job, before, "-phone", 2 * _POLL_SECONDS)


def draw(job: MeasuringJob, name: str = "") -> None:
    """The status as it is now, for a place that draws itself anew."""
    with st.container(key=f"status{name}"):
        state = job.state
        if state is State.QUEUED:
            st.progress(0.0, words.waiting.in_queue(server.jobs().n_ahead(job)))
            running = server.jobs().running
            if running and not (running.is_watched or running.is_left or server.limits().is_public):
                # Everything waits for it, and whoever started it has left, and not only for other settings.
                experiment = running.work.experiment
                what = escape(f"{models.label(experiment.model)} on {catalogue.label(experiment.corpus)}")
                about = f"It measures {what}, and nobody is watching it. What it has measured is kept."
                icon = ":material/stop_circle:"
                if st.button("Stop the run ahead", icon=icon, key=f"stop{name}", width="stretch", help=about):
                    running.cancel()
            _cancel_button(job, name)
        elif state.is_active:
            stage, done, total = job.stage, job.done, job.total  # its thread goes on
            rate, left = job.rate, job.seconds_left
            if total:
                unit = f" {job.unit}" if job.unit else ""
                pace = f" · {rate:,.0f}{unit}/s · {words.duration(left)} left" if left is not None else ""
                st.progress(min(1.0, done / total), f"{escape(stage)} {done:,} of {total:,}{unit}{pace}")
            else:
                st.progress(0.0, escape(stage) or "Looking for earlier measurements")
            _cancel_button(job, name)
            st.caption(words.waiting.when_left(server.limits().unwatched_seconds))
        elif state is State.DONE:
            found = job.work.found
            n, n_shipped = (found.n_measured, found.n_shipped) if found else (0, 0)
            where = f", {'all' if n_shipped == n else f'{n_shipped:,}'} on another machine" if n_shipped else ""
            how = "imported" if found and found.weights.imported else "measured"
            st.caption(f":material/check: {n:,} sentence{'' if n == 1 else 's'} {how}{where}")
            if n_shipped and st.button(
                "Measure here",
                icon=":material/refresh:",
                key=f"here{name}",
                width="stretch",
                help=words.shipped(n_shipped, n, is_outline=found is not None and found.is_outline),
            ):
                watching.start(job, here=True)
                st.rerun()
        else:
            if job.is_refused:
                st.caption(words.waiting.refused(server.limits().visitor_jobs or 0))
            _run_button(job, name)
    show_error(job.error, *OF_THE_RUN)


def _run_button(job: MeasuringJob, name: str) -> None:
    ended = job.state in (State.FAILED, State.CANCELLED)
    label = f"Measure · about {words.duration(job.cost.seconds)}" if job.cost and not ended else "Measure"
    if st.button(label, icon=":material/play_arrow:", type="primary", key=f"run{name}", width="stretch"):
        watching.start(job)
        st.rerun()
    if job.state is State.WAITING and job.cost:
        if job.plan and (job.cost.seconds > _LONG_SECONDS or job.work.experiment.sample_size == ALL):
            st.caption(words.waiting.plan_line(job.plan, of_vectors=job.work.kind is Kind.VECTORS))
        elif job.cost.megabytes:
            st.caption(f"Downloads about {job.cost.megabytes:,} MB first.")
    found = job.work.found
    if found and len(found.measurements):
        n = found.sample.n_sentences
        n_left = len(found.sentences) - len(found.measurements) + found.n_left
        measured_for, n_shown = st.session_state.get("cancelled", (None, 0))
        n_lost = n_shown - len(found.measurements) if measured_for is job and job.state is State.CANCELLED else 0
        st.caption(words.waiting.so_far(n - n_left, n, n_lost))


def _cancel_button(job: MeasuringJob, name: str) -> None:
    if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{name}", width="stretch"):
        found = job.work.found
        n_measured = len(found.measurements) if found else 0
        st.session_state.cancelled = job, max(n_measured, 0 if job.unit else job.done)  # a unit: of a download
        watching.leave(job)
        if job.state.is_active:
            st.toast("Another visitor is waiting for the same run, so it continues.")
        st.rerun()
