"""What all visitors of one server share."""

import contextlib
import io
import math
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st
from streamlit import config
from streamlit.runtime import exists

from clsviz import analysis, statistics
from clsviz.encoder import Process, guard_torch
from clsviz.errors import CorpusError, ModelError
from clsviz.experiment import View
from clsviz.limits import Limits, limits_of
from clsviz.measuring import SHOWCASE, Analysis, Encoders, Found, Housekeeping, Jobs, Store
from clsviz.settings import Precision
from clsviz.sources import text_files, uploads
from clsviz.sources.models import Weights
from clsviz.sources.near_duplicates import clusters_of
from clsviz.store.results import ResultCache
from clsviz.ui.state import identity, sessions
from clsviz.ui.state.crowd import LONGEST_SECONDS, Crowd, gives_way, seconds_between_looks
from clsviz.ui.state.turns import Turns

T = TypeVar("T")

_SOON_SECONDS = 8.0
"""On a small machine the browser draws with the same processors, and comes first."""

_RUNS_AT_ONCE = 2
"""Runs of pages. Python runs one thread at a time, so that more of them at once end no sooner; two, so that one that is
held up holds up no other."""

_UNASKED_SECONDS = 4.0
"""How long an analysis goes on beyond the time in which a page that waits for it has to ask again."""


@dataclass(frozen=True)
class _Server:
    limits: Limits
    jobs: Jobs
    cache: ResultCache
    crowd: Crowd
    housekeeping: Housekeeping
    turns: Turns


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    """Created once, when the first visitor comes."""
    guard_torch()  # outside a server, as in tests, jobs import it while pages compute
    limits = limits_of(os.environ)
    store = Store(shipped=SHOWCASE)
    encoders = Encoders(limits.n_encoders, Process() if exists() else None)
    soon(_load_statistics)  # for the first change of the view
    cache = ResultCache(store.results, SHOWCASE / "results")
    all_jobs = Jobs(
        store,
        encoders,
        unwatched_seconds=limits.unwatched_seconds,
        unasked_seconds=lambda: _UNASKED_SECONDS + 2 * seconds_between_looks(all_jobs.n_watchers),
        visitor_jobs=limits.visitor_jobs,
        job_seconds=limits.job_seconds,
    )
    config.set_option("server.maxUploadSize", upload_megabytes(limits))  # what is larger is not even received
    left = sessions.Left(limits.reconnect_seconds)

    def tidy() -> None:
        left.close()
        sessions.bound_uploads(limits.upload_memory_bytes)

    housekeeping = Housekeeping(all_jobs, limits, tidy)
    turns = Turns(_RUNS_AT_ONCE, give_way=lambda: all_jobs.running is not None and gives_way(all_jobs.n_watchers))
    _to_close().append(all_jobs.close)
    return _Server(limits, all_jobs, cache, Crowd(limits), housekeeping, turns)


@st.cache_resource(show_spinner=False)
def _to_close() -> list[Callable[[], None]]:
    """What is done when the server ends; nothing if nobody came."""
    return []


def close() -> None:
    """End what runs in the background, and wait for it: what was measured is stored, the part in hand is dropped."""
    for end in _to_close():
        end()


def upload_megabytes(limits: Limits) -> int:
    """The size of the largest upload, as Streamlit wants it."""
    return max(1, math.ceil(limits.upload_bytes / 2**20))


def soon(action: Callable[[], object]) -> None:
    """Do something in the background once the page is drawn."""

    def begin() -> None:
        threading.Thread(target=action, name="soon").start()  # no daemon: Python must not end while torch is imported

    timer = threading.Timer(_SOON_SECONDS, begin)
    timer.daemon = True  # a server that is stopped before does not wait for it
    timer.start()


def load(weights: Weights, precision: Precision) -> None:
    """Load an encoder for sentences that are still to come."""
    with contextlib.suppress(ModelError):  # whoever asks for it then is told
        jobs().encoders.get(weights, precision)


def _load_statistics() -> None:
    """Load the libraries that regressions and probes take, which takes a second or two, and come to rest."""
    _ = statistics.fit, statistics.shapes, statistics.readings, clusters_of
    sessions.settle()


def limits() -> Limits:
    """What this server allows its visitors."""
    return _server().limits


def jobs() -> Jobs:
    """The jobs of all visitors."""
    return _server().jobs


def crowd() -> Crowd:
    """Who visits."""
    return _server().crowd


def turns() -> Turns:
    """The turns that runs of pages take."""
    return _server().turns


def cache() -> ResultCache:
    """The results that all who look at the same share."""
    return _server().cache


def visitor() -> Hashable:
    """What tells this visitor from others; found out once in a session, as a page asks for it again and again."""
    state = st.session_state
    if "visitor" not in state:
        state.visitor = identity.of(limits())
    known: Hashable = state.visitor
    return known


def every(seconds: float = 1.0, *, is_first: bool = True) -> float:
    """How often to look again at what this session waits for: every so many seconds, or less often in a crowd.

    is_first: whether the first points wait for it; in a crowd what they do not wait for is looked at half as often.
    """
    crowded = seconds_between_looks(jobs().n_watchers)
    return min(seconds * crowded * (1 if is_first or crowded == 1 else 2), LONGEST_SECONDS)


def keep_upload(file: Any) -> str:
    """Keep what a visitor uploaded, and return the name of the corpus that it makes; raises CorpusError.

    file: as Streamlit gives it.
    """
    if not isinstance(file, io.BytesIO):
        raise CorpusError("The file did not arrive here. Upload it again.")
    name: str = file.name
    most = text_files.Limits(file_bytes=limits().upload_bytes, text_bytes=limits().unpacked_bytes)
    return uploads.keep_upload(file, name, jobs().store.corpora, most)


def hold_upload(name: str, watcher: Hashable, is_there: Callable[[], bool]) -> None:
    """Keep an upload for as long as `is_there()`, on behalf of `watcher`."""
    _server().housekeeping.hold(name, watcher, is_there)


def is_stored(work: Callable[..., object], found: Found, view: View, depends_on: str = "") -> bool:
    """Whether the result of `work` is there without computing it."""
    return analysis.result_key(work.__name__, found, view=view, depends_on=depends_on) in cache()


def analyse(steps: Callable[[Found, View], Iterator[T]], found: Found, view: View) -> Analysis[T]:
    """The job that takes `steps` with what was found and a view of it, shared by everyone who looks at the same."""
    return analyse_as(steps, found, view, lambda: steps(found, view))


def analyse_as(
    work: Callable[..., object], found: Found, view: View, steps: Callable[[], Iterator[T]], depends_on: str = ""
) -> Analysis[T]:
    """As `analyse`, for the steps that `work` takes with more than that; depends_on: what else they depend on."""
    key = analysis.result_key(work.__name__, found, view=view, depends_on=depends_on)

    def kept() -> Iterator[T]:
        result: T | None = None
        for result in steps():
            yield result
        if result is not None:
            cache().put(key, result)

    return jobs().analyse((key, found.key), kept, lambda: cache().get(key), visitor())


def analyse_pair(
    steps: Callable[[Found, Found, View], Iterator[T]], found: Found, other: Found, view: View
) -> Analysis[T]:
    """As `analyse`, for two of what was found."""
    key = steps.__name__, found.key, other.key, view
    return jobs().analyse(key, lambda: steps(found, other, view), visitor=visitor())


def compute(work: Callable[[Found, View], T], found: Found, view: View) -> Analysis[T]:
    """As `analyse`, for work that has a single result."""
    return analyse_as(work, found, view, lambda: iter([work(found, view)]))
