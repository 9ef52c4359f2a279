"""All that visitors share: jobs, what is measured, and results."""

import functools
import re
import threading
import uuid
from collections.abc import Hashable

import streamlit as st

from clsviz import limits
from clsviz.api import default_store
from clsviz.experiment import Precision
from clsviz.jobs.jobs import Jobs
from clsviz.jobs.worker import Worker
from clsviz.results import SHIPPED
from clsviz.sources import uploads
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results


class Server:
    """One for all sessions.

    root: the store's folder. fetch, model, analysis: jobs that download and read, that run models,
    and that compute. speeds: of measuring, by precision, as `work.measured` notes them.
    """

    def __init__(self) -> None:
        self.root = default_store()
        self.fetch = Jobs("fetch", n_threads=4)
        self.model = Jobs("model")
        self.analysis = Jobs("analysis")
        self.worker = Worker()
        self.measurements = Measurements(self.root, SHIPPED, limits.number("store_bytes"))
        self.results = Results(self.root, SHIPPED)
        self.speeds: dict[Precision, float] = {}


_lock = threading.Lock()


def server() -> Server:
    """The server; it is in no cache of Streamlit's, as a message of a browser clears those."""
    with _lock:  # the first visitors come at once
        return _server()


@functools.cache
def _server() -> Server:
    return Server()


def session() -> Hashable:
    """The name of this visitor's session among those that want a job."""
    name: str = _session()
    return name


FORWARDED = ("X-Forwarded-For", "X-Real-IP", "Forwarded")
"""Headers by which a proxy says for whom it asks."""

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Names by which a browser reaches the server on its own machine."""


def is_at_this_machine() -> bool:
    """True if the visitor is at the machine of the server: in public mode nobody is.

    A proxy on it may send no header; a page of others may have its name lead to this machine.
    """
    headers = st.context.headers
    is_forwarded = any(name in headers for name in FORWARDED)
    host = re.sub(r":\d+$", "", headers.get("Host", ""))
    is_local = host in LOCAL and st.context.ip_address is None and not is_forwarded
    return is_local and not limits.is_public()


def _release(name: str) -> None:
    """A session has ended."""
    shared = server()
    for jobs in (shared.fetch, shared.model, shared.analysis):
        jobs.disconnect(name)


@st.cache_resource(scope="session", on_release=_release, show_spinner=False)
def _session() -> str:
    uploads.delete_old(server().root)
    return uuid.uuid4().hex
