"""How many runs of pages go on at once: many at once would take Python from each other."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 5.0
"""Whoever has waited for so long goes on without a turn: those who have them may be held up."""

NICENESS = 15
"""Of a run that gives way: it has a few hundredths of a processor that is measuring, and all of one that is idle."""


class Turns:
    """Lets so many threads in at the same time; the others wait. Safe to share between threads.

    A crowd that waits for what is measured has it sooner if its pages give way: their threads then come after those of
    the process that measures, where the system can tell them apart.
    """

    def __init__(
        self,
        n: int,
        patience_seconds: float = PATIENCE_SECONDS,
        give_way: Callable[[], bool] = lambda: False,
    ) -> None:
        """n: how many threads. patience_seconds: how long the others wait at most.

        give_way: whether the threads are to give way now; asked at the beginning of each turn.
        """
        self._free = threading.Semaphore(n)
        self._patience_seconds = patience_seconds
        self._give_way = give_way
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
        if self._give_way():
            come_after_others()

    def _give_back(self) -> None:
        if self._has_one:
            self._own.has_one = False
            self._free.release()


def come_after_others() -> None:
    """Let this thread have the processors after others do, for as long as it lives: every run of a page has its own."""
    if sys.platform == "linux":  # elsewhere it would be the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
