"""The analyses of one server: each runs for as long as somebody asks for it, and its result stays for a while."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from clsviz.errors import TooManyError
from clsviz.measuring.estimate import Cost
from clsviz.measuring.job import Job, State, Steps
from clsviz.measuring.lane import Lane
from clsviz.progress import Progress

T = TypeVar("T")

Analysis = Job[Steps[T]]


class Analyses:
    """Those that were asked for lately, whatever lane they run in."""

    def __init__(self, lock: threading.RLock, unasked_seconds: Callable[[], float], kept: int) -> None:
        """lock: that of the jobs. unasked_seconds: how long one runs on once nobody asks. kept: how many stay."""
        self.jobs: OrderedDict[Hashable, Job[Steps[object]]] = OrderedDict()
        """By their keys, in the order in which they were last asked for."""
        self._lock = lock
        self._unasked_seconds = unasked_seconds
        self._kept = kept

    def ask(
        self,
        lane: Lane,
        key: Hashable,
        steps: Callable[[Progress], Iterator[T]],
        visitor: Hashable,
        *,
        kept: Callable[[], T | None] = lambda: None,
        seconds: Callable[[], float] | None = None,
        most_seconds: float | None = None,
    ) -> Analysis[T]:
        """The analysis known by `key`, in its lane unless its result is kept.

        steps: yields results, each of which replaces the one before; gets the job. kept: the last, if it is known.
        seconds: about how long it takes. most_seconds: how long it may.
        """
        with self._lock:
            known = self.jobs.get(key)
            job: Analysis[T] = known  # type: ignore[assignment]  # all results of one key are of one type
            if known is None or known.is_worth_another_try:
                work = Steps(steps)
                work.result = job.work.result if known else None  # until there is a newer one
                result = kept()
                job = Job(work, 0, State.QUEUED if result is None else State.DONE, most_seconds, visitor)
                job.cost = Cost(seconds()) if seconds else None
                self.jobs[key] = job  # type: ignore[assignment]
                job.touch(self._unasked_seconds(), visitor)
                if result is not None:
                    work.result = result
                else:
                    try:
                        lane.put(job)
                    except TooManyError as error:
                        job.state, job.error = State.FAILED, error
            job.touch(self._unasked_seconds(), visitor)
            self.jobs.move_to_end(key)
            ended = [key for key, job in self.jobs.items() if not job.state.is_active]
            for ended_key in ended[: max(0, len(self.jobs) - self._kept)]:
                del self.jobs[ended_key]
            return job

    def forget_failed(self, key: Hashable) -> None:
        """Let what failed be tried again by whoever comes back to it; those who are still there see why it failed."""
        with self._lock:
            known = self.jobs.get(key)
            if known is not None and known.state is State.FAILED and not known.is_watched:
                del self.jobs[key]
