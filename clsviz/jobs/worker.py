"""The process that holds the models: the server stays light, and survives a model that fails."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import ModelError, NotMeasured
from clsviz.measurements import Arrays, Kind
from clsviz.settings import Precision
from clsviz.sources.models import Weights

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")

LOADING_SECONDS = 600.0
"""Far more than loading takes; a process that needs more hangs."""

HUNG_SECONDS = 300.0
"""Far more than a slice takes."""

IDLE_SECONDS = 600
"""After so long without work the process ends, and its memory is free."""

ENVIRONMENT = {
    "LOKY_MAX_MEMORY_LEAK_SIZE": "1e15",  # loading a model looks like a leak
    "OMP_WAIT_POLICY": "passive",  # threads that spin take the processor from the pages
}


class InProcess:
    """Runs models in this process: for a command, and a notebook."""

    def load(self, weights: Weights, precision: Precision) -> None:
        """Load a model, unless it is loaded; raises ModelError or SettingError."""
        self._call(_load, weights, precision)

    def run(
        self, weights: Weights, precision: Precision, sentences: Sequence[str], kind: Kind
    ) -> Arrays:
        """Measure sentences; raises ModelError."""
        return self._call(_run, weights, precision, list(sentences), kind)

    def dissect(
        self, weights: Weights, precision: Precision, text: str, has_attention: bool = True
    ) -> Anatomy:
        """The model in parts, and a text in it; raises ModelError."""
        return self._call(_dissect, weights, precision, text, has_attention)

    def _call(self, function: Callable[..., T], weights: Weights, *rest: Any) -> T:
        """The answer of a function on a model."""
        return function(weights, *rest)


Runner: TypeAlias = InProcess
"""Runs models, in this process or elsewhere."""

IN_PROCESS: Final = InProcess()


class NoRunner(InProcess):
    """Runs no model: results are those that are stored."""

    def _call(self, function: Callable[..., T], weights: Weights, *rest: Any) -> T:
        reason = f"{weights.label} has no stored measurements for this answer."
        raise NotMeasured(reason, "Open the answer’s page first.")


class Worker(InProcess):
    """Runs models in a process of their own, for one call at a time.

    Raises ModelError also where the process ends twice, or hangs.
    """

    def __init__(self, hung_seconds: float = HUNG_SECONDS) -> None:
        self.hung_seconds = hung_seconds
        self._executor: Executor | None = None

    def _call(self, function: Callable[..., T], weights: Weights, *rest: Any) -> T:
        from concurrent.futures.process import BrokenProcessPool

        from loky.process_executor import ShutdownExecutorError

        limit = LOADING_SECONDS if function is _load else self.hung_seconds
        for _ in range(2):  # after a kill the next call fails, too
            executor = self._executor = self._executor or _start()
            try:
                return executor.submit(_survive, function, weights, *rest).result(limit)
            except (BrokenProcessPool, ShutdownExecutorError):
                self._executor = None
            except TimeoutError:
                self._executor = None
                executor.shutdown(kill_workers=True)  # type: ignore[call-arg] # loky's own
                reason = f"{weights.label} did not answer for {limit:,.0f} s."
                raise ModelError(reason, "Measure again, or choose a smaller model.") from None
        reason = f"{weights.label} ended the process that ran it: memory may have run out."
        raise ModelError(reason, "Choose a smaller model.")


def _start() -> "Executor":
    """A process, not of `loky.get_reusable_executor`: that has one for each calling thread."""
    from loky import ProcessPoolExecutor

    executor: Executor = ProcessPoolExecutor(
        max_workers=1,
        timeout=IDLE_SECONDS,
        initializer=_begin,
        initargs=(os.getpid(),),
        env=ENVIRONMENT,
    )
    return executor


def _begin(parent: int) -> None:
    """Begin the life of the process: it ends with its parent, and Ctrl-C is the parent's."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _survive(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function; the process ends where it would not be whole afterwards."""
    try:
        return function(*arguments)
    except (MemoryError, ImportError):  # modules stay half imported
        os._exit(1)


def _load(weights: Weights, precision: Precision) -> None:
    from clsviz.encoder.encoder import load

    load(weights, precision)


def _run(weights: Weights, precision: Precision, sentences: list[str], kind: Kind) -> Arrays:
    from clsviz.encoder.encoder import load

    return load(weights, precision).run(sentences, kind)


def _dissect(weights: Weights, precision: Precision, text: str, has_attention: bool) -> Anatomy:
    from clsviz.encoder.anatomy import dissect
    from clsviz.encoder.encoder import load

    return dissect(load(weights, precision), text, has_attention)
