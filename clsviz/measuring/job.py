"""One piece of work in the background: watched, reported on and cancelled the same way whatever it is."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Generic, Protocol, TypeVar

from clsviz.errors import CancelledError, ClsvizError, Subject, UnexpectedError
from clsviz.measuring.estimate import Cost
from clsviz.progress import Progress

_log = logging.getLogger(__name__)

T = TypeVar("T")


class State(Enum):
    """Where a job stands."""

    LOOKING = "looking"  # reading what is stored
    WAITING = "waiting"  # for somebody to start it, because it would take long
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_active(self) -> bool:
        """Whether it will change without anybody doing anything."""
        return self in (State.LOOKING, State.QUEUED, State.RUNNING)


class Work(Protocol):
    """What a job does. It keeps its results itself, in fields that any thread may read."""

    def run(self, progress: Progress) -> object:
        """Do it; raises ClsvizError, and CancelledError soon after `progress` is cancelled."""


W_co = TypeVar("W_co", bound=Work, covariant=True)


class Job(Progress, Generic[W_co]):
    """One piece of work, with its state. Its fields may be read by any thread; only its own thread writes them.

    work: what is done, and its results. cost: what it takes, once known. error: why it failed.
    is_here: whether it takes nothing that came with clsviz.
    wanted: whether somebody asked for it even though it takes long. is_held: whether all who opened it want to look at
    the corpus first.
    """

    def __init__(self, work: W_co, grace_seconds: float | None, state: State = State.QUEUED) -> None:
        """grace_seconds: how long it runs on with nobody watching; None means to its end."""
        super().__init__()
        self.work = work
        self.state = state
        self.cost: Cost | None = None
        self.error: ClsvizError | None = None
        self.wanted = False
        self.is_held = True
        self.is_here = False
        self._grace_seconds = grace_seconds
        self._watchers: dict[Hashable, Callable[[], bool]] = {}
        self._watching = threading.Lock()
        self._last_watched = time.monotonic()

    def watch(self, watcher: Hashable, is_there: Callable[[], bool]) -> None:
        """Let `watcher` keep the job going for as long as `is_there()`."""
        with self._watching:
            self._watchers = {w: there for w, there in self._watchers.items() if there()} | {watcher: is_there}

    def touch(self, seconds: float) -> None:
        """Keep the job going for that long, on behalf of whoever asks again and again."""
        until = time.monotonic() + seconds
        self.watch("asked", lambda: time.monotonic() < until)

    @property
    def is_watched(self) -> bool:
        """Whether any of its watchers is still there."""
        return any(is_there() for is_there in self._watchers.values())

    def leave(self, watcher: Hashable) -> None:
        """Take `watcher` away; the job is cancelled along with its last one."""
        with self._watching:
            self._watchers = {w: there for w, there in self._watchers.items() if w != watcher and there()}
            is_last = not self._watchers
        if is_last:
            self.cancel()

    def cancel(self) -> None:
        """Stop at once, as far as anybody can see; its thread follows at its next step."""
        super().cancel()
        if self.state.is_active or self.state is State.WAITING:
            self.state = State.CANCELLED

    def check(self) -> None:
        """Raise CancelledError if the job was cancelled, or if nobody has watched it for a while."""
        now = time.monotonic()
        if self.is_watched:
            self._last_watched = now
        elif self._grace_seconds is not None and now - self._last_watched > self._grace_seconds:
            self.cancel()
        super().check()

    @property
    def is_worth_another_try(self) -> bool:
        """Whether it ended early for a reason other than what was asked of it, and nobody is looking."""
        if self.state is State.CANCELLED:
            return True
        is_our_fault = self.error is not None and self.error.subject is Subject.PROGRAM
        return self.state is State.FAILED and is_our_fault and not self.is_watched

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Turn whatever ends the block early into the job's state, for its watchers to see; the thread carries on."""
        try:
            yield
        except CancelledError:
            self.state = State.CANCELLED
        except ClsvizError as error:
            self.error = error
            self.state = State.FAILED
        except Exception:
            _log.exception("A job failed: %s", self.work)
            self.error = UnexpectedError()
            self.state = State.FAILED


class Steps(Generic[T]):
    """Work that yields results, each of which replaces the one before. result: the latest, None before the first."""

    def __init__(self, steps: Callable[[Progress], Iterator[T]]) -> None:
        """steps: kept only until the work is done, because it may hold on to much."""
        self.result: T | None = None
        self._steps: Callable[[Progress], Iterator[T]] | None = steps

    def run(self, progress: Progress) -> None:
        """Take all steps."""
        steps, self._steps = self._steps, None
        assert steps is not None  # work is done once
        for result in steps(progress):
            self.result = result
            progress.check()


class Lane:
    """A queue of jobs that one thread works through, one after another."""

    def __init__(self, name: str, on_end: Callable[[], None] = lambda: None) -> None:
        """on_end: called after every job."""
        self._jobs: list[Job[Work]] = []  # the one that is running comes first
        self._changed = threading.Condition()
        self._is_closed = False
        self._on_end = on_end
        # A daemon, so that the server can be stopped at any time.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, job: Job[Work]) -> None:
        """Queue a job."""
        with self._changed:
            job.state = State.QUEUED
            self._jobs.append(job)
            self._changed.notify()

    def n_ahead_of(self, job: Job[Work]) -> int:
        """How many jobs have to end before this one runs."""
        with self._changed:
            before = self._jobs[: self._jobs.index(job)] if job in self._jobs else []
            return sum(other.state.is_active for other in before)

    def close(self) -> None:
        """Cancel its jobs, and wait for the running one to stop: torch must not run while Python ends."""
        with self._changed:
            self._is_closed = True
            for job in self._jobs:
                job.cancel()
            self._changed.notify()
        self._thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                job = self._jobs[0]
            with job.reporting():
                job.check()
                job.state = State.RUNNING
                job.work.run(job)
                job.state = State.DONE
            with self._changed:
                self._jobs.remove(job)
            self._on_end()
