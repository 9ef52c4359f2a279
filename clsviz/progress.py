"""How far a long task has come, as plain fields that another thread may read, and a way to stop it."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from clsviz.errors import CancelledError

T = TypeVar("T")


class Progress:
    """The stage a task is in, and how far it has come: written by the thread that works, read by any other."""

    def __init__(self) -> None:
        self.stage = ""
        """What is being done, in words for the user."""
        self.done = 0
        self.total = 0
        """Units in the stage; 0 while their number is unknown."""
        self.unit = ""
        """What the units are, if the stage does not say: MB means 10^6 bytes."""
        self.rate = 0.0
        """Units per second since the stage began."""
        self._began = time.monotonic()
        self._start = 0
        self._cancelled = False

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        """Enter a stage of `total` units, `done` of which are finished; raises CancelledError if told to stop."""
        self.check()
        self.stage, self.total, self.done, self.rate, self.unit = stage, total, done, 0.0, unit
        self._began, self._start = time.monotonic(), done

    def advance(self, done: int) -> None:
        """Say that `done` units of the stage are finished; raises CancelledError if told to stop."""
        self.check()
        self.done = done
        self.rate = (done - self._start) / max(time.monotonic() - self._began, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the stage ends at its present rate, or None while that is unknown."""
        return (self.total - self.done) / self.rate if self.rate and self.total else None

    def cancel(self) -> None:
        """Tell the task to stop, which it does at its next call of `begin`, `advance` or `check`."""
        self._cancelled = True

    def check(self) -> None:
        """Raise CancelledError if `cancel` was called."""
        if self._cancelled:
            raise CancelledError("Stopped. What was measured so far is kept.")

    def rest(self) -> None:
        """Called wherever the task can be interrupted and loses nothing: a run of it begins again here."""
        self.check()


def interruptible(
    work: Callable[[], T], progress: Progress, *, daemon: bool = True, most_seconds: float = math.inf
) -> T:
    """Run `work` in a thread and return its result; raises what it raises, and CancelledError when `progress` stops.

    Raises TimeoutError after `most_seconds`. Then, and after a cancellation, the thread, which may be waiting for the
    network, is left to finish by itself. Use `daemon=False` for work that must not be running when the interpreter
    exits, such as torch.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again below, in the thread that waits
            future.set_exception(error)

    threading.Thread(target=run, name="interruptible", daemon=daemon).start()
    began = time.monotonic()
    while not wait([future], timeout=0.1).done:
        progress.check()
        if time.monotonic() - began > most_seconds:
            raise TimeoutError(f"it took over {most_seconds:.0f} s")
    return future.result()
