"""What the pages share: the server's jobs, and one visitor's settings, in step with the URL."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from clsviz import corpora, models
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Found, MeasuringJob, measurement_key
from clsviz.settings import CORPUS_PARAMETER, MODEL_PARAMETER, TEXT_PARAMETER, Pooling
from clsviz.ui.markdown import escape
from clsviz.ui.state import server
from clsviz.ui.state.links import EXTRAS
from clsviz.vectors import Vectors

_MOST_PROBLEMS = 5


_URL_SETTLES_SECONDS = 2.0


_KEPT = [*(field.name for field in fields(Experiment)), "text", "with_text", *EXTRAS]
"""What of the session's state is the visitor's settings."""


LAST = "last"
"""How the slider writes the last layer, which is None in an experiment."""


@dataclass(frozen=True)
class _Written:
    """The URL that this session wrote last, on which page and for which settings, and when."""

    page: str
    query: dict[str, str]
    experiment: Experiment
    seconds: float


def restore(page: str) -> None:
    """Take the settings from the URL: when a page opens, and after the browser's Back or Forward.

    For a moment after a change the browser goes on sending the URL of before. Only what comes later, and without any
    setting changed at the same time, is the visitor's doing.
    """
    for name, value in st.session_state.get("kept", {}).items():
        # Streamlit forgets the state of controls that are not drawn, as that of another page's are not.
        st.session_state[name] = st.session_state.get(name, value)
    query = st.query_params.to_dict()
    written: _Written | None = st.session_state.get("written")
    if written is not None and (
        query == written.query
        or (page == written.page and experiment() != written.experiment)
        or (page == written.page and time.monotonic() - written.seconds < _URL_SETTLES_SECONDS)
    ):
        return
    problems: list[SettingError] = []
    text = query.pop(TEXT_PARAMETER, "")
    for name, read in EXTRAS.items():
        if name in query or written is None or written.page == page:  # the link of another page does not have them
            st.session_state[name] = read(query.pop(name, ""), problems.append)
    st.session_state.models = _admitted_models(st.session_state.models, problems.append)
    made_with = {name: query.pop(name) for name in (MODEL_PARAMETER, CORPUS_PARAMETER) if name in query}
    asked = admitted(Experiment.from_query(query, problems.append), problems.append)
    choose(asked)
    st.session_state.made_with = (asked.measurement_key, made_with)
    st.session_state.text = st.session_state.text_of_link = text
    st.session_state.with_text = bool(text)
    shown = [f"In the link: {problem}" for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        shown.append(f"In the link: {len(problems) - _MOST_PROBLEMS:,} more settings that cannot be used.")
    st.session_state.notes = (experiment(), shown)


def _admitted_models(names: list[str], report: Callable[[SettingError], None]) -> list[str]:
    """The models of a link to a comparison that this visitor may ask for."""
    admitted = []
    for name in dict.fromkeys(unpinned(name) if server.limits().is_public else name for name in names):
        if problem := model_problem(name):
            report(SettingError(problem))
        else:
            admitted.append(name)
    return admitted


def experiment() -> Experiment:
    """The experiment that the widgets ask for."""
    settings: dict[str, Any] = {field.name: st.session_state[field.name] for field in fields(Experiment)}
    return Experiment(**settings | {"layer": None if settings["layer"] == LAST else settings["layer"]})


def before() -> Experiment:
    """The experiment that was asked before the visitor's last change, or the default."""
    written: _Written | None = st.session_state.get("written")
    return written.experiment if written else Experiment()


def adjust(note: str, **settings: object) -> None:
    """Change settings on the visitor's behalf, before their widgets are drawn, and note why."""
    kept = notes()
    for name, value in settings.items():
        st.session_state[name] = value
    st.session_state.notes = (experiment(), [*kept, note] if note else kept)


def notes() -> list[str]:
    """What of the visitor's settings could not be used, until one is changed."""
    about, texts = st.session_state.notes
    return list(texts) if about == experiment() else []


def made_with() -> dict[str, str]:
    """With what the link was made, by the link's own words, until one of its settings is changed."""
    about, fingerprints = st.session_state.made_with
    return dict(fingerprints) if about == experiment().measurement_key else {}


def choose(experiment: Experiment) -> None:
    """Set every control as the experiment says."""
    for field in fields(experiment):
        st.session_state[field.name] = getattr(experiment, field.name)
    st.session_state.layer = LAST if experiment.layer is None else experiment.layer


def write_url(experiment: Experiment, page: str, **more: str) -> dict[str, str]:
    """Put the settings, and what `more` this page has, into the address bar, and return them as URL parameters."""
    query = experiment.to_query() | {name: text for name, text in more.items() if text}
    if st.session_state.with_text and st.session_state.text.strip():
        query[TEXT_PARAMETER] = st.session_state.text
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)
    written: _Written | None = st.session_state.get("written")
    st.session_state.kept = {name: st.session_state[name] for name in _KEPT}
    if written is None or (written.page, written.query) != (page, query):
        st.session_state.written = _Written(page, query, experiment, time.monotonic())
    return query


def query() -> dict[str, str]:
    """The settings as URL parameters, as they were written last."""
    written: _Written | None = st.session_state.get("written")
    return written.query if written else {}


def watch(*wanted: tuple[Experiment, Kind]) -> list[MeasuringJob]:
    """The jobs of these experiments, which this session now watches instead of any others.

    What is at work for another page goes on while its settings are those of this one. What the browser sends is checked
    here as well: a forged message can hold values that no control offers. Raises SettingError.
    """
    for experiment, _ in wanted:
        admitted(experiment, _refuse)
    before: dict[Hashable, MeasuringJob] = st.session_state.get("watched", {})
    watched = {
        key: before[key] if key in before else server.jobs().open(experiment, kind)
        for experiment, kind in wanted
        for key in [measurement_key(experiment, kind)]
    }
    _replace(before, {key: job for key, job in before.items() if job.state.is_active and key in _mine()} | watched)
    return [watched[measurement_key(experiment, kind)] for experiment, kind in wanted]


