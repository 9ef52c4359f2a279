"""Encoders: in this process, or in one of their own that a server starts.

Python runs one thread of a process at a time, so pages and measurements would take it from each other. In two processes
the system divides the processors between them, the server never imports torch, and a model that the memory cannot hold
takes only the worker with it, which starts again with the next question.
"""

import ctypes
import functools
import gc
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import psutil
from cachetools import LRUCache

from clsviz import encoder
from clsviz.errors import ModelError
from clsviz.measurements import DEALT, KINDS, Kind, Measurements, PooledVectors
from clsviz.processes import end_with
from clsviz.settings import Alteration, Pooling, Precision
from clsviz.sources.models import Weights

if TYPE_CHECKING:
    import numpy as np
    from loky import ProcessPoolExecutor
    from numpy.typing import NDArray

    from clsviz.encoder import Anatomy, Encoder

    Floats = NDArray[np.float32]

T = TypeVar("T")

HUNG_TIMES, HUNG_SECONDS = 20, 120.0
"""A call that takes so many times as long as expected, and at least so many seconds, has hung."""

SLICE_SECONDS = 1.0
"""About how long a call of a measurement takes: a visitor's own sentences wait for no more than that."""

_FIRST_SLICE = 64
"""Sentences of a slice while the speed is not known."""

_IDLE_SECONDS, _SMALL_MEMORY = 60, 4 * 2**30
"""With less memory than that, a worker without work ends after a minute; with more, it keeps its models."""

_TRIM_SECONDS = 10.0
"""After so long without a call the worker gives freed memory back; a crowd's calls follow each other sooner."""

_FACTS = "max_length", "n_layers", "has_pooler", "layer_norms", "slow_path_reason", "drawn"
"""Of an encoder, known here once it is loaded there."""


class WorkerLostError(ModelError):
    """The worker ended or hung before it answered."""

    def __init__(self) -> None:
        super().__init__(
            "The process that runs the models ended before its time, most likely because memory ran out. Try again, or "
            "choose a smaller model."
        )


class Encoders:
    """The encoders of this process: the most recently used ones, up to a capacity. Safe to share between threads."""

    pid: int | None = None
    """The process that holds them, if it is not this one."""

    def __init__(self, capacity: int = 2) -> None:
        self._loaded: LRUCache[tuple[str, Precision], Encoder] = LRUCache(capacity)
        self._lock = threading.RLock()

    def get(self, weights: Weights, precision: Precision = Precision.EXACT) -> "Encoder":
        """The encoder with these weights, loaded if necessary; raises ModelError where that fails."""
        if weights.imported:
            raise weights.imported.no_model
        with self._lock:  # held while loading, so that no model is loaded twice
            key = weights.identity, precision
            if key not in self._loaded:
                while len(self._loaded) >= self._loaded.maxsize:  # before another takes its memory
                    self._loaded.popitem()
                self._loaded[key] = encoder.Encoder(weights, precision)
            return self._loaded[key]

    def has(self, weights: Weights, precision: Precision = Precision.EXACT) -> bool:
        """True if the encoder with these weights is in memory."""
        return (weights.identity, precision) in self._loaded

    def product_rate(self, seconds: float) -> float:
        """Floating-point operations per second of a large float32 product, measured for so many seconds."""
        return encoder.product_rate(seconds)

    def close(self) -> None:
        """End what holds them."""


