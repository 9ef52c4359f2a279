"""Work in the background, shared by all who ask for the same."""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Generator, Hashable
from typing import Any, Generic, TypeAlias, TypeVar

from clsviz.errors import ClsvizError
from clsviz.progress import Cancelled

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, None]
"""The steps of a job: where it yields, other jobs have their turn."""

MOST_ENDED = 32
"""Jobs that are remembered after their end."""

TURN_SECONDS = 5.0
LOADING_SHARE = 5.0
"""A model has a turn of so many seconds at least, and of so many times the time of loading it."""

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class Job(Generic[T]):
    """One piece of work.

    done, total, unit: its progress. result: as far as there is one. error: what ended it, or None.
    is_active: False once it has ended. is_cancelled: True if nobody wants it any more.
    seconds: time that it has had.
    """

    def __init__(self, model: Hashable = None, is_urgent: bool = False) -> None:
        self.number = next(_numbers)
        self.model = model
        self.is_urgent = is_urgent
        self.done = 0
        self.total = 0
        self.unit = ""
        self.result: T | None = None
        self.error: Exception | None = None
        self.is_active = True
        self.is_cancelled = False
        self.seconds = 0.0
        self._wanted_by: dict[Hashable, float | None] = {}
        self._left_by: set[Hashable] = set()

    def show(self, done: int, total: int, unit: str) -> None:
        """Note the progress; raises Cancelled where nobody wants the job any more."""
        self.done, self.total, self.unit = done, total, unit
        if self.is_cancelled:
            raise Cancelled

    def want(self, session: Hashable) -> None:
        """A session wants this job, or is back; one that has left it does not return by itself."""
        if session not in self._left_by and not self.is_cancelled:
            self._wanted_by[session] = None

    def leave(self, session: Hashable) -> None:
        """A session no longer wants it; it ends soon if nobody else does."""
        self._left_by.add(session)
        self._wanted_by.pop(session, None)
        self.is_cancelled = self.is_active and not self._wanted_by

    def has_left(self, session: Hashable) -> bool:
        """True if the session has left the job."""
        return session in self._left_by

    def rejoin(self, session: Hashable) -> None:
        """A session that has left the job wants it again."""
        self._left_by.discard(session)
        self.want(session)

    def disconnect(self, session: Hashable) -> None:
        """A session has gone, and may come back."""
        if session in self._wanted_by:
            self._wanted_by[session] = time.monotonic()

    def is_wanted(self, grace_seconds: float) -> bool:
        """True if a session wants it that is connected, or went less than so long ago."""
        now = time.monotonic()
        gone = list(self._wanted_by.values())
        return any(moment is None or now - moment < grace_seconds for moment in gone)


class Jobs:
    """Threads that take steps of jobs in turn: urgent ones first, then the one that had least time.

    grace_seconds: a job ends when all sessions that want it have been gone for so long.
    """

    def __init__(
        self, name: str, *, n_threads: int = 1, grace_seconds: float = float("inf")
    ) -> None:
        self._grace_seconds = grace_seconds
        self._jobs: dict[Hashable, Job[Any]] = {}
        self._steps: dict[Job[Any], Steps] = {}
        self._running: set[Job[Any]] = set()
        self._lock = threading.Condition()
        for number in range(n_threads):
            threading.Thread(target=self._run, daemon=True, name=f"{name}-{number}").start()

    def ask(
        self,
        key: Hashable,
        steps: Callable[[Job[T]], Steps],
        session: Hashable,
        *,
        model: Hashable = None,
        is_urgent: bool = False,
    ) -> Job[T]:
        """The job of this key, started if there is none; one that failed or was left stays so.

        steps: a generator that sets the progress and the result of the job it is given.
        model: that it runs; another one has its turn only after a while, as loading takes time.
        """
        with self._lock:
            job = self._jobs.pop(key, None)
            if job is None:
                job = Job(model, is_urgent)
                job.seconds = min((other.seconds for other in self._steps), default=0.0)
                job.want(session)
                self._steps[job] = steps(job)
                self._forget_ended()
                self._lock.notify()
            elif job.is_active:
                job.want(session)
            self._jobs[key] = job  # last asked for, last forgotten
            return job

    def again(self, job: Job[Any], session: Hashable) -> None:
        """Let a session have a job again that it left, or that failed: the next `ask` does it."""
        with self._lock:
            job.rejoin(session)
            if job.error or job.is_cancelled:
                self._jobs = {key: other for key, other in self._jobs.items() if other is not job}

    def ahead(self, job: Job[Any]) -> int:
        """How many jobs have their turn before this one."""
        with self._lock:
            return sum(_turn(other) < _turn(job) for other in self._steps)

    def disconnect(self, session: Hashable) -> None:
        """A session has gone: its jobs end in a while, unless somebody else wants them."""
        with self._lock:
            for job in self._jobs.values():
                job.disconnect(session)

    def _forget_ended(self) -> None:
        ended = [key for key, job in self._jobs.items() if not job.is_active]
        for key in ended[:-MOST_ENDED]:
            del self._jobs[key]

    def _run(self) -> None:
        last: Job[Any] | None = None
        turn_ends = 0.0
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._steps.keys() - self._running)
                job = self._next(last, turn_ends)
                self._running.add(job)
                steps = self._steps[job]
            began = time.monotonic()
            is_over = self._step(job, steps)
            seconds = time.monotonic() - began
            job.seconds += seconds
            if last is None or job.model != last.model:  # its first step has loaded the model
                turn_ends = began + max(TURN_SECONDS, LOADING_SHARE * seconds)
            last = job
            with self._lock:
                self._running.remove(job)
                if is_over:
                    del self._steps[job]
                    job.is_active = False
                self._lock.notify()

    def _next(self, last: Job[Any] | None, turn_ends: float) -> Job[Any]:
        """The job whose turn it is."""
        waiting = self._steps.keys() - self._running
        job = min(waiting, key=_turn)
        if last is None or job.is_urgent or time.monotonic() > turn_ends:
            return job
        return min(
            (other for other in waiting if other.model == last.model), key=_turn, default=job
        )

    def _step(self, job: Job[Any], steps: Steps) -> bool:
        """Take one step of a job; True if it was the last."""
        job.is_cancelled |= not job.is_wanted(self._grace_seconds)
        if job.is_cancelled:
            return True
        try:
            next(steps)
        except StopIteration:
            return True
        except Cancelled:
            return True
        except Exception as error:  # the user's, or a bug: the thread goes on, and the page says it
            if not isinstance(error, ClsvizError):  # whose message may hold what a visitor sent
                _log.exception("job %d", job.number)
            job.error = error
            return True
        return False


def _turn(job: Job[Any]) -> tuple[bool, float, int]:
    return not job.is_urgent, job.seconds, job.number
