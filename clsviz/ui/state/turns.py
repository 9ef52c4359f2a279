"""How many runs of pages go on at once: many at once would take Python from each other, and from what is measured."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 5.0
"""Whoever has waited for so long goes on without a turn: those who have them may be held up."""


class Turns:
    """Lets so many threads in at the same time; the others wait. Safe to share between threads."""

    def __init__(self, n: int, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """n: how many threads. patience_seconds: how long the others wait at most."""
        self._free = threading.Semaphore(n)
        self._patience_seconds = patience_seconds
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

    def _give_back(self) -> None:
        if self._has_one:
            self._own.has_one = False
            self._free.release()
