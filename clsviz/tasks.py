"""Analyses that take seconds: worked at in the background, step by step, for as long as somebody looks on."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from clsviz.errors import CancelledError, ClsvizError

_KEPT = 24
"""Tasks whose results stay in memory."""
_UNWATCHED_SECONDS = 5.0
"""How long a task goes on that nobody asks for any more: a control that is moved leaves many behind."""

_log = logging.getLogger(__name__)


class Task:
    """An analysis at work; its fields may be read by any thread, and are written by its own.

    result: what is known so far, or None while that is nothing. error: why there is no more.
    """

    def __init__(self, steps: Callable[[], Iterator[Any]]) -> None:
        self.result: Any = None
        self.error: ClsvizError | None = None
        self.is_done = False
        self.is_at_work = False
        self.watched = time.monotonic()
        self._steps = steps

    def work(self) -> None:
        """Take all steps, unless nobody looks on any more."""
        try:
            for result in self._steps():
                self.result = result
                if time.monotonic() - self.watched > _UNWATCHED_SECONDS:
                    return
        except CancelledError:
            return
        except ClsvizError as error:
            self.error = error
        except Exception:
            _log.exception("An analysis failed")
            self.error = ClsvizError("Something unexpected went wrong, and the server's log says what. Try again.")
        self.is_done = True


class Tasks:
    """The analyses of one server: those who ask the same share one, and one is worked at after another."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[Hashable, Task] = OrderedDict()
        self._working = threading.Lock()
        self._lock = threading.Lock()

    def open(self, key: Hashable, steps: Callable[[], Iterator[Any]]) -> Task:
        """The task of `key`, which goes on for a while after every call.

        steps: gives results, each of which takes the place of the one before. One that nobody looked on at begins anew.
        """
        with self._lock:
            task = self._tasks.setdefault(key, Task(steps))
            self._tasks.move_to_end(key)
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
            task.watched = time.monotonic()
            if not task.is_done and not task.is_at_work:
                task.is_at_work = True
                threading.Thread(target=self._work, args=[task], name="analyse", daemon=True).start()
        return task

    def _work(self, task: Task) -> None:
        with self._working:  # one after another, as each takes all processors
            if time.monotonic() - task.watched <= _UNWATCHED_SECONDS:
                task.work()
        task.is_at_work = False
