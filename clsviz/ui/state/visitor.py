"""What this visitor may ask for: on a public server less, and files of this machine only from a browser on it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.settings import ALL, Reading, shown, written
from clsviz.sources import catalogue, models
from clsviz.ui.state import server


def admitted(experiment: Experiment, report: Callable[[SettingError], None]) -> Experiment:
    """The experiment of a link with whatever this visitor may not ask for reported and replaced by the default."""
    if server.limits().is_public:  # the catalogue decides on the commit; a link made with another one gets a note
        experiment = replace(experiment, model=unpinned(experiment.model), corpus=unpinned(experiment.corpus))
    return _offered(experiment, report)


def _offered(experiment: Experiment, report: Callable[[SettingError], None]) -> Experiment:
    default, limits = Experiment(), server.limits()
    if problem := model_problem(experiment.model):
        report(SettingError(problem))
        experiment = replace(experiment, model=default.model)
    if problem := corpus_problem(experiment.corpus):
        report(SettingError(problem))
        experiment = replace(
            experiment, corpus=default.corpus, configuration="", split="", column="", reading=Reading.AUTO
        )
    for name, most in (("sample_size", limits.sample_size), ("probe_size", limits.probe_size)):
        value = getattr(experiment, name)
        if value > most and (limits.is_public or value != ALL):
            number = written(name, value) if value == ALL else f"{value:,}"
            report(SettingError(f"{name} is {number}; on this server it can be at most {most:,}."))
            limited: dict[str, Any] = {name: most}
            experiment = replace(experiment, **limited)
    return experiment


def check(experiment: Experiment) -> None:
    """Raise SettingError if the experiment has anything that this visitor may not ask for."""
    _offered(experiment, _refuse)


def admitted_models(names: list[str], report: Callable[[SettingError], None]) -> list[str]:
    """Those models of a link to a comparison that this visitor may ask for; the others are reported."""
    admitted = []
    for name in dict.fromkeys(unpinned(name) if server.limits().is_public else name for name in names):
        if problem := model_problem(name):
            report(SettingError(problem))
        else:
            admitted.append(name)
    return admitted


def admitted_corpus(name: str, report: Callable[[SettingError], None]) -> str:
    """The corpus that a link names beside the experiment's, or "" if there is none or it is reported."""
    name = unpinned(name) if server.limits().is_public else name
    if name and (problem := corpus_problem(name)):
        report(SettingError(problem))
        return ""
    return name


def unpinned(name: str) -> str:
    """The name of a model or corpus without its revision."""
    return name.partition("@")[0]


def model_problem(name: str) -> str:
    """Why this visitor may not ask for the model `name`, or ""."""
    base = models.Name.parse(name).base
    if server.limits().is_public and (base not in models.MODELS or name != unpinned(name)):
        return _not_offered("model", name, models.MODELS, "run clsviz on your own machine for any model")
    if models.is_folder(base) and not is_local():
        return (
            f"model is the folder “{shown(name)}”. Folders can be opened only from a browser on the machine that "
            "clsviz runs on."
        )
    return ""


def corpus_problem(name: str) -> str:
    """Why this visitor may not ask for the corpus `name`, or ""."""
    is_pinned = name != unpinned(name)
    if catalogue.is_upload(name) or catalogue.resembles_upload(name):
        return ""
    if catalogue.is_in_catalogue(name) and not (server.limits().is_public and is_pinned):
        return ""
    if server.limits().is_public:
        return _not_offered("corpus", name, catalogue.CORPORA, "upload a file")
    if catalogue.is_file(name) and not is_local():
        return (
            f"corpus is the file “{shown(name)}”. Paths can be opened only from a browser on the machine that clsviz "
            "runs on. Upload the file instead."
        )
    return ""


def _not_offered(setting: str, name: str, offered: Iterable[str], otherwise: str) -> str:
    return (
        f"{setting} is “{shown(name)}”, which this public demo does not offer. Choose one of {', '.join(offered)}, or "
        f"{otherwise}."
    )


def is_local() -> bool:
    """Whether the browser runs on this machine.

    A proxy on this machine gives itself away by the host name in the request, or by what it says of the visitor.
    Behind a proxy that hides both, set CLSVIZ_PUBLIC.
    """
    headers = st.context.headers
    host = urlsplit(f"//{headers.get('Host', '')}").hostname
    is_proxied = any(name in headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-Ip"))
    address = (st.context.ip_address or "").removeprefix("::ffff:")  # an IPv4 address on an IPv6 socket
    return address in ("", "127.0.0.1") and host in ("localhost", "127.0.0.1", "::1") and not is_proxied


def _refuse(problem: SettingError) -> None:
    raise problem
