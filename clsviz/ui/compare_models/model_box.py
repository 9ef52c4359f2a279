"""The box in which models are chosen, with what is wrong with them."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from clsviz import analysis, models
from clsviz.errors import ClsvizError, ModelError, Subject
from clsviz.experiment import parse_setting
from clsviz.measuring import MeasuringJob
from clsviz.settings import MOST_MODELS
from clsviz.ui import controls
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, visitor


def names() -> list[str]:
    """The chosen models; without a choice, the current model and its untrained self.

    Of vectors that were imported there is no untrained self; the built-in model takes its place.
    """
    if not st.session_state.models and not st.session_state.get("models_were_cleared"):
        name = models.Name.parse(st.session_state.model)
        trained = "minilm" if "," in name.base else str(replace(name, untrained=False))
        is_imported = models.Imported.parse(st.session_state.model) is not None
        st.session_state.models = [trained, "minilm" if is_imported else f"{models.UNTRAINED}{trained}"]
    return st.session_state.models or [st.session_state.model]


def show(names: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob]) -> None:
    """The box, and under it the errors about models."""
    offered = [*models.MODELS, f"{models.UNTRAINED}minilm", *(one.model for one in controls.imports.known())]
    st.multiselect(
        "Models",
        list(dict.fromkeys([*offered, *st.session_state.models])),
        default=st.session_state.models,
        format_func=controls.model.label,
        key="models",
        persist_state="session",
        on_change=_choose,
        max_selections=MOST_MODELS,
        accept_new_options=not server.limits().is_public,
        select_all=False,
        help=f"Two to {MOST_MODELS} models, all measured on the same sentences. You can also type any Hugging Face Hub "
        "id or, if clsviz runs on your machine, the path of a folder. Put “untrained:” in front for random weights.",
    )
    if message := st.session_state.get("models_message", ""):
        st.error(escape(message))
    show_errors(names, norms, vectors)


def show_errors(names: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob]) -> None:
    """What is wrong with each of the models."""
    for label, *jobs in zip(analysis.compare.labels(names), norms, vectors, strict=True):
        errors = [job.error for job in jobs if job.error and job.error.subject is Subject.MODEL]
        if errors:
            st.error(escape(f"{label}: {errors[0]}"))


def _choose() -> None:
    """Take the chosen models, leaving out those that cannot be compared, and say why."""
    names: list[str] = []
    message = ""
    chosen = st.session_state.models
    for text in chosen if isinstance(chosen, list) else []:
        try:
            names.append(_checked(str(text), names))
        except ClsvizError as error:
            message = str(error)
    st.session_state.models = names
    st.session_state.models_message = message
    st.session_state.models_were_cleared = not names


def _checked(text: str, before: Sequence[str]) -> str:
    """The name of a model; raises ModelError where it cannot be compared with those before it."""
    name: str = parse_setting("model", text)
    if problem := visitor.model_problem(name):
        raise ModelError(problem)
    if "," in name:
        raise ModelError(f"“{name}” contains a comma, which separates models in a link. Rename the folder.")
    if name in before:
        raise ModelError(f"{name} is already in the comparison.")
    if len(before) == MOST_MODELS:
        raise ModelError(f"At most {MOST_MODELS} models can be compared, so {name} was left out.")
    return name
