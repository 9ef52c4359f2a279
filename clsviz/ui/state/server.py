"""What all visitors of one server share."""

import contextlib
import gc
import importlib
import io
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil
import streamlit as st

from clsviz import analysis
from clsviz.errors import CorpusError, ModelError
from clsviz.experiment import Experiment, View
from clsviz.jobs import SHOWCASE, Analysis, Found, Housekeeping, JobQueue, RemoteEncoders, Watcher
from clsviz.limits import Limits, limits_of
from clsviz.sources import files, models, uploads
from clsviz.store import Store
from clsviz.store.results import ResultCache
from clsviz.ui.state import identity
from clsviz.ui.state.sessions import Crowd

T = TypeVar("T")

_SOON_SECONDS = 8.0
"""On a small machine the browser draws with the same processors, and comes first."""

_UNASKED_SECONDS = 6.0
"""How long an analysis goes on once no page asks for it any more: one that waits asks every second."""

_NEW_OBJECTS = 20_000
"""After so many Python looks for circles among them: a run of a page makes some thousands, nearly all without."""

_ROOM_FOR_A_MODEL = 4 * 2**30
"""Memory with which the built-in model is loaded before anybody asks for it."""

_REGRESSIONS = (
    "statsmodels.regression.linear_model",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.preprocessing",
)
"""What lines, curves and probes take."""

_CROWD, _NICENESS = 3, 15
"""Pages of so many who wait for a measurement come after it: their threads have a few hundredths of a processor that is
measuring, and all of one that is idle."""

_MANY = 10
"""So many who wait look for news at the full pace; more do so less often, and the server has no more to do."""


@dataclass(frozen=True)
class _Server:
    limits: Limits
    jobs: JobQueue
    cache: ResultCache
    crowd: Crowd
    housekeeping: Housekeeping


@st.cache_resource(show_spinner=False)
def _server() -> _Server:
    """Created once, when the first visitor comes."""
    limits = limits_of(os.environ)
    store = Store(shipped=SHOWCASE)
    cache = ResultCache(store.results, SHOWCASE / "results")
    queue = JobQueue(
        store,
        RemoteEncoders(limits.n_encoders),
        unwatched_seconds=limits.unwatched_seconds,
        unasked_seconds=_UNASKED_SECONDS,
        visitor_jobs=limits.visitor_jobs,
        job_seconds=limits.job_seconds,
    )
    soon(lambda: _make_ready(queue))
    _to_close().append(queue.close)
    return _Server(limits, queue, cache, Crowd(limits), Housekeeping(queue, limits))


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


def wait_while(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait, so long at most, for what is there in a moment: then a page is drawn once, and nothing flickers."""
    deadline = time.monotonic() + seconds
    while is_so() and time.monotonic() < deadline:
        time.sleep(0.005)


def soon(action: Callable[[], object]) -> None:
    """Do something in the background once the page is drawn."""

    def begin() -> None:
        threading.Thread(target=action, name="soon").start()  # no daemon: Python must not end while torch is imported

    timer = threading.Timer(_SOON_SECONDS, begin)
    timer.daemon = True  # a server that is stopped before does not wait for it
    timer.start()


def _make_ready(queue: JobQueue) -> None:
    """Load what regressions and probes take, for the first change of a view, and the built-in model, for a sentence."""
    for name in _REGRESSIONS:
        importlib.import_module(name)
    gc.freeze()  # what is loaded by now stays: no collection of garbage looks at it
    gc.set_threshold(_NEW_OBJECTS)
    if psutil.virtual_memory().available > _ROOM_FOR_A_MODEL:
        with contextlib.suppress(ModelError):  # whoever asks for it then is told
            queue.encoders.get(models.find(Experiment().model))


def limits() -> Limits:
    """What this server allows its visitors."""
    return _server().limits


def jobs() -> JobQueue:
    """The jobs of all visitors."""
    return _server().jobs


def crowd() -> Crowd:
    """Who visits."""
    return _server().crowd


def come_after_measuring() -> None:
    """Let this thread, which draws a page, come after the worker while a crowd waits for that."""
    if sys.platform == "linux" and jobs().running is not None and jobs().n_watchers >= _CROWD:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)  # elsewhere it would be all threads


def times_slower() -> float:
    """How many times as long pages wait between two looks at what they wait for, as these take the server's time."""
    return max(1.0, jobs().n_watchers / _MANY)


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


def keep_upload(file: Any) -> str:
    """Keep what a visitor uploaded, and return the name of the corpus that it makes; raises CorpusError.

    file: as Streamlit gives it.
    """
    if not isinstance(file, io.BytesIO):
        raise CorpusError("The file did not arrive here. Upload it again.")
    name: str = file.name
    most = files.Limits(file_bytes=limits().upload_bytes, text_bytes=limits().unpacked_bytes)
    return uploads.keep_upload(file, name, jobs().store.corpora, most)


def hold_upload(name: str, watcher: Watcher) -> None:
    """Keep an upload for as long as `watcher` is connected."""
    _server().housekeeping.hold(name, watcher)


def is_stored(name: str, found: Found, view: View, depends_on: str = "") -> bool:
    """True if the result of this name is there without computing it."""
    return analysis.result_key(name, found, view=view, depends_on=depends_on) in cache()


def analyse(
    name: str, steps: Callable[[Found, View], Iterator[T]], found: Found, view: View, depends_on: str = ""
) -> Analysis[T]:
    """The job that takes `steps` with what was found and a view of it, shared by everyone who looks at the same.

    name: under which the result is stored; shipped results are found by it, so that it outlives the function's own.
    depends_on: what else the steps depend on.
    """
    key = analysis.result_key(name, found, view=view, depends_on=depends_on)

    def kept() -> Iterator[T]:
        result: T | None = None
        for result in steps(found, view):
            yield result
        if result is not None:
            cache().put(key, result)

    return jobs().analyse((key, found.key), kept, lambda: cache().get(key), visitor())


def compute(name: str, work: Callable[[Found, View], T], found: Found, view: View) -> Analysis[T]:
    """As `analyse`, for work that has a single result."""
    return analyse(name, lambda *of: iter([work(*of)]), found, view)
