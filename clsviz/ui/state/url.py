"""The settings in step with the address bar."""

import time
from dataclasses import fields

import streamlit as st

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.settings import CORPUS_PARAMETER, MODEL_PARAMETER, SEARCH_DEFAULTS, TEXT_PARAMETER
from clsviz.sources.segmentation import MAX_CHARACTERS
from clsviz.ui.state import forged, session, visitor
from clsviz.ui.state.links import EXTRAS

_MOST_PROBLEMS = 5

_ON_ITS_WAY_SECONDS = 0.5
"""How long a URL may take to reach the browser."""

_DEFAULTS = {"length-and-search": SEARCH_DEFAULTS}
"""Of pages that open with other settings than the rest."""

_OF_EXPERIMENT = {field.name for field in fields(Experiment)}

_SETTINGS = [*(field.name for field in fields(Experiment)), "text", "with_text", *EXTRAS]
"""The visitor's settings among the session's state."""


def restore(page: str) -> None:
    """Take the settings from the URL: when a page opens, and after the browser's Back or Forward.

    Any other URL than the one written last is an earlier one, from a browser that has not received the last.
    """
    session.recall()
    forged.mend()
    query = st.query_params.to_dict()
    written = session.written()
    if written is not None and (query == written.query or (page == written.page and not _is_back_or_forward(written))):
        if _DEFAULTS.get(page) != _DEFAULTS.get(written.page):  # what the link leaves out is another on this page
            known = {name: text for name, text in query.items() if name in _OF_EXPERIMENT}
            session.choose(Experiment.from_query({**_DEFAULTS.get(page, {}), **known}))
        return
    problems: list[SettingError] = []
    text = query.pop(TEXT_PARAMETER, "")
    if len(text) > MAX_CHARACTERS:
        problems.append(SettingError(f"text has {len(text):,} characters; it can have at most {MAX_CHARACTERS:,}."))
        text = ""
    if {"zoom", "selected"} & query.keys():
        st.session_state.pop("marked_in", None)  # the link's view is theirs
    for name, read in EXTRAS.items():
        # A link has only what its page shows: what neither this one nor the last has was not changed between them.
        if name in query or written is None or (written.page == page and name in written.query):
            st.session_state[name] = read(query.pop(name, ""), problems.append)
    st.session_state.models = visitor.admitted_models(st.session_state.models, problems.append)
    st.session_state.travel_to = visitor.admitted_corpus(st.session_state.travel_to, problems.append)
    made_with = {name: query.pop(name) for name in (MODEL_PARAMETER, CORPUS_PARAMETER) if name in query}
    query = {**_DEFAULTS.get(page, {}), **query}
    experiment = visitor.admitted(Experiment.from_query(query, problems.append), problems.append)
    session.choose(experiment)
    st.session_state.made_with = (experiment.measurement_key, made_with)
    st.session_state.text = st.session_state.text_of_link = text
    st.session_state.with_text = bool(text)
    st.session_state.notes = (session.experiment(), _notes(problems))


def _is_back_or_forward(written: session.Written) -> bool:
    """True if the browser went back or forward: an earlier URL, and no control was moved since the last was written.

    A browser that has not received the last one yet sends an earlier one as well, with what was moved, or at once.
    """
    is_unmoved = session.experiment() == written.experiment
    return is_unmoved and time.monotonic() - written.at > _ON_ITS_WAY_SECONDS


def _notes(problems: list[SettingError]) -> list[str]:
    notes = [f"In the link: {problem}" for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        n = len(problems) - _MOST_PROBLEMS
        notes.append(f"In the link: {n:,} more setting{'' if n == 1 else 's'} cannot be used.")
    return notes


def write(experiment: Experiment, page: str, **extras: str) -> dict[str, str]:
    """Put the settings, and the page's own `extras`, into the address bar; returns them as URL parameters."""
    query = experiment.to_query(_DEFAULTS.get(page)) | {name: text for name, text in extras.items() if text}
    if st.session_state.with_text and st.session_state.text.strip():
        query[TEXT_PARAMETER] = st.session_state.text
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)
    written = session.written()
    if written is None or (written.page, written.query) != (page, query):
        st.session_state.written = session.Written(page, query, experiment)
    session.keep(_SETTINGS)
    session.link_pages(query)
    return query
