"""The jobs that this session watches, and so keeps going."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, Job, MeasuringJob, State, measurement_key
from clsviz.measurements import Kind, Means, Vectors
from clsviz.settings import Pooling
from clsviz.sources import catalogue
from clsviz.ui.state import server, session, sessions, url, visitor

Wanted = Sequence[tuple[Experiment, Kind]]

_PATIENCE_SECONDS = 0.5

Suffices = Callable[[Found], bool]
"""Whether a page can do with vectors of which all but they themselves came with clsviz."""


def begin(
    page: str,
    *kinds: Kind,
    others: Callable[[Experiment], Wanted] = lambda _: (),
    suffices: Callable[[Found, Experiment], bool] = lambda *_: False,
) -> tuple[Experiment, list[MeasuringJob]]:
    """The experiment of a page that is about to be drawn, and its jobs; raises SettingError.

    others: what the page measures beside the experiment. suffices: as in `watch`.
    """
    url.restore(page)
    experiment = session.experiment()
    wanted = *((experiment, kind) for kind in kinds), *others(experiment)
    return experiment, watch(*wanted, suffices=lambda found: suffices(found, experiment))


def watch(*wanted: tuple[Experiment, Kind], suffices: Suffices = lambda _: False) -> list[MeasuringJob]:
    """The jobs of these experiments, which this session now watches instead of any others.

    A job that another page started goes on for as long as its settings are those of this page. What the browser sends
    is checked here as well, since a forged message can hold values that no control offers. Raises SettingError.

    suffices: asked of vectors that did not come with clsviz but for their norms; if not, they are measured here.
    """
    for experiment, _ in wanted:
        visitor.check(experiment)
    before: dict[Hashable, MeasuringJob] = st.session_state.get("watched", {})
    watched = {
        key: _job(experiment, kind, before.get(key), suffices)
        for experiment, kind in wanted
        for key in [measurement_key(experiment, kind)]
    }
    keys = _keys_of_all_pages()
    _replace(before, {key: job for key, job in before.items() if job.state.is_active and key in keys} | watched)
    return [watched[measurement_key(experiment, kind)] for experiment, kind in wanted]


def _job(experiment: Experiment, kind: Kind, job: MeasuringJob | None, suffices: Suffices) -> MeasuringJob:
    """The job of an experiment; job: the one that this session watched so far."""
    if job is None or job.state is State.WAITING:  # what came with clsviz may suffice by now
        job = server.jobs().open(experiment, kind, hold=session.is_held(), visitor=server.visitor())
        server.wait_while(lambda: job.state is State.LOOKING, _PATIENCE_SECONDS)  # what is stored is found in a moment
    if lacks_vectors(job, suffices):
        return server.jobs().open(experiment, kind, here=True, hold=session.is_held(), visitor=server.visitor())
    return job


def lacks_vectors(job: MeasuringJob, suffices: Suffices) -> bool:
    """Whether the job has vectors of which all but they themselves came with clsviz, and that does not suffice."""
    found = job.work.found
    return found is not None and found.is_outline and not suffices(found)


def _keys_of_all_pages() -> set[Hashable]:
    """The keys of whatever any page could ask for with the current settings."""
    experiment, names = session.experiment(), {st.session_state.model, *st.session_state.models}
    return {measurement_key(replace(experiment, model=name), kind) for name in names for kind in Kind}


def start(job: MeasuringJob, *, here: bool = False) -> MeasuringJob:
    """Start a job that waits for it, or restart one that ended; returns the one that takes its place.

    here: measure on this machine what came with clsviz.
    """
    experiment, kind = job.work.experiment, job.work.kind
    visitor.check(experiment)
    before: dict[Hashable, MeasuringJob] = st.session_state.watched
    session.release()
    for other in before.values():
        if other.is_held:
            server.jobs().open(other.work.experiment, other.work.kind, visitor=server.visitor())
    here = here or job.is_here
    started = server.jobs().open(experiment, kind, start=True, here=here, visitor=server.visitor())
    _replace(before, before | {measurement_key(experiment, kind): started})
    return started


def leave(job: MeasuringJob) -> None:
    """Stop watching the job; it is cancelled unless somebody else watches it."""
    job.leave(sessions.current())


def is_admitted() -> bool:
    """Whether there is room for this session among those that the server serves."""
    return server.crowd().admit(sessions.current())


def found(job: MeasuringJob, experiment: Experiment) -> Found | None:
    """What is measured so far, or None while it does not cover the experiment's view.

    The controls may have been drawn before the model was known, and so ask for a layer or pooler that it lacks. The
    next run of the page corrects them.
    """
    found = job.work.found
    if found is None or not len(found.measurements) or (experiment.layer or 0) > found.measurements.n_layers:
        return None
    if experiment.pooling is Pooling.POOLER:
        return found if found.measurements.has_pooler else None
    return found if experiment.pooling is Pooling.CLS or isinstance(found.measurements, Vectors | Means) else None


def news(job: MeasuringJob) -> Hashable:
    """Changes when there is more to see of a job: more sentences, or before the first of them where it stands."""
    if (measured := news_of_points(job))[-1]:
        return measured
    return *measured, job.stage, job.done if job.unit else 0, _place(job)


def news_of_points(job: MeasuringJob) -> tuple[Hashable, ...]:
    """The same, for a page whose answer says by itself where the job stands: the last is false before there are any."""
    found = job.work.found
    if found is not None and len(found.measurements):
        return job.state, found.damaged_parts, found.key
    return job.state, found is not None, None


def news_of(analyses: Iterable[Analysis[Any]]) -> Hashable:
    """Changes when there is more to see of analyses, which are to be held meanwhile."""
    return tuple(
        (one.state, id(one.work.result), one.stage, one.done, one.total, str(one.error), _place(one))
        for one in analyses
    )


def _place(job: Job[Any]) -> Hashable:
    """Where a job stands that waits, as roughly as it is told."""
    return server.jobs().n_ahead(job) if job.state is State.QUEUED else None


def _replace(before: dict[Hashable, MeasuringJob], watched: dict[Hashable, MeasuringJob]) -> None:
    """Watch other jobs. What runs, or was started and waits, goes on where it would if the page was closed."""
    goes_on = server.limits().unwatched_seconds is None
    for job in before.values():
        if job not in watched.values():
            if goes_on and (job.state is State.RUNNING or (job.wanted and job.state is State.QUEUED)):
                job.look_away(sessions.current())
            else:
                leave(job)
    for job in watched.values():
        job.watch(sessions.current(), server.visitor())
    st.session_state.watched = watched
    state = st.session_state
    for name in {state.corpus, state.travel_to, state.searches, *state.get("uploads", [])}:
        if catalogue.is_upload(name):
            server.hold_upload(name, sessions.current())
