"""Encoders in a process of their own: what they compute and the pages of a server do not wait for each other.

Python runs one thread of a process at a time. A crowd of visitors would take it from the measurement, and a measurement
from them; the system divides the processors between processes as it should. Whatever makes that process end, such as a
model that is too large for the memory, leaves this one as it is.
"""

import contextlib
import functools
import itertools
import json
import secrets
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clsviz import programs
from clsviz.encoder.serving import DONE, EACH, FAILED, KEY_BYTES, PART
from clsviz.errors import ModelError
from clsviz.measurements import Kind, Measurements
from clsviz.settings import Alteration, Precision
from clsviz.sources.models import Weights
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.encoder.anatomy import Anatomy

_END_SECONDS = 5.0
"""How long the process may take to end."""

_AHEAD = 2
"""How many runs of sentences the process has at a time: it tokenizes one while it computes another."""


class Process:
    """A process that holds encoders. It starts with the first question, and again if it has ended; thread-safe."""

    def __init__(self) -> None:
        self._running: _Running | None = None
        self._lock = threading.Lock()

    def encoder(self, weights: Weights, precision: Precision = Precision.EXACT) -> "EncoderApart":
        """As `Encoder`, loaded there; raises what it raises, and ModelError if the process ends meanwhile."""
        running = self._start()
        return EncoderApart(running, weights, precision, running.ask("load", weights, precision))

    def product_rate(self, seconds: float) -> float:
        """As the function of that name, in the process."""
        rate: float = self._start().ask("product_rate", seconds)
        return rate

    @property
    def pid(self) -> int | None:
        """The number of the process, if it runs."""
        running = self._running
        return running.pid if running and not running.has_ended else None

    def close(self) -> None:
        """End the process, and whatever goes on there; another question starts another one."""
        with self._lock:
            if self._running is not None:
                self._running.end()
            self._running = None

    def _start(self) -> "_Running":
        with self._lock:
            if self._running is not None and self._running.has_ended:
                self._running.end()
                self._running = None
            if self._running is None:
                self._running = _Running()
            return self._running


