"""One visitor's settings: the values of the controls, as an experiment."""

import dataclasses
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import streamlit as st

from clsviz.experiment import Experiment

LAST = "last"
"""The last layer on the slider; an experiment has None for it."""


@dataclass(frozen=True)
class Written:
    """The URL that this session wrote last, on which page and for which settings."""

    page: str
    query: dict[str, str]
    experiment: Experiment
    at: float = dataclasses.field(default_factory=time.monotonic)


def experiment() -> Experiment:
    """The experiment that the controls ask for."""
    settings: dict[str, Any] = {field.name: st.session_state[field.name] for field in fields(Experiment)}
    return Experiment(**settings | {"layer": None if settings["layer"] == LAST else settings["layer"]})


def choose(experiment: Experiment) -> None:
    """Set every control to the experiment."""
    for field in fields(experiment):
        st.session_state[field.name] = getattr(experiment, field.name)
    st.session_state.layer = LAST if experiment.layer is None else experiment.layer


def measured() -> Hashable:
    """What costs model time of the settings: all but the view."""
    return experiment().measurement_key


def keep(names: Iterable[str]) -> None:
    """Keep the values of these settings, for `recall`."""
    st.session_state.kept = {name: st.session_state[name] for name in names}


def recall() -> None:
    """Bring back what Streamlit has forgotten: a control that is drawn, left out and set all at once loses its value.

    No other value is touched: to set one takes a control out of the hands of whoever is moving it.
    """
    for name, value in st.session_state.get("kept", {}).items():
        if name not in st.session_state:
            st.session_state[name] = value


def hold() -> None:
    """Measure the chosen corpus only when the visitor has seen how it is read."""
    st.session_state.held = st.session_state.corpus


def release() -> None:
    """Measure it as any other."""
    st.session_state.held = ""


def is_held() -> bool:
    """Whether the chosen corpus waits for the visitor to see how it is read."""
    return bool(st.session_state.get("held") == st.session_state.corpus)


def written() -> Written | None:
    """What this session put into the URL last."""
    last: Written | None = st.session_state.get("written")
    return last


def before() -> Experiment:
    """The experiment before the visitor's last change, or the default."""
    last = written()
    return last.experiment if last else Experiment()


def query() -> dict[str, str]:
    """The settings as the URL parameters that were written last."""
    last = written()
    return last.query if last else {}


def link_pages_by(link: Callable[[dict[str, str]], None]) -> None:
    """Have `link` called whenever the settings change, with the URL parameters that the links to all pages carry."""
    st.session_state.link_pages = link


def link_pages(query: dict[str, str]) -> None:
    """Let the links to all pages carry these settings."""
    st.session_state.link_pages(query)


def adjust(note: str, **settings: object) -> None:
    """Change settings on the visitor's behalf, before their controls are drawn, and note why."""
    kept = notes()
    for name, value in settings.items():
        st.session_state[name] = value
    st.session_state.notes = (experiment(), [*kept, note] if note else kept)


def notes() -> list[str]:
    """Which of the visitor's settings could not be used, until one is changed."""
    about, texts = st.session_state.notes
    return list(texts) if about == experiment() else []


def made_with() -> dict[str, str]:
    """The fingerprints that the link records, until one of the settings they depend on is changed."""
    about, fingerprints = st.session_state.made_with
    return dict(fingerprints) if about == experiment().measurement_key else {}
