"""Page: what a model is made of, where [CLS] begins, and whether the pooler output follows from it."""

import streamlit as st

from clsviz import models, words
from clsviz.encoder import Anatomy
from clsviz.errors import ClsvizError, ModelError, Subject
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import MeasuringJob, State
from clsviz.models import Weights
from clsviz.ui import controls
from clsviz.ui.inside_the_model import cls_check, structure
from clsviz.ui.parts import head, own
from clsviz.ui.state import session, url, visitor, watching

PAGE = "inside-the-model"


_HEIGHT_OF_BEGINNING, _HEIGHT_OF_CHECK = 120, 400


def page() -> None:
    """Draw the page; called on every run."""
    url.restore(PAGE)
    experiment = session.experiment()
    if words.is_imported(experiment) and not visitor.model_problem(experiment.model):
        with st.sidebar:
            controls.model.show()
        url.write(experiment, PAGE)
        head.show(words.question_of_parts(experiment), words.imported.NO_PAGE, None)
        return
    weights, job, error = _weights_or_job(experiment.model)
    anatomy = None
    with st.sidebar:
        controls.model.show(error)
        if weights is not None:  # under the box of the model: that it is being loaded, or why it cannot be
            anatomy = structure.anatomy_of(weights)
        if job is not None:
            controls.status.show(job, controls.status.outline(job))
    _show_on_a_phone(weights, job, error, is_loaded=anatomy is not None)
    url.write(experiment, PAGE)
    controls.notes.show_of_view()
    if weights is None:
        answer = _waiting(job)
    elif anatomy is None:
        answer = "This model is not loaded yet: progress, or the error, is shown beside it."
    else:
        answer = words.anatomy.answer(anatomy)
    head.show(words.question_of_parts(experiment), answer, None, terms=words.glossary.INSIDE_THE_MODEL)
    if weights is not None and anatomy is not None:
        _show(experiment, weights, anatomy)


def _show_on_a_phone(
    weights: Weights | None, job: MeasuringJob | None, error: ClsvizError | None, *, is_loaded: bool
) -> None:
    """What the sidebar says of a model that is not loaded, for screens that hide it."""
    if job is not None:
        controls.status.show_on_a_phone(job, controls.status.outline(job))
        return
    with st.container(key="phone"):
        controls.errors.show(error, *Subject)
        if weights is not None and not is_loaded:
            structure.anatomy_of(weights)


def _weights_or_job(name: str) -> tuple[Weights | None, MeasuringJob | None, ClsvizError | None]:
    """The model's weights if they are on this machine; otherwise the job that could fetch them, or what is wrong."""
    try:
        if problem := visitor.model_problem(name):
            raise ModelError(problem)
        weights = models.find(name)
    except models.NotDownloadedError:
        # The smallest job that fetches a model: it measures one sentence of a corpus that needs no network.
        (job,) = watching.watch((Experiment(model=name, sample_size=1), Kind.NORMS))
        return None, job, job.error
    except ClsvizError as error:
        watching.watch()
        return None, None, error
    watching.watch()
    return weights, None, None


def _waiting(job: MeasuringJob | None) -> str:
    """Why there is nothing to show yet."""
    if job is None or job.state is State.FAILED:
        return "This model cannot be opened; the error says why."
    if job.state is State.LOOKING:
        return "This model is not on this machine yet. Looking up its size…"
    if job.state.is_active:
        return "Downloading the model."
    size = f" (about {job.cost.megabytes:,} MB)" if job.cost and job.cost.megabytes else ""
    return f"Its weights are not on this machine yet. Press the button to download them{size}."


def _show(experiment: Experiment, weights: Weights, anatomy: Anatomy) -> None:
    """Everything below the title; what needs a sentence appears once it is measured."""
    tools_place = st.container(key="tools", height=40, border=False, horizontal=True, horizontal_alignment="right")
    structure.show_parameters(anatomy, weights.label)
    structure.show_facts(anatomy, weights)
    st.subheader("Where [CLS] begins", anchor=False)
    beginning_place = st.container()
    own.box()
    typed = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    st.subheader("Does the pooler, applied to [CLS], give the pooler output?", anchor=False)
    check = cls_check.measure(weights, typed)
    if check is None:  # so that nothing moves when it is there
        beginning_place.container(height=_HEIGHT_OF_BEGINNING, border=False)
        st.container(height=_HEIGHT_OF_CHECK, border=False)
    else:
        with beginning_place:
            cls_check.show_beginning(anatomy, check, untrained=weights.untrained)
        cls_check.show_check(anatomy, check, len(typed))
        st.subheader("Does the norm of [CLS] follow from its direction?", anchor=False)
        cls_check.show_direction(check)
    with tools_place:
        cls_check.downloads(experiment, weights, anatomy, check)
