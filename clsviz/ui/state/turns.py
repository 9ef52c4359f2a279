"""How many runs of pages go on at once: many at once would take Python from each other, and from what is measured."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 5.0
"""Whoever has waited for so long goes on without a turn: those who have them may be held up."""

LONGEST_REST_SECONDS = 0.25
"""The longest rest after a turn."""


class Turns:
    """Lets so many threads in at the same time; the others wait. Safe to share between threads.

    Each turn may be followed by a rest: a crowd that waits for something then leaves it most of the interpreter's time,
    and has it sooner.
    """

    def __init__(
        self,
        n: int,
        patience_seconds: float = PATIENCE_SECONDS,
        rest: Callable[[], float] = lambda: 0,
    ) -> None:
        """n: how many threads. patience_seconds: how long the others wait at most.

        rest: how many times as long as a turn took the processor the rest after it is; asked at the end of each.
        """
        self._free = threading.Semaphore(n)
        self._patience_seconds = patience_seconds
        self._rest = rest
        self._rests_until = 0.0
        self._resting = threading.Lock()
        self._own = threading.local()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Take a turn for as long as the block lasts, unless this thread has one already."""
        if self._has_one:
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Leave the turn to others for as long as the block lasts, which only waits."""
        had_one = self._has_one
        self._give_back()
        try:
            yield
        finally:
            if had_one:
                self._take()

    @property
    def _has_one(self) -> bool:
        return getattr(self._own, "has_one", False)

    def _take(self) -> None:
        self._own.has_one = self._free.acquire(timeout=self._patience_seconds)
        if self._has_one:
            time.sleep(max(0.0, self._rests_until - time.monotonic()))
        self._own.began = time.thread_time()

    def _give_back(self) -> None:
        if not self._has_one:
            return
        self._own.has_one = False
        try:
            seconds = min(self._rest() * (time.thread_time() - self._own.began), LONGEST_REST_SECONDS)
            with self._resting:
                self._rests_until = max(self._rests_until, time.monotonic() + seconds)
        finally:
            self._free.release()