class EncoderApart:
    """An encoder in another process; safe to share between threads. See `Encoder` for what it has and does.

    Every method also raises ModelError where the process has ended.
    """

    max_length: int
    n_layers: int
    has_pooler: bool
    layer_norms: NDArray[np.float32]
    slow_path_reason: str

    def __init__(
        self, running: "_Running", weights: Weights, precision: Precision, told: tuple[int, dict[str, Any]]
    ) -> None:
        """told: its number there, and what is known of it."""
        self.weights, self.precision = weights, precision
        self._running = running
        self._number, facts = told
        vars(self).update(facts)
        weakref.finalize(self, running.forget, self._number)

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended."""
        return self._running.has_ended

    @functools.cached_property
    def anatomy(self) -> "Anatomy":
        """What the model is made of, and how it reads a sentence."""
        anatomy: Anatomy = self._running.ask("anatomy", self._number)
        return anatomy

    def altered(self, alteration: Alteration, seed: int) -> "EncoderApart":
        """One that changes every sentence before it reads it."""
        told = self._running.ask("altered", self._number, alteration, seed)
        return EncoderApart(self._running, self.weights, self.precision, told)

    def tokens(self, sentence: str) -> list[str]:
        """The tokens of the sentence, without special tokens, before truncation."""
        tokens: list[str] = self._call("tokens", sentence)
        return tokens

    def framed_tokens(self, sentence: str) -> list[tuple[str, int]]:
        """Every token the model reads, with its id: with special tokens, after truncation."""
        tokens: list[tuple[str, int]] = self._call("framed_tokens", sentence)
        return tokens

    def measure(self, sentences: Sequence[str]) -> Measurements:
        """The norms of each sentence."""
        measured: Measurements = self._call("measure", list(sentences))
        return measured

    def vectors(self, sentences: Sequence[str]) -> Vectors:
        """The vectors of each sentence, by pooling and layer."""
        measured: Vectors = self._call("vectors", list(sentences))
        return measured

    def stream(
        self, parts: Iterable[Sequence[str]], on_batch: Callable[[int], None] | None = None, kind: Kind = Kind.NORMS
    ) -> Iterator[Measurements]:
        """Measure several runs of sentences; whoever stops listening ends the work there after the next batch."""
        yield from self._running.stream(self._number, parts, on_batch, kind)

    def cls_and_pooler(self, sentences: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[CLS] after the last layer and the pooler output, exactly as computed."""
        both: tuple[NDArray[np.float32], NDArray[np.float32]] = self._call("cls_and_pooler", list(sentences))
        return both

    def cls_by_layer(self, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
        """[CLS] after every layer, exactly as computed."""
        layers: list[NDArray[np.float32]] = self._call("cls_by_layer", list(sentences))
        return layers

    def pooler_steps(self, cls: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """What the pooler makes of [CLS] vectors: after its dense layer, and after its activation."""
        steps: tuple[NDArray[np.float32], NDArray[np.float32]] | None = self._call("pooler_steps", cls)
        return steps

    def _call(self, method: str, *args: Any) -> Any:
        return self._running.ask("call", self._number, method, *args)


class _Running:
    """The process while it runs, and how to ask it."""

    def __init__(self) -> None:
        """Start it; raises ModelError where that fails."""
        self._dropped: deque[int] = deque()
        self._key = secrets.token_bytes(KEY_BYTES)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clsviz.encoder.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=programs.environment(),
        )
        assert self._process.stdin is not None  # since both are pipes
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(self._key)
            with self._process.stdout as stdout:
                self._address = json.loads(stdout.readline())
        except (OSError, ValueError) as error:
            self.end()
            raise _ended() from error

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def ask(self, name: str, *args: Any) -> Any:
        """What the `Shelf` of the process answers; raises what that raises, and ModelError if it cannot be reached."""
        with self._connect() as connection:
            self._send(connection, (self._forgotten(), name, *args))
            _, result = self._receive(connection)
            return result

    def stream(
        self, number: int, parts: Iterable[Sequence[str]], on_batch: Callable[[int], None] | None, kind: Kind
    ) -> Iterator[Measurements]:
        """What an encoder measures of each of the parts, in order."""
        coming = itertools.chain(map(list, parts), [None])
        with self._connect() as connection:
            self._send(connection, (self._forgotten(), "stream", number, kind))
            for sentences in itertools.islice(coming, _AHEAD):
                self._send(connection, sentences)
            while (answer := self._receive(connection))[0] != DONE:
                what, value = answer
                if what == PART:
                    for sentences in itertools.islice(coming, 1):
                        self._send(connection, sentences)
                    yield value
                elif on_batch is not None:
                    on_batch(value)

    def forget(self, number: int) -> None:
        """Let an encoder go, at the latest when the next one is loaded."""
        self._dropped.append(number)

    def end(self) -> None:
        """End it, and wait for that."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _forgotten(self) -> list[int]:
        """The numbers of the encoders that are wanted no more, each of them once."""
        numbers = []
        with contextlib.suppress(IndexError):
            while True:
                numbers.append(self._dropped.popleft())
        return numbers

    def _connect(self) -> "Connection[Any, Any]":
        try:
            return Client(self._address, authkey=self._key)
        except (EOFError, OSError, AuthenticationError) as error:
            raise _ended() from error

    def _send(self, connection: "Connection[Any, Any]", message: object) -> None:
        try:
            connection.send(message)
        except OSError as error:
            raise _ended() from error

    def _receive(self, connection: "Connection[Any, Any]") -> tuple[int, Any]:
        """An answer that is no error."""
        try:
            what, value = connection.recv()
        except (EOFError, OSError) as error:
            raise _ended() from error
        if what == FAILED:
            raise value
        if what in (EACH, PART, DONE):
            return what, value
        raise RuntimeError(f"In the process of the encoders:\n{value}")


def _ended() -> ModelError:
    return ModelError(
        "The process that runs the models ended before its time, most likely because memory ran out. Try again, or "
        "choose a smaller model."
    )
