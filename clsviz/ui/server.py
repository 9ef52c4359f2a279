"""All that visitors share: jobs, what is measured, and results."""

import functools
import re
import threading
import uuid
from collections.abc import Hashable
from pathlib import Path

import streamlit as st

from clsviz import limits
from clsviz.jobs.jobs import Jobs
from clsviz.jobs.worker import Worker
from clsviz.jobs.workspace import Workspace
from clsviz.sources import uploads


class Server:
    """One for all sessions: their jobs, and the workspace that these share."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self.workspace = Workspace.of(runner=Worker())

    @property
    def root(self) -> Path:
        """The folder of the store."""
        return self.workspace.root


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
    server().jobs.disconnect(name)


@st.cache_resource(scope="session", on_release=_release, show_spinner=False)
def _session() -> str:
    uploads.delete_old(server().root)
    return uuid.uuid4().hex
