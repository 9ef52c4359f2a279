"""The process that holds the models: the server stays light, and survives a model that fails."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import ModelError, NoCls, NotMeasured, quote
from clsviz.measurements import Arrays, Emitted, Kind
from clsviz.progress import Progress, silent
from clsviz.settings import Precision
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.sources.pipeline import Pipeline
from clsviz.sources.sentences import n_words

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


Encode: TypeAlias = Callable[[list[str]], Any]
"""A function from texts to an array (n, width)."""


class InProcess:
    """Runs models in this process: for a command, and a notebook."""

    def find(self, name: str, seed: int = 0, progress: Progress = silent) -> Weights:
        """The model of a name; see `models.find`."""
        return models.find(name, seed, progress)

    def load(self, weights: Weights, precision: Precision, kind: Kind = "norms") -> None:
        """Load what measures a kind, unless it is loaded; raises ModelError or SettingError."""
        self._call(_load, weights, precision, kind)

    def run(
        self,
        weights: Weights,
        precision: Precision,
        sentences: Sequence[str],
        kind: Kind,
        prompt: str = "",
    ) -> Arrays:
        """Measure sentences, with a prompt before each; raises ModelError."""
        return self._call(_run, weights, precision, list(sentences), kind, prompt)

    def dissect(
        self, weights: Weights, precision: Precision, text: str, has_attention: bool = True
    ) -> Anatomy:
        """The model in parts, and a text in it; raises ModelError."""
        return self._call(_dissect, weights, precision, text, has_attention)

    def _call(self, function: Callable[..., T], weights: Weights, *rest: Any) -> T:
        """The answer of a function on a model."""
        return function(weights, *rest)


class Functions(InProcess):
    """Functions from texts to vectors, by names; models of other names run as ever.

    encode: takes a list of texts, and returns an array (n, width). encode_query: the same of
    queries; None where they are as texts. count_tokens: of a text; None counts words, or characters
    of scripts without spaces.
    """

    def __init__(
        self,
        functions: Mapping[str, Encode],
        encode_query: Encode | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        self._functions, self._encode_query = functions, encode_query
        self._count = count_tokens or n_words
        self._widths: dict[str, int] = {}

    def find(self, name: str, seed: int = 0, progress: Progress = silent) -> Weights:
        """The function of a name, tried on a text; raises ModelError where it is of no use."""
        if name not in self._functions:
            return super().find(name, seed, progress)
        kinds: list[Kind] = ["text", "query"] if self._encode_query else ["text"]
        widths = [self._vectors(name, ["A short text."], kind).shape[1] for kind in kinds]
        recipe = repr((name, widths, self._count is n_words)).encode()
        steps = ("encode_query",) * bool(self._encode_query) + ("encode",)
        steps += ("words",) * (self._count is n_words)
        return Weights(
            name,
            name,
            Path(os.devnull),
            hashlib.sha256(recipe).hexdigest()[:16],
            pipeline=Pipeline(steps=steps),
            no_cls="is a function, without [CLS]",
        )

    def load(self, weights: Weights, precision: Precision, kind: Kind = "norms") -> None:
        """Nothing is loaded for a function."""
        if weights.name not in self._functions:
            super().load(weights, precision, kind)

    def run(
        self,
        weights: Weights,
        precision: Precision,
        sentences: Sequence[str],
        kind: Kind,
        prompt: str = "",
    ) -> Arrays:
        """The vectors of texts by a function; raises ModelError."""
        if weights.name not in self._functions:
            return super().run(weights, precision, sentences, kind, prompt)
        if kind not in ("text", "query"):
            raise NoCls(f"{quote(weights.name)} {weights.no_cls}.", "Choose pipeline as pooling.")
        vectors = self._vectors(weights.name, [prompt + text for text in sentences], kind)
        try:
            n_tokens = np.array([int(self._count(text)) for text in sentences], np.int32)
        except (Exception, SystemExit) as error:  # the function is the user's
            reason = f"count_tokens fails: {type(error).__name__} {quote(error)}."
            raise ModelError(reason, "Return a whole number for a text.") from error
        return Emitted.arrays(vectors, n_tokens, np.zeros(len(sentences)))

    def _vectors(self, name: str, texts: list[str], kind: Kind) -> NDArray[np.float32]:
        """The vectors of texts; raises ModelError where they are none."""
        encode = (self._encode_query if kind == "query" else None) or self._functions[name]
        label, remedy = quote(name), "Return an array of a row of numbers for each text."
        try:
            values = np.asarray(encode(texts))
            vectors = np.asarray(values, np.float32)
        except (Exception, SystemExit) as error:  # the function is the user's
            reason = f"{label} fails: {type(error).__name__} {quote(error)}."
            raise ModelError(reason, remedy) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            shape = " × ".join(map(str, vectors.shape)) or "one number"
            raise ModelError(f"{label} returns {shape} for {len(texts):,} texts.", remedy)
        if not np.isfinite(np.linalg.norm(vectors, axis=1)).all():
            raise ModelError(f"{label} returns numbers that are not finite.", remedy)
        width = self._widths.setdefault(name, vectors.shape[1])
        if vectors.shape[1] != width:
            reason = f"{label} returns vectors of {width:,} and of {vectors.shape[1]:,} numbers."
            raise ModelError(reason, "Return as many numbers for every text.")
        return vectors


Runner: TypeAlias = InProcess
"""Runs models, in this process or elsewhere."""

IN_PROCESS: Final = InProcess()


class NoRunner(InProcess):
    """Runs no model: results are those that are stored; raises NotMeasured for others."""

    def find(self, name: str, seed: int = 0, progress: Progress = silent) -> Weights:
        """A model; its weights are not needed where its answers come with clsviz."""
        return models.record(name) or super().find(name, seed, progress)

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


def _load(weights: Weights, precision: Precision, kind: Kind) -> None:
    from clsviz.encoder.encoder import load_for

    load_for(kind, weights, precision)


def _run(
    weights: Weights, precision: Precision, sentences: list[str], kind: Kind, prompt: str
) -> Arrays:
    from clsviz.encoder.encoder import load_for

    return load_for(kind, weights, precision).run(sentences, kind, prompt)


def _dissect(weights: Weights, precision: Precision, text: str, has_attention: bool) -> Anatomy:
    from clsviz.encoder.anatomy import dissect
    from clsviz.encoder.encoder import load

    return dissect(load(weights, precision), text, has_attention)