def _mine() -> set[Hashable]:
    """What any page could ask with the settings as they are."""
    names = {st.session_state.model, *st.session_state.models}
    return {measurement_key(replace(experiment(), model=name), kind) for name in names for kind in Kind}


def start(job: MeasuringJob) -> MeasuringJob:
    """Begin a job that waits for that, or again one that ended early; returns the one that takes its place."""
    experiment, kind = job.work.experiment, job.work.kind
    admitted(experiment, _refuse)
    before: dict[Hashable, MeasuringJob] = st.session_state.watched
    started = server.jobs().open(experiment, kind, start=True)
    _replace(before, before | {measurement_key(experiment, kind): started})
    return started


def _replace(before: dict[Hashable, MeasuringJob], watched: dict[Hashable, MeasuringJob]) -> None:
    for job in before.values():
        if job not in watched.values():
            leave(job)
    for job in watched.values():
        job.watch(_session_id(), _is_there(_session_id()))
    st.session_state.watched = watched


def begin(page: str, *kinds: Kind) -> tuple[Experiment, list[MeasuringJob]]:
    """The experiment of a page that is about to be drawn, and its jobs; where it cannot be, says why and stops."""
    restore(page)
    try:
        return experiment(), watch(*((experiment(), kind) for kind in kinds))
    except SettingError as error:
        st.error(escape(error))
        st.stop()


def found(job: MeasuringJob, experiment: Experiment) -> Found | None:
    """What is measured so far, or None while there is nothing of the experiment's view.

    A model that was not known when the controls were drawn may lack their layer or pooler: they are about to follow.
    """
    found = job.work.found
    if found is None or not len(found.measurements) or (experiment.layer or 0) > found.measurements.n_layers:
        return None
    if experiment.pooling is Pooling.POOLER:
        return found if found.measurements.has_pooler else None
    return found if experiment.pooling is Pooling.CLS or isinstance(found.measurements, Vectors) else None


def leave(job: MeasuringJob) -> None:
    """No longer watch the job; it is cancelled unless somebody else does."""
    job.leave(_session_id())


def _session_id() -> str:
    context = get_script_run_ctx()
    assert context is not None  # pages run in a session
    return context.session_id


def admitted(experiment: Experiment, report: Callable[[SettingError], None]) -> Experiment:
    """The experiment with what this visitor may not ask for reported, and replaced by the default."""
    default = Experiment()
    if (
        server.limits().is_public
    ):  # whose commit it is the catalogue says; if it is another than the link's, that is noted
        experiment = replace(experiment, model=unpinned(experiment.model), corpus=unpinned(experiment.corpus))
    if problem := model_problem(experiment.model):
        report(SettingError(problem))
        experiment = replace(experiment, model=default.model)
    if problem := corpus_problem(experiment.corpus):
        report(SettingError(problem))
        experiment = replace(experiment, corpus=default.corpus, configuration="", split="", column="")
    limits = server.limits()
    for name, most in (("sample_size", limits.sample_size), ("probe_size", limits.probe_size)):
        if getattr(experiment, name) > most:
            report(SettingError(f"{name} is {getattr(experiment, name):,}; here it can be {most:,} at most."))
            limited: dict[str, Any] = {name: most}
            experiment = replace(experiment, **limited)
    return experiment


def unpinned(name: str) -> str:
    """The name of a model or corpus without its revision."""
    return name.partition("@")[0]


def model_problem(name: str) -> str:
    """Why this visitor may not ask for the model `name`, or ""."""
    base = models.Name.parse(name).base
    if server.limits().is_public and base not in models.MODELS:
        known = ", ".join(models.MODELS)
        return f"model is “{name[:60]}”. This public demo has only {known}; clsviz on your own machine takes any."
    if models.is_folder(base) and not _is_local():
        return f"model is the folder “{name[:60]}”. Folders can be opened only by a browser on the same machine."
    return ""


def corpus_problem(name: str) -> str:
    """Why this visitor may not ask for the corpus `name`, or ""."""
    if corpora.is_in_catalogue(name) or corpora.is_upload(name):
        return ""
    if server.limits().is_public:
        known = ", ".join(corpora.CORPORA)
        return f"corpus is “{name[:60]}”, which is not one of the catalogue ({known}). You can upload a file instead."
    if corpora.is_file(name) and not _is_local():
        return (
            f"corpus is the file “{name[:60]}”. Files can be opened only by a browser on the same machine: upload it."
        )
    return ""


def _refuse(problem: SettingError) -> None:
    raise problem


def _is_local() -> bool:
    """Whether the browser runs on this machine.

    A proxy on this machine gives itself away by the name that it was asked for, or by what it says of the visitor. For
    one that hides both there is CLSVIZ_server.limits().is_public.
    """
    headers = st.context.headers
    host = urlsplit(f"//{headers.get('Host', '')}").hostname
    is_proxied = any(name in headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-Ip"))
    address = (st.context.ip_address or "").removeprefix("::ffff:")  # an IPv4 address on an IPv6 socket
    return address in ("", "127.0.0.1") and host in ("localhost", "127.0.0.1", "::1") and not is_proxied


def _is_there(session_id: str) -> Callable[[], bool]:
    """Whether the session's browser is connected; outside a server, in tests, it always is."""
    return lambda: not exists() or get_instance().is_active_session(session_id)
