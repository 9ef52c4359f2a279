"""How far the models are, with the button that starts or stops them all."""

from collections.abc import Sequence

import streamlit as st

from clsviz import analysis, words
from clsviz.measuring import MeasuringJob, State
from clsviz.ui import controls
from clsviz.ui.compare_models import model_box
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, watching
from clsviz.ui.state.pace import part


def show(
    names: Sequence[str],
    norms: Sequence[MeasuringJob],
    vectors: Sequence[MeasuringJob],
    before: object,
    place: str = "",
) -> None:
    """The status, which keeps itself up to date.

    before: the outline of the jobs before anything was drawn. Once that no longer holds, the page is drawn again; not
        at once, because a page that is broken off reaches the browser without the values of its controls.
    place: tells the buttons of several places apart.
    """
    jobs = [*norms, *vectors]
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        _show(names, norms, vectors, place)
        if is_in_browser and before != outline(jobs):
            st.rerun()
        is_in_browser = True

    will_change = any(job.state.is_active for job in jobs) or before != outline(jobs)
    part(keep_up, server.every() if will_change else None)()


def outline(jobs: Sequence[MeasuringJob]) -> object:
    """What the rest of the page depends on."""
    return [(controls.status.outline(job), job.error is not None) for job in jobs]


def show_on_a_phone(
    names: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob], before: object
) -> None:
    """The same in the main column, for screens that hide the sidebar, while there is something to do or to know."""
    with st.container():  # holds its place while it is empty
        if any(job.state is not State.DONE for job in (*norms, *vectors)):
            with st.container(key="phone"):
                model_box.show_errors(names, norms, vectors)  # the status shows those of the run
                show(names, norms, vectors, before, "-phone")


def _show(names: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob], place: str) -> None:
    jobs = [*norms, *vectors]
    labels = analysis.compare.labels(names)
    with st.container(key=f"status_of_models{place}"):
        if any(job.state.is_active for job in jobs):
            _cancel_button(jobs, place)
        elif waiting := _waiting(jobs):
            if any(job.is_refused for job in waiting):
                st.caption(words.waiting.refused(server.limits().visitor_jobs or 0))
            _run_button(waiting, place)
        st.caption("  \n".join(_progress(*of) for of in zip(labels, norms, vectors, strict=True)))
    for error in _errors(labels, norms, vectors):
        st.error(escape(error))


def _waiting(jobs: Sequence[MeasuringJob]) -> list[MeasuringJob]:
    """The jobs that the button starts: those that wait or were stopped, else those that failed."""
    waiting = [job for job in jobs if job.state in (State.WAITING, State.CANCELLED)]
    return waiting or [job for job in jobs if job.state is State.FAILED]


def _cancel_button(jobs: Sequence[MeasuringJob], place: str) -> None:
    done, total = _n_measured(jobs)
    st.progress(min(1.0, done / max(total, 1)), f"{done:,} of {total:,} in total")
    if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{place}", width="stretch"):
        for job in jobs:
            watching.leave(job)
        st.rerun()
    st.caption(words.waiting.when_left(server.limits().unwatched_seconds))


def _n_measured(jobs: Sequence[MeasuringJob]) -> tuple[int, int]:
    """How many sentences are measured and how many are to be, counted once for norms and once for vectors."""
    founds = [job.work.found for job in jobs]
    sizes = [len(found.sentences) if found else 0 for found in founds]
    asked = [job.work.experiment.sample_size for job in jobs]
    known = max(sizes)  # the corpus may have fewer sentences than asked for
    total = sum(size or min(known or size_asked, size_asked) for size, size_asked in zip(sizes, asked, strict=True))
    return sum(len(found.measurements) for found in founds if found), total


def _run_button(waiting: Sequence[MeasuringJob], place: str) -> None:
    label = _run_label(waiting)
    if st.button(label, icon=":material/play_arrow:", type="primary", key=f"run{place}", width="stretch"):
        for job in waiting:
            watching.start(job)
        st.rerun()


def _run_label(waiting: Sequence[MeasuringJob]) -> str:
    if all(job.state is State.FAILED for job in waiting):
        return "Try again"
    costs = [(job.work.experiment.model, job.cost) for job in waiting if job.cost]
    if any(job.state is State.CANCELLED for job in waiting) or not costs:
        return "Continue"
    seconds = sum(cost.seconds for _, cost in costs)
    megabytes = sum({name: cost.megabytes for name, cost in costs}.values())  # downloaded once for norms and vectors
    download = f" · {megabytes:,} MB" if megabytes else ""
    return f"Run all · about {words.duration(seconds)}{download}"


def _progress(label: str, norms: MeasuringJob, vectors: MeasuringJob) -> str:
    """Where one model stands, in a line."""
    job = norms if norms.state is not State.DONE else vectors
    what = "norms" if job is norms else "vectors"
    found = job.work.found
    n_measured, n = (len(found.measurements), len(found.sentences)) if found else (0, 0)
    if job.state is State.DONE:
        return f":material/check: {escape(label)}: measured"
    if job.state is State.RUNNING:
        stage = what if job.stage.startswith("Measuring") else escape(job.stage) or "starting"
        unit = f" {job.unit}" if job.unit else ""
        text = f"{stage} {job.done:,} of {job.total:,}{unit}" if job.total else stage
    elif job.state is State.CANCELLED:
        text = f"stopped at {n_measured:,} of {n:,} {what}" if found else "stopped"
    elif job.state is State.WAITING:
        text = f"{what} waiting" + (f", about {words.duration(job.cost.seconds)}" if job.cost else "")
    else:
        text = {State.LOOKING: "looking up", State.QUEUED: f"{what} queued", State.FAILED: "failed"}[job.state]
    icon = ":material/error:" if job.state is State.FAILED else ":material/pending:"
    return f"{icon} {escape(label)}: {text}"


def _errors(labels: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob]) -> list[str]:
    """The errors that no control is to blame for, each once, with the models that they stopped."""
    stopped: dict[str, list[str]] = {}
    for label, *jobs in zip(labels, norms, vectors, strict=True):
        for message in {
            str(job.error): None for job in jobs if job.error and job.error.subject in controls.errors.OF_THE_RUN
        }:
            stopped.setdefault(message, []).append(label)
    return [f"{', '.join(models)}: {message}" for message, models in stopped.items()]
