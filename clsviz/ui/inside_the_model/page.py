"""The page of what a model is made of: its parameters, its tokens, where [CLS] begins, and its pooler."""

import streamlit as st

from clsviz import models
from clsviz.errors import ClsvizError, ModelError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Job, State
from clsviz.models import Weights
from clsviz.ui.controls import sidebar as controls
from clsviz.ui.inside_the_model import cls_check, structure
from clsviz.ui.markdown import escape
from clsviz.ui.parts import own
from clsviz.ui.state import session

PAGE = "inside-the-model"


def look(name: str) -> tuple[Weights | None, Job | None, ClsvizError | None]:
    """The model's weights where they are on this machine; else the job that could fetch them, or what is wrong."""
    try:
        if problem := session.model_problem(name):
            raise ModelError(problem)
        weights = models.find(name)
    except models.NotDownloadedError:
        # The smallest job that fetches a model: it measures one sentence of a corpus that needs no network.
        (job,) = session.watch((Experiment(model=name, sample_size=1), Kind.NORMS))
        return None, job, job.error
    except ClsvizError as error:
        session.watch()
        return None, None, error
    session.watch()
    return weights, None, None


def show_waiting(job: Job | None) -> None:
    """Why there is nothing to show yet."""
    if job is None or job.state is State.FAILED:
        text = "It cannot be opened. The sidebar says why."
    elif job.state is State.LOOKING:
        text = "It is not on this machine. Looking for how large it is."
    elif job.state.is_active:
        text = "It is being fetched. The sidebar says how far that is."
    else:
        size = f", about {job.cost.megabytes:,} MB" if job.cost and job.cost.megabytes else ""
        text = f"Its weights are not on this machine yet. Press the button in the sidebar to download them{size}."
    st.markdown(escape(text))


def show(experiment: Experiment, weights: Weights) -> None:
    """The whole page; raises ModelError where the model cannot be used."""
    with st.spinner(f"Loading {escape(weights.label)}", show_time=True):
        anatomy = structure.anatomy_of(weights.fingerprint, weights)
        check = cls_check.measure(weights)
    st.markdown(escape(structure.answer(anatomy)))
    structure.show_figures(anatomy)
    with st.container(horizontal=True, horizontal_alignment="right"):
        cls_check.downloads(experiment, weights, anatomy, check)
    structure.show_parameters(anatomy, weights.label)
    structure.show_facts(anatomy, weights)
    cls_check.show_beginning(anatomy, check, untrained=weights.untrained)
    own.box()
    cls_check.show_check(anatomy, check)


def page() -> None:
    """The page, drawn anew at every run."""
    session.restore(PAGE)

    experiment = session.experiment()

    weights, job, error = look(experiment.model)

    with st.sidebar:
        controls.model_control(error)
        error_place = st.empty()
        if job is not None:
            controls.status(job, controls.outline(job))

    session.write_url(experiment, PAGE)

    for note in session.notes():
        st.warning(escape(note))

    st.title(escape(f"What is inside {models.label(experiment.model)}?"), anchor=False)

    if weights is None:
        show_waiting(job)
    else:
        try:
            show(experiment, weights)
        except ClsvizError as failed:
            error_place.error(escape(failed))
            st.markdown("It cannot be opened. The sidebar says why.")
