"""How the server is doing, in numbers, for Prometheus to collect."""

import contextlib
from collections.abc import Iterator

import psutil
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clsviz.measuring import Jobs


def exposition(jobs: Jobs, n_sessions: int) -> bytes:
    """All numbers, in the text format of Prometheus; n_sessions: how many browsers are connected."""
    registry = CollectorRegistry()
    registry.register(_Server(jobs, n_sessions))
    ProcessCollector(namespace="clsviz", registry=registry)
    return generate_latest(registry)


class _Server(Collector):
    """What only clsviz knows."""

    def __init__(self, jobs: Jobs, n_sessions: int) -> None:
        self._jobs, self._n_sessions = jobs, n_sessions

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now."""
        jobs = self._jobs
        yield _gauge("clsviz_jobs_running", "Jobs at work", jobs.n_running)
        yield _gauge("clsviz_queue_length", "Jobs that wait for their turn", jobs.n_queued)
        yield _gauge("clsviz_sessions", "Browsers that are connected", self._n_sessions)
        yield _gauge("clsviz_memory_bytes", "Resident memory of the server and its models", _memory(jobs))
        yield CounterMetricFamily(
            "clsviz_sentences_measured", "Sentences measured and kept since the server started", jobs.store.tally.n
        )


def _memory(jobs: Jobs) -> int:
    """Resident bytes of this process, and of the one that has the models."""
    n_bytes = psutil.Process().memory_info().rss
    if jobs.encoders.pid is not None:
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            n_bytes += psutil.Process(jobs.encoders.pid).memory_info().rss
    return int(n_bytes)


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value)
