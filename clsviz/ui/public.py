"""The limits of a public server, where work starts: browsers may send any values of widgets."""

import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import streamlit as st

from clsviz import limits
from clsviz.errors import SettingError, quote
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Jobs, Steps
from clsviz.sources import corpora, uploads
from clsviz.sources.models import UNTRAINED

T = TypeVar("T")

GRACE_SECONDS: Final = 60.0
"""A job ends when the sessions that want it have been gone for so long."""

HOME: Final = "Run clsviz on your own machine for it."


class LimitedJobs(Jobs):
    """Jobs of a public server, where a session has few at once, and each has so much time."""

    def __init__(self, name: str, *, n_threads: int = 1) -> None:
        super().__init__(name, n_threads=n_threads, grace_seconds=GRACE_SECONDS)
        self._of_sessions: dict[Hashable, list[Job[Any]]] = {}

    def ask(
        self,
        key: Hashable,
        steps: Callable[[Job[T]], Steps],
        session: Hashable,
        *,
        model: Hashable = None,
        is_urgent: bool = False,
    ) -> Job[T]:
        """The job of this key; the session leaves its first one where it has too many."""
        job: Job[T] = super().ask(
            key, lambda job: _timed(job, steps), session, model=model, is_urgent=is_urgent
        )
        others = [
            other
            for other in self._of_sessions.get(session, [])
            if other.is_active and other is not job and not other.has_left(session)
        ]
        while others and len(others) >= limits.number("jobs"):
            others.pop(0).leave(session)
        self._of_sessions[session] = [*others, job]
        return job

    def disconnect(self, session: Hashable) -> None:
        """A session has gone: its jobs end in a while, unless somebody else wants them."""
        super().disconnect(session)
        self._of_sessions.pop(session, None)


def _timed(job: Job[T], steps: Callable[[Job[T]], Steps]) -> Steps:
    """The steps of a job, until it has had its time; raises SettingError then."""
    most = limits.number("job_seconds")
    began = job.seconds
    for _ in steps(job):
        if job.seconds - began > most:
            reason = f"This takes longer than the {most:,g} seconds that the server has for it."
            raise SettingError(reason, f"Choose a smaller sample. {HOME}")
        yield


def listed(kind: str, known: Sequence[str]) -> list[str]:
    """The known models or corpora that this server offers; the first, the default, is among them.

    kind: models or corpora.
    """
    is_public = limits.is_public()
    return list(dict.fromkeys([known[0], *limits.names(kind)])) if is_public else list(known)


def check_names(model: str, corpus: str) -> None:
    """Raise SettingError where the server does not measure a model or a corpus."""
    base = model.removeprefix(UNTRAINED).strip()
    for kind, name, rest in (("model", base, ""), ("corpus", corpus, " or upload a file")):
        listed = limits.names("models" if kind == "model" else "corpora")
        is_upload = kind == "corpus" and name.startswith(uploads.PREFIX)
        if name.partition("@")[0] not in listed and not is_upload:
            reason = f"{kind} is {quote(name)}, which this server does not measure."
            raise SettingError(reason, f"Choose {' or '.join(listed)}{rest}. {HOME}")


def check_size(experiment: Experiment) -> None:
    """Raise SettingError where the server does not measure a sample as large."""
    most = limits.number("sample_size")
    size = experiment.sample_size
    if most < (float("inf") if size == "all" else size):
        words = size if size == "all" else f"{size:,}"
        reason = f"sample_size is {words}, and this server measures at most {most:,g} sentences."
        raise SettingError(reason, f"Choose a smaller one. {HOME}")


def bounded(search: Experiment) -> Experiment:
    """A search in at most as many texts as a sample has sentences; shipped ones are few."""
    most = limits.number("sample_size")
    is_bounded = search.corpus in corpora.SHIPPED or most == float("inf")
    return search if is_bounded else replace(search, sample_size=int(most))


def is_too_fast() -> bool:
    """True if this session has its page redrawn too often; notes that it is redrawn now."""
    times: deque[float] = st.session_state.setdefault("redraws", deque())
    now = time.monotonic()
    times.append(now)
    while times[0] < now - 60:
        times.popleft()
    return len(times) > limits.number("redraws")
