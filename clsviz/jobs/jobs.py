"""Work in the background, shared by all who ask for the same."""

import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Hashable
from typing import Any, Generic, TypeAlias, TypeVar

from clsviz import limits
from clsviz.errors import ClsvizError, SettingError
from clsviz.progress import Cancelled

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, None]
"""The steps of a job: where it yields, other jobs have their turn."""

MOST_ENDED = 32
"""Jobs that are remembered after their end."""

TURN_SECONDS = 5.0
LOADING_SHARE = 5.0
"""A model has a turn of so many seconds at least, and of so many times the time of loading it."""

GRACE_SECONDS = 60.0
"""In public mode a job ends when the sessions that want it have been gone for so long."""

LEFT = -math.inf
"""The time until which a session wanted a job that it has left."""

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class Job(Generic[T]):
    """One piece of work.

    done, total, unit: its progress. result: as far as there is one. error: what ended it, or None.
    is_active: False once it has ended. is_cancelled: True if nobody wants it any more.
    seconds: time that it has had. ends: when it has had too much.
    head_start: time that counts as if it had had it.
    wanted_until: by session, infinite while it is connected, LEFT once it has left the job.
    """

    def __init__(
        self, model: Hashable = None, is_urgent: bool = False, head_start: float = 0.0
    ) -> None:
        self.number = next(_numbers)
        self.model, self.is_urgent, self.head_start = model, is_urgent, head_start
        self.done, self.total, self.unit = 0, 0, ""
        self.result: T | None = None
        self.error: Exception | None = None
        self.is_active = True
        self.is_cancelled = False
        self.seconds = 0.0
        self.ends = math.inf
        self.wanted_until: dict[Hashable, float] = {}

    @property
    def turn(self) -> tuple[bool, float, int]:
        """Jobs have their turns in the order of these: urgent ones, then those of least time."""
        return not self.is_urgent, self.head_start + self.seconds, self.number

    @property
    def is_wanted(self) -> bool:
        """True if a session wants it that is connected, or has not been gone for long."""
        return max(self.wanted_until.values(), default=LEFT) > time.monotonic()

    def show(self, done: int, total: int, unit: str) -> None:
        """Note the progress; raises Cancelled where nobody wants the job any more.

        Raises SettingError where it takes longer than the server has for it.
        """
        self.done, self.total, self.unit = done, total, unit
        self.is_cancelled |= bool(self.wanted_until) and not self.is_wanted
        if self.is_cancelled:
            raise Cancelled
        if time.monotonic() > self.ends:
            most = limits.number("job_seconds")
            reason = f"This takes longer than the {most:,g} seconds that the server has for it."
            remedy = "Choose a smaller sample. Run clsviz on your own machine for it."
            raise SettingError(reason, remedy)

    def want(self, session: Hashable) -> None:
        """A session wants this job, or is back; one that has left it does not return by itself."""
        if not self.is_cancelled and not self.has_left(session):
            self.wanted_until[session] = math.inf

    def is_wanted_by(self, session: Hashable) -> bool:
        """True if the session wants the job, and has not left it."""
        return self.wanted_until.get(session, LEFT) > LEFT

    def leave(self, session: Hashable) -> None:
        """A session no longer wants it; it ends soon if nobody else does."""
        self.wanted_until[session] = LEFT
        self.is_cancelled = self.is_active and not self.is_wanted

    def has_left(self, session: Hashable) -> bool:
        """True if the session has left the job."""
        return self.wanted_until.get(session) == LEFT


class Jobs:
    """Threads that take steps of jobs in turn; limits of a server hold for each session and job."""

    def __init__(self, name: str, *, n_threads: int = 1) -> None:
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
        A session that has too many leaves the one that was asked for longest ago.
        """
        with self._lock:
            job = self._jobs.pop(key, None)
            if job is None:
                job = Job(model, is_urgent, min((j.turn[1] for j in self._steps), default=0.0))
                self._steps[job] = steps(job)
                ended = [key for key, other in self._jobs.items() if not other.is_active]
                for old in ended[:-MOST_ENDED]:
                    del self._jobs[old]
                self._lock.notify()
            if job.is_active:
                job.want(session)
            active = [other for other in self._jobs.values() if other.is_active]
            others = [other for other in active if other.is_wanted_by(session)]
            while others and len(others) >= limits.number("jobs"):
                others.pop(0).leave(session)
            self._jobs[key] = job  # last asked for, last forgotten
            return job

    def again(self, job: Job[Any], session: Hashable) -> None:
        """Let a session have a job again that it left, or that failed: the next `ask` does it."""
        with self._lock:
            job.wanted_until.pop(session, None)
            job.want(session)
            if job.error or job.is_cancelled:
                self._jobs = {key: other for key, other in self._jobs.items() if other is not job}

    def ahead(self, job: Job[Any]) -> int:
        """How many jobs have their turn before this one."""
        with self._lock:
            return sum(other.turn < job.turn for other in self._steps)

    def disconnect(self, session: Hashable) -> None:
        """A session has gone: in public mode its jobs end in a while, if no other wants them."""
        seconds = GRACE_SECONDS if limits.is_public() else math.inf
        with self._lock:
            for job in self._jobs.values():
                if job.is_wanted_by(session):
                    job.wanted_until[session] = time.monotonic() + seconds

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
        waiting = sorted(self._steps.keys() - self._running, key=lambda job: job.turn)
        if last is None or waiting[0].is_urgent or time.monotonic() > turn_ends:
            return waiting[0]
        return next((job for job in waiting if job.model == last.model), waiting[0])

    def _step(self, job: Job[Any], steps: Steps) -> bool:
        """Take one step of a job; True if it was the last."""
        job.ends = time.monotonic() + limits.number("job_seconds") - job.seconds
        try:
            job.show(job.done, job.total, job.unit)
            next(steps)
        except (StopIteration, Cancelled):
            return True
        except Exception as error:  # the user's, or a bug: the thread goes on, and the page says it
            if not isinstance(error, ClsvizError):  # whose message may hold what a visitor sent
                _log.exception("job %d", job.number)
            job.error = error
            return True
        return False
