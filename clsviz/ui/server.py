"""All that visitors share, and the limits of a public server: browsers may send any values."""

import functools
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from clsviz import limits
from clsviz.errors import SettingError, quote
from clsviz.jobs.jobs import Jobs
from clsviz.jobs.measure import Workspace
from clsviz.jobs.worker import Worker
from clsviz.settings import Experiment
from clsviz.sources import uploads
from clsviz.sources.models import UNTRAINED


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


HOME: Final = "Run clsviz on your own machine for it."

FORWARDED = ("X-Forwarded-For", "X-Real-IP", "Forwarded")
"""Headers by which a proxy says for whom it asks."""

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Names by which a browser reaches the server on its own machine."""


def is_at_this_machine() -> bool:
    """True if the visitor is at the machine of the server: in public mode nobody is.

    A proxy may send no header, and DNS may be rebound: both are checked.
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
def session() -> str:
    """The name of this visitor's session among those that want a job."""
    uploads.delete_old(server().root)
    return uuid.uuid4().hex


def listed(kind: str, known: Sequence[str]) -> list[str]:
    """The known values that this server offers; the first, the default, is among them.

    kind: models, corpora, or "" for what is not limited.
    """
    is_limited = kind and limits.is_public()
    return list(dict.fromkeys([known[0], *limits.names(kind)])) if is_limited else list(known)


def check_names(model: str, corpus: str) -> None:
    """Raise SettingError where the server does not measure a model or a corpus.

    A revision counts as a name of its own: on the Hub anybody may propose one.
    """
    base = model.removeprefix(UNTRAINED).strip()
    for kind, name, rest in (("model", base, ""), ("corpus", corpus, " or upload a file")):
        listed = limits.names("models" if kind == "model" else "corpora")
        is_upload = kind == "corpus" and uploads.is_upload(name)
        if name not in listed and not is_upload:
            reason = f"{kind} is {quote(name)}, which this server does not measure."
            raise SettingError(reason, f"Choose {' or '.join(listed)}{rest}. {HOME}")


def check_size(experiment: Experiment) -> None:
    """Raise SettingError where the server does not measure a sample as large."""
    most = limits.number("sample_size")
    size = experiment.sample_size
    if most < experiment.most_sentences:
        words = size if size == "all" else f"{size:,}"
        reason = f"sample_size is {words}, and this server measures at most {most:,g} sentences."
        raise SettingError(reason, f"Choose a smaller one. {HOME}")


def is_too_fast() -> bool:
    """True if this session has its page redrawn too often; notes that it is redrawn now."""
    times: deque[float] = st.session_state.setdefault("redraws", deque())
    now = time.monotonic()
    times.append(now)
    while times[0] < now - 60:
        times.popleft()
    return len(times) > limits.number("redraws")
