"""Whether the server can do its work, and how it is doing in numbers: /ready and /metrics."""

import contextlib
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

import psutil
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.jobs import JobQueue, State
from clsviz.sources import models

_log = logging.getLogger(__name__)


class Readiness:
    """What `/ready` says, found out anew every few seconds at most, however often it is asked."""

    def __init__(self, jobs: Callable[[], JobQueue], fresh_seconds: float = 2.0) -> None:
        """jobs: those of the server. fresh_seconds: for how long what was found out holds."""
        self._jobs, self._fresh_seconds = jobs, fresh_seconds
        self._lock = threading.Lock()
        self._state: dict[str, bool] = {}
        self._until = 0.0

    def state(self) -> dict[str, bool | int]:
        """Whether the store can be written, whether the default model is there, and how many jobs wait.

        Of the model: its configuration and tokenizer are there, the header of its weights can be read, and all its
        bytes are those that clsviz was tested with. It is not loaded.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._state = {"store_is_writable": self._is_writable(), "model_is_whole": _is_whole()}
                self._until = time.monotonic() + self._fresh_seconds
            state = dict(self._state)
        return {"ready": all(state.values()), **state, "queue_length": self._jobs().n_jobs(State.QUEUED)}

    def _is_writable(self) -> bool:
        root = self._jobs().store.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root) as file:
                file.write(b"ready")
                file.flush()
        except OSError as error:
            _log.warning("The store cannot be written: %s", error)
            return False
        return True


def _is_whole() -> bool:
    try:
        models.find(Experiment().model)
    except (ClsvizError, OSError) as error:
        _log.warning("The default model cannot be used: %s", error)
        return False
    return True


def exposition(jobs: JobQueue, n_sessions: int) -> bytes:
    """All numbers, in the text format of Prometheus; n_sessions: how many browsers are connected."""
    registry = CollectorRegistry()
    registry.register(_Server(jobs, n_sessions))
    ProcessCollector(namespace="clsviz", registry=registry)
    return generate_latest(registry)


class _Server(Collector):
    """What only clsviz knows."""

    def __init__(self, jobs: JobQueue, n_sessions: int) -> None:
        self._jobs, self._n_sessions = jobs, n_sessions

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now; memory: of this process, and of the one that has the models."""
        jobs, n_bytes = self._jobs, psutil.Process().memory_info().rss
        if jobs.encoders.pid is not None:
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                n_bytes += psutil.Process(jobs.encoders.pid).memory_info().rss
        yield GaugeMetricFamily("clsviz_jobs_running", "Jobs at work", jobs.n_jobs(State.RUNNING))
        yield GaugeMetricFamily("clsviz_queue_length", "Jobs that wait for their turn", jobs.n_jobs(State.QUEUED))
        yield GaugeMetricFamily("clsviz_sessions", "Browsers that are connected", self._n_sessions)
        yield GaugeMetricFamily("clsviz_memory_bytes", "Resident memory of the server and its models", n_bytes)
        yield CounterMetricFamily(
            "clsviz_sentences_measured", "Sentences measured and kept since the server started", jobs.store.tally.n
        )
