"""Analyses that take seconds: worked at in the background, step by step, for as long as somebody looks on."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from clsviz.errors import ClsvizError

T = TypeVar("T")


_KEPT = 24
"""Tasks whose results stay in memory."""


_UNWATCHED_SECONDS = 5.0
"""How long a task goes on that nobody asks for any more: a control that is moved leaves many behind."""


_log = logging.getLogger(__name__)


class Task(Generic[T]):
    """An analysis at work; its fields may be read by any thread, and are written by its own.

    result: what is known so far, or None while that is nothing. error: why there is no more.
    is_broken: whether that was no fault of what is analysed, so that another attempt may do better.
    """

    def __init__(self) -> None:
        self.result: T | None = None
        self.error: ClsvizError | None = None
        self.is_broken = False
        self.is_done = False
        self.is_at_work = False
        self.watched = time.monotonic()

    @property
    def is_unwatched(self) -> bool:
        """Whether nobody has asked for it for a while."""
        return time.monotonic() - self.watched > _UNWATCHED_SECONDS

    def work(self, steps: Callable[[], Iterator[T]]) -> None:
        """Take all steps, unless nobody looks on any more."""
        try:
            for result in steps():
                self.result = result
                if self.is_unwatched:
                    return
        except ClsvizError as error:
            self.error = error
        except Exception:
            _log.exception("An analysis failed")
            self.error = ClsvizError("Something unexpected went wrong, and the server's log says what. Try again.")
            self.is_broken = True
        self.is_done = True


class Tasks:
    """The analyses of one server: those who ask the same share one, and one is worked at after another."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[Hashable, Task[object]] = OrderedDict()
        self._working = threading.Lock()
        self._lock = threading.Lock()

    def open(self, key: Hashable, steps: Callable[[], Iterator[T]]) -> Task[T]:
        """The task of `key`, which goes on for a while after every call.

        steps: gives results, each of which takes the place of the one before; it is not kept longer than the work
        takes, as it may hold much. What nobody looked on at begins anew, and so does what broke, after a while.
        """
        with self._lock:
            task = self._tasks.get(key)
            if task is None or (task.is_broken and task.is_unwatched):
                task = Task()
            self._tasks[key] = task
            self._tasks.move_to_end(key)
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
            task.watched = time.monotonic()
            if not task.is_done and not task.is_at_work:
                task.is_at_work = True
                threading.Thread(target=self._work, args=[task, steps], name="analyse", daemon=True).start()
        return task  # type: ignore[return-value]  # of one key all results are of one type

    def _work(self, task: Task[T], steps: Callable[[], Iterator[T]]) -> None:
        with self._working:  # one after another, as each takes all processors
            if not task.is_unwatched:
                task.work(steps)
        task.is_at_work = False
