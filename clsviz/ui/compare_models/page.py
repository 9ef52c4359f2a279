"""Page: several models side by side, on the same sentences."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from clsviz import words
from clsviz.errors import SettingError, Subject
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Found, MeasuringJob, measurement_key
from clsviz.settings import Pooling, Precision
from clsviz.ui import controls
from clsviz.ui.compare_models import model_box, results, rows_so_far, status
from clsviz.ui.markdown import escape
from clsviz.ui.parts import preview, strip, toggle
from clsviz.ui.state import session, url, watching

PAGE = "compare-models"


def page() -> None:
    """Draw the page; called on every run."""
    url.restore(PAGE)
    names = model_box.names()
    norms, vectors = _watch(replace(session.experiment(), precision=Precision.EXACT), names)
    outline = status.outline([*norms, *vectors])
    with st.sidebar:
        model_box.show(names, norms, vectors)
        controls.corpus.show(_of_corpus([*norms, *vectors]))
        controls.sample.settings(of_vectors=True)
        status.show(names, norms, vectors, outline)
    status.show_on_a_phone(names, norms, vectors, outline)
    shallowest, poolings = _fit_view_to_models(norms)
    controls.view.fit(shallowest, poolings)
    experiment = session.experiment()  # the controls may have changed the view to one that all models have
    links = {"models": ",".join(st.session_state.models), "axes": "free" if st.session_state.axes else ""}
    query = url.write(experiment, PAGE, **links)
    controls.notes.show(norms[0])
    controls.notes.show_of_view()
    preview.show(norms[0])
    with st.container():  # holds its place while it is empty
        for message in _setting_problems([*norms[1:], *vectors], norms[0]):
            st.error(escape(message))
        if experiment.precision is not Precision.EXACT:
            st.caption("Models are always compared in exact precision, because vectors are measured in it.")
    results.show(
        replace(experiment, precision=Precision.EXACT),
        names,
        norms,
        vectors,
        query,
        lambda: _view(shallowest, poolings),
    )
    preview.explain(norms[0])


def _view(shallowest: Found | None, poolings: list[Pooling]) -> None:
    """The controls that lie on the pictures."""
    with strip.place():
        strip.show_view(shallowest, poolings)
        with st.container(gap="xsmall"):
            st.toggle(
                "Norms as they are",
                value=st.session_state.axes,
                key="axes",
                persist_state="session",
                help="Draw each model’s norms on an axis of its own. Otherwise they are distances from the model’s "
                "mean, in its standard deviations, on one axis for all.",
            )
            toggle.shuffled_lengths(session.experiment())


def _watch(experiment: Experiment, names: Sequence[str]) -> tuple[list[MeasuringJob], list[MeasuringJob]]:
    """The jobs of the models' norms, and those of their vectors; where they cannot be, says why and stops."""
    try:
        wanted = [(replace(experiment, model=name), kind) for kind in (Kind.NORMS, Kind.VECTORS) for name in names]
        jobs = watching.watch(
            *wanted, suffices=lambda found: rows_so_far.is_kept(found, experiment, _norms_of(experiment, names))
        )
    except SettingError as error:
        st.error(escape(error))
        st.stop()
    return jobs[: len(names)], jobs[len(names) :]


def _norms_of(experiment: Experiment, names: Sequence[str]) -> list[MeasuringJob | None]:
    """The jobs of the models' norms that this session watches already."""
    keys = [measurement_key(replace(experiment, model=name), Kind.NORMS) for name in names]
    return [st.session_state.get("watched", {}).get(key) for key in keys]


def _of_corpus(jobs: Sequence[MeasuringJob]) -> MeasuringJob:
    """The job that knows most of the corpus: one whose error is about it, else one that has opened it."""
    failed = [job for job in jobs if job.error and job.error.subject is Subject.CORPUS]
    return next(iter([*failed, *(job for job in jobs if job.work.corpus)]), jobs[0])


def _setting_problems(jobs: Sequence[MeasuringJob], first: MeasuringJob) -> list[str]:
    """What is wrong with settings, each problem once, other than what the notes of the first job say."""
    errors = [job.error for job in jobs if job.error and job.error.subject is Subject.SETTINGS]
    return [message for message in dict.fromkeys(map(str, errors)) if message != str(first.error)]


def _fit_view_to_models(jobs: Sequence[MeasuringJob]) -> tuple[Found | None, list[Pooling]]:
    """Bring layer and vector back to what all models have, and say so.

    Returns what was found of the model with the fewest layers, and the poolings that all models have; None until it is
    known of each model that is being measured.
    """
    poolings = [Pooling.CLS, Pooling.POOLER]
    founds = [job.work.found for job in jobs]
    known = [found for found in founds if found and len(found.measurements)]
    is_open = any(job.state.is_active and found not in known for job, found in zip(jobs, founds, strict=True))
    if is_open or not known:
        return None, poolings
    shallowest = min(known, key=lambda found: found.measurements.n_layers)
    n_layers, layer = shallowest.measurements.n_layers, st.session_state.layer
    if layer == n_layers and any(found.measurements.n_layers > n_layers for found in known):
        note = f"Layer {layer} is the last layer of {shallowest.weights.label}. Every model now shows its last layer."
        session.adjust(note, layer=session.LAST)
    if lacks := next((found for found in known if not found.measurements.has_pooler), None):
        poolings.remove(Pooling.POOLER)
        if st.session_state.pooling is Pooling.POOLER:
            note = words.view.no_pooler(lacks.weights.label)
            session.adjust(note, pooling=Pooling.CLS)
    return shallowest, poolings
