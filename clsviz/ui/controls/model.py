"""Which model."""

import streamlit as st

from clsviz import models
from clsviz.errors import ClsvizError, Subject
from clsviz.ui.controls import choices, errors, imports
from clsviz.ui.state import server, session, visitor


def show(error: ClsvizError | None = None) -> None:
    """The control; error: what is wrong, if that is known already, shown here if it is about the model."""
    own = [one.model for one in imports.known()]
    names = choices.including(st.session_state.model, [*models.MODELS, f"{models.UNTRAINED}minilm", *own])
    st.selectbox(
        "Model",
        names,
        index=names.index(st.session_state.model),
        format_func=label,
        key="model",
        persist_state="session",
        on_change=_choose,
        accept_new_options=not server.limits().is_public,
        help="The encoder. You can also type any Hugging Face Hub id, optionally with @ and a revision, or, if clsviz "
        "runs on your machine, the path of a folder. Put “untrained:” in front for the same architecture with random "
        "weights, as a control.",
    )
    choices.show_message("model")
    errors.show(error, Subject.MODEL)


def _choose() -> None:
    """Take the chosen model, or say why not; imported vectors come with their texts."""
    if choices.take_name("model", visitor.model_problem):
        chosen = next((one for one in imports.known() if one.model == st.session_state.model), None)
        if chosen is not None:
            session.choose(chosen.experiment)


def label(name: str) -> str:
    """What a list calls a model: no two are alike, because the browser sends back what it shows."""
    if imported := models.Imported.parse(name):
        return f"{imported.label} (imported, {imported.digest[:4]})"
    text = models.label(name) if models.Name.parse(name).base in models.MODELS else name
    return text[:1].upper() + text[1:] if models.Name.parse(name).untrained else text