class RemoteEncoders(Encoders):
    """Encoders in one worker process, which loky starts with the first call, and again if it has ended.

    The executor is held here: loky's reusable one is another, with a process of its own, in each thread that asks.
    """

    def __init__(self, capacity: int = 2) -> None:
        self._capacity = capacity
        self._facts: dict[tuple[str, Precision, Alteration | None, int], dict[str, Any]] = {}
        self._lock = threading.RLock()
        self._executor: ProcessPoolExecutor | None = None
        self.pid = None

    def get(self, weights: Weights, precision: Precision = Precision.EXACT) -> "Encoder":
        """As `Encoders.get`; also raises WorkerLostError."""
        if weights.imported:
            raise weights.imported.no_model
        return cast("Encoder", self.load(weights, precision))

    def load(
        self, weights: Weights, precision: Precision, alteration: Alteration | None = None, seed: int = 0
    ) -> "RemoteEncoder":
        """An encoder that is loaded there, and changes sentences before it reads them if an alteration is given."""
        key = weights.identity, precision, alteration, seed
        remote = RemoteEncoder(self, weights, precision, alteration, seed)
        with self._lock:
            if not self.has(weights, precision):
                self._facts.clear()
            if key not in self._facts:
                n_others = len({other[:2] for other in self._facts} - {key[:2]})
                if n_others >= self._capacity:  # the worker drops the least recently used one, which is loaded again
                    self._facts.clear()
                self._facts[key] = remote.call("facts")
            vars(remote).update(self._facts[key])
        return remote

    def has(self, weights: Weights, precision: Precision = Precision.EXACT) -> bool:
        """True if the encoder with these weights is in the worker's memory."""
        is_known = any(key[:2] == (weights.identity, precision) for key in self._facts)
        return is_known and self.pid is not None and psutil.pid_exists(self.pid)

    def product_rate(self, seconds: float) -> float:
        """As `Encoders.product_rate`, in the worker."""
        return self.run(_product_rate, seconds, seconds=seconds)

    def run(self, function: Callable[..., T], *args: object, seconds: float = 1.0) -> T:
        """The result of a function in the worker; raises what it raises, and WorkerLostError where that ends or hangs.

        seconds: about how long it takes.
        """
        from loky.process_executor import ShutdownExecutorError

        try:
            self.pid, result = self._submit(function, *args).result(max(HUNG_SECONDS, HUNG_TIMES * seconds))
        except TimeoutError as error:
            self.close()
            raise WorkerLostError from error
        except (BrokenExecutor, ShutdownExecutorError) as error:  # the latter where another thread closed it
            raise WorkerLostError from error
        return result

    def call(self, key: tuple[object, ...], method: str, *args: object, seconds: float = 1.0) -> Any:
        """What a method of the encoder of that key returns."""
        return self.run(_call, *key, method, args, seconds=seconds)

    def close(self) -> None:
        """Kill the worker, if there is one; another call starts another one."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(wait=False, kill_workers=True)
            self._executor = self.pid = None

    def _submit(self, function: Callable[..., T], *args: object) -> "Future[tuple[int, T]]":
        with self._lock:
            if self._executor is not None:
                with suppress(BrokenExecutor):  # the first submission after a worker was killed fails
                    return cast("Future[tuple[int, T]]", self._executor.submit(_run, function, *args))
            from loky import ProcessPoolExecutor

            is_small = psutil.virtual_memory().total < _SMALL_MEMORY
            self._executor = ProcessPoolExecutor(
                max_workers=1,
                timeout=_IDLE_SECONDS if is_small else None,
                initializer=_begin_worker,
                initargs=(os.getpid(), self._capacity),
                # loky takes a model that a later call loads for a leak, and would replace the worker.
                env={"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"},
            )
            return cast("Future[tuple[int, T]]", self._executor.submit(_run, function, *args))


def _remote(method: str) -> Any:
    """A method that the encoder in the worker has; `Encoder` says what it takes and returns."""

    def ask(encoder: "RemoteEncoder", *args: object) -> Any:
        return encoder.call(method, *args)

    return ask


class RemoteEncoder:
    """An encoder in the worker; safe to share between threads. See `Encoder` for what it has and does.

    Every method also raises WorkerLostError.
    """

    tokens, framed_tokens = _remote("tokens"), _remote("framed_tokens")
    measure, means, vectors, seconds_for = map(_remote, ("measure", "means", "vectors", "seconds_for"))
    cls_and_pooler, cls_by_layer, pooler_steps = map(_remote, ("cls_and_pooler", "cls_by_layer", "pooler_steps"))

    max_length: int
    n_layers: int
    has_pooler: bool
    layer_norms: "Floats"
    slow_path_reason: str
    drawn: str

    def __init__(
        self,
        encoders: RemoteEncoders,
        weights: Weights,
        precision: Precision,
        alteration: Alteration | None,
        seed: int,
    ) -> None:
        self.weights, self.precision = weights, precision
        self._encoders, self._key = encoders, (weights, precision, alteration, seed)
        self._rate = 0.0

    def call(self, method: str, *args: object, seconds: float = 1.0) -> Any:
        """What a method of the encoder returns; asked once more where the worker is lost."""
        try:
            return self._encoders.call(self._key, method, *args, seconds=seconds)
        except WorkerLostError:
            return self._encoders.call(self._key, method, *args, seconds=seconds)

    @functools.cached_property
    def anatomy(self) -> "Anatomy":
        """What the model is made of, and how it reads a sentence."""
        anatomy: Anatomy = self.call("anatomy")
        return anatomy

    def altered(self, alteration: Alteration, seed: int) -> "RemoteEncoder":
        """One that changes every sentence before it reads it."""
        return self._encoders.load(self.weights, self.precision, alteration, seed)

    def pooled(self, texts: Sequence[str], poolings: Sequence[Pooling], layer: int | None = None) -> PooledVectors:
        """The vectors of texts by some poolings after one layer."""
        vectors: PooledVectors = self.call("pooled", list(texts), list(poolings), layer, seconds=len(texts))
        return vectors

    def stream(
        self, parts: Iterable[Sequence[str]], on_batch: Callable[[int], None] | None = None, kind: Kind = Kind.NORMS
    ) -> Iterator[Measurements]:
        """Measure runs of sentences in slices of about SLICE_SECONDS: means in whole DEALT, vectors all at once."""
        method, n_done = {Kind.NORMS: "measure", Kind.VECTORS: "vectors", Kind.MEANS: "means"}[kind], 0
        for sentences in parts:
            measured: list[Any] = []
            at = 0
            while at < len(sentences):
                by_speed = max(_FIRST_SLICE, int(self._rate * SLICE_SECONDS))
                size = {
                    Kind.NORMS: by_speed,
                    Kind.VECTORS: len(sentences),
                    Kind.MEANS: max(1, by_speed // DEALT) * DEALT,
                }[kind]
                if kind is Kind.NORMS and size < len(sentences) - at < 2 * size:
                    # Two halves, not one slice and a few left over.
                    size = (len(sentences) - at + 1) // 2
                part = list(sentences[at : at + size])
                began = time.monotonic()
                measured.append(self.call(method, part, seconds=len(part) / (self._rate or len(part))))
                self._rate = len(part) / max(time.monotonic() - began, 1e-6)
                at, n_done = at + len(part), n_done + len(part)
                if on_batch is not None:
                    on_batch(n_done)
            yield measured[0] if len(measured) == 1 else KINDS[kind].concatenate(measured)


# What follows runs in the worker.


class _Worker:
    """What the worker holds: the encoders, and when it had its last call."""

    def __init__(self) -> None:
        self.encoders = Encoders()
        self.last_call = time.monotonic()
        self.is_trimmed = True

    def trim(self) -> None:
        """Give freed memory back when idle."""
        if not self.is_trimmed and time.monotonic() - self.last_call > _TRIM_SECONDS:
            self.is_trimmed = True
            with suppress(AttributeError, OSError, TypeError):  # only glibc has it
                ctypes.CDLL(None).malloc_trim(0)


@functools.cache
def _worker() -> _Worker:
    return _Worker()


def _begin_worker(parent: int, capacity: int) -> None:
    """Prepare the worker."""
    gc.set_threshold(200_000, 20, 20)  # libraries make millions of objects that stay
    _worker().encoders = Encoders(capacity)
    end_with(parent, _worker().trim)


def _run(function: Callable[..., T], *args: object) -> tuple[int, T]:
    """The number of this process, and what a function returns."""
    try:
        return os.getpid(), function(*args)
    except Exception as error:
        if isinstance(error, ImportError | MemoryError) or encoder.is_out_of_memory(error):
            traceback.print_exc()
            os._exit(1)  # where memory ran out, what was half imported stays so
        raise
    finally:
        _worker().last_call, _worker().is_trimmed = time.monotonic(), False


def _product_rate(seconds: float) -> float:
    return encoder.product_rate(seconds)


def _call(
    weights: Weights, precision: Precision, alteration: Alteration | None, seed: int, method: str, args: Sequence[Any]
) -> Any:
    """What a method of an encoder returns; “facts” and “anatomy” are what is known of it."""
    loaded = _worker().encoders.get(weights, precision)
    if alteration is not None:
        loaded = loaded.altered(alteration, seed)
    if method == "facts":
        return {name: getattr(loaded, name) for name in _FACTS}
    return loaded.anatomy if method == "anatomy" else getattr(loaded, method)(*args)
