"""One piece of work in the background: watched, reported on and cancelled the same way whatever it is."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from clsviz.errors import CancelledError, ClsvizError, OutOfTimeError, Subject, TooManyError, UnexpectedError
from clsviz.jobs.estimate import Cost, Plan
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


class Watcher(Hashable, Protocol):
    """Who keeps a job going: a browser's session, say."""

    @property
    def is_connected(self) -> bool:
        """False once it has left, for good."""


@dataclass(frozen=True)
class _Asking:
    """Whoever asks again and again, until which time it counts as there."""

    until: float

    @property
    def is_connected(self) -> bool:
        return time.monotonic() < self.until


class _GaveWay(Exception):  # noqa: N818  (the job goes on later)
    """A job lets those of others run first."""


class Job(Progress, Generic[W_co]):
    """One piece of work, with its state. Its fields may be read by any thread; only its own thread writes them.

    work: what is done, and its results. cost: what it takes, once known; plan: more of that, of what waits to be
    started. error: why it failed.
    is_here: whether it takes nothing that came with clsviz.
    wanted: whether somebody asked for it even though it takes long. is_held: whether all who opened it want to look at
    the corpus first. is_refused: whether it would run if its visitors did not have as many jobs as they may.
    is_left: whether all who watched it have turned to others.
    queued_at: since when it waits for its turn. gives_way: whether it is to let others run first, which it does if it
    can_rest.
    """

    def __init__(
        self,
        work: W_co,
        grace_seconds: float | None,
        state: State = State.QUEUED,
        most_seconds: float | None = None,
        visitor: Hashable = None,
        *,
        can_rest: bool = False,
    ) -> None:
        """grace_seconds: how long it runs on with nobody watching; None means to its end.

        most_seconds: how long it may run; None means to its end. visitor: whose turns it takes before it is watched.
        can_rest: whether its work, run a second time, goes on where it was when it called `rest`.
        """
        super().__init__()
        self.work = work
        self.state = state
        self.cost: Cost | None = None
        self.plan: Plan | None = None
        self.error: ClsvizError | None = None
        self.wanted = False
        self.is_held = True
        self.is_here = False
        self.is_refused = False
        self.is_left = False
        self.queued_at = 0.0
        self.gives_way: Callable[[], bool] = lambda: False
        self._most_seconds = most_seconds
        self.can_rest = can_rest
        self._seconds_before = 0.0  # of the turns that it has had
        self.turn_began = 0.0
        self._is_running = False
        self._last_visitors: frozenset[Hashable] = frozenset([visitor])
        self._grace_seconds = grace_seconds
        self._watchers: dict[Hashable, tuple[Watcher, Hashable]] = {}  # each with the visitor whose turns it takes
        self._watching = threading.Lock()
        self._last_watched = time.monotonic()

    def watch(self, watcher: Watcher, visitor: Hashable = None) -> None:
        """Let `watcher` keep the job going for as long as it is connected, at the turns of `visitor`."""
        self._watch(watcher, watcher, visitor)

    def touch(self, seconds: float, visitor: Hashable = None) -> None:
        """Keep the job going for that long, on behalf of whoever asks again and again."""
        self._watch(("asked", visitor), _Asking(time.monotonic() + seconds), visitor)

    def _watch(self, name: Hashable, watcher: Watcher, visitor: Hashable) -> None:
        with self._watching:
            self._watchers = self._present() | {name: (watcher, visitor)}
            self.is_left = False
            self._last_watched = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether any of its watchers is still there."""
        return bool(self._present())

    @property
    def watchers(self) -> frozenset[Hashable]:
        """Those of its watchers who are still there."""
        return frozenset(self._present())

    @property
    def visitors(self) -> frozenset[Hashable]:
        """Those whose turns it takes: of its watchers, or of the last there were."""
        if visitors := frozenset(visitor for _, visitor in self._present().values()):
            self._last_visitors = visitors
        return self._last_visitors

    def leave(self, watcher: Hashable) -> None:
        """Take `watcher` away; the job is cancelled along with its last one."""
        if not self.look_away(watcher):
            self.cancel()

    def look_away(self, watcher: Hashable) -> bool:
        """Take `watcher` away, and let the job go on as if its page had been closed; returns whether any is left."""
        _ = self.visitors  # it goes on at their turns
        with self._watching:
            self._watchers = {name: other for name, other in self._present().items() if name != watcher}
            self.is_left = not self._watchers
            return not self.is_left

    def _present(self) -> dict[Hashable, tuple[Watcher, Hashable]]:
        return {name: other for name, other in self._watchers.items() if other[0].is_connected}

    def run(self) -> None:
        """Do the work, or some of it, as its state then says: QUEUED means that it gave way and is to run again."""
        try:
            with self.reporting():
                self.check()
                self.state = State.RUNNING
                self.turn_began, self._is_running = time.monotonic(), True
                self.work.run(self)
                self.state = State.DONE
        finally:
            self._seconds_before, self._is_running = self.seconds_run, False

    @property
    def seconds_run(self) -> float:
        """How long it has been running, all its turns together."""
        return self._seconds_before + (time.monotonic() - self.turn_began if self._is_running else 0.0)

    def rest(self) -> None:
        """Let others run first, if it is to."""
        super().rest()
        if self.can_rest and self.gives_way():
            raise _GaveWay

    def cancel(self) -> None:
        """Stop at once, as far as anybody can see; its thread follows at its next step."""
        super().cancel()
        if self.state.is_active or self.state is State.WAITING:
            self.state = State.CANCELLED

    def check(self) -> None:
        """Raise CancelledError if the job was cancelled, if nobody has watched it for a while, or if its time is up."""
        now = time.monotonic()
        if self.is_watched:
            self._last_watched = now
        elif self._grace_seconds is not None and now - self._last_watched > self._grace_seconds:
            self.cancel()
        super().check()
        if self._most_seconds is not None and self.seconds_run > self._most_seconds:
            raise OutOfTimeError(
                f"Stopped after {self._most_seconds:,.0f} s, which is as long as one run may take on this server. What "
                "was measured so far is kept."
            )

    @property
    def is_worth_another_try(self) -> bool:
        """Whether it ended early for a reason other than what was asked of it, and nobody is looking."""
        if isinstance(self.error, TooManyError) or (self.state is State.CANCELLED and self.error is None):
            return True
        is_our_fault = self.error is not None and self.error.subject is Subject.PROGRAM
        return not self.state.is_active and is_our_fault and not self.is_watched

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Turn whatever ends the block early into the job's state, for its watchers to see; the thread carries on."""
        try:
            yield
        except CancelledError as error:
            self.error = error if isinstance(error, OutOfTimeError) else None
            self.state = State.CANCELLED
        except ClsvizError as error:
            self.error = error
            self.state = State.FAILED
        except _GaveWay:
            if self.state is State.RUNNING:  # not cancelled meanwhile
                self.state = State.QUEUED
        except Exception:  # a fault of ours, which must not end the thread that runs all jobs
            _log.exception("A job failed: %s", self.work)
            self.error = UnexpectedError()
            self.state = State.FAILED


class Steps(Generic[T]):
    """Work that yields results, each of which replaces the one before. result: the latest, None before the first."""

    def __init__(self, steps: Callable[[Progress], Iterator[T]]) -> None:
        """steps: kept only until the work is done, because it may hold on to much; taken again after it gave way."""
        self.result: T | None = None
        self._steps: Callable[[Progress], Iterator[T]] | None = steps

    def run(self, progress: Progress) -> None:
        """Take all steps."""
        steps = self._steps
        assert steps is not None  # work is done once
        try:
            for result in steps(progress):
                self.result = result
                progress.check()
        finally:
            if not isinstance(sys.exception(), _GaveWay):
                self._steps = None
