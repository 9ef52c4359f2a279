"""The process of encoders that another one asks: python -m clsviz.encoder.serving.

It reads a key from stdin, writes where it listens to stdout as JSON, and ends once stdin does. Every question has a
connection of its own, and a thread.
"""

import ctypes
import gc
import itertools
import json
import os
import queue
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from multiprocessing.util import get_temp_dir
from typing import TYPE_CHECKING, Any, NoReturn

from clsviz import encoder
from clsviz.errors import ClsvizError
from clsviz.measurements import Kind

if TYPE_CHECKING:
    from clsviz.encoder import Encoder

KEY_BYTES = 32

_IDLE_SECONDS = 10.0
"""After which freed memory is given back: a crowd’s measurements follow each other sooner."""

FACTS = "max_length", "n_layers", "has_pooler", "layer_norms", "slow_path_reason"
"""Of an encoder, told once it is loaded."""
EACH, PART, DONE, FAILED, BROKEN = range(5)
"""What an answer is: the number of sentences done, a part of the result, the rest of it, an error, a fault of ours."""


class Shelf:
    """The encoders of this process, by the numbers under which another one knows them."""

    def __init__(self) -> None:
        self._encoders: dict[int, Encoder] = {}
        self._numbers = itertools.count()
        self._trimming: threading.Timer | None = None

    def load(self, *args: Any) -> tuple[int, dict[str, Any]]:
        """Load one, and tell its number and what is to be known of it."""
        return self._put(encoder.Encoder(*args))

    def forget(self, numbers: Iterable[int]) -> None:
        """Let some go."""
        for number in numbers:
            del self._encoders[number]

    def altered(self, number: int, *args: Any) -> tuple[int, dict[str, Any]]:
        """As `load`, of one that changes the sentences."""
        return self._put(self._encoders[number].altered(*args))

    def anatomy(self, number: int) -> "encoder.Anatomy":
        """What the model of one is made of."""
        return self._encoders[number].anatomy

    def call(self, number: int, method: str, *args: Any) -> Any:
        """What a method of one returns."""
        return getattr(self._encoders[number], method)(*args)

    def product_rate(self, seconds: float) -> float:
        """How fast this machine multiplies."""
        return encoder.product_rate(seconds)

    def stream(self, connection: "Connection[Any, Any]", number: int, kind: Kind) -> None:
        """Measure the runs of sentences that come, up to None, and send each of the results."""
        coming: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()

        def receive() -> None:
            """Take what is sent at once, or each side could wait for the other to take something."""
            sentences = None
            with suppress(EOFError, OSError):
                while (sentences := connection.recv()) is not None:
                    coming.put(sentences)
            coming.put(None)

        threading.Thread(target=receive, name="receive", daemon=True).start()
        parts = iter(coming.get, None)
        try:
            for measured in self._encoders[number].stream(parts, lambda done: connection.send((EACH, done)), kind):
                connection.send((PART, measured))
        finally:  # also where whoever asked has left
            self._trim_later()

    def _trim_later(self) -> None:
        """Once nothing was measured for a while, give back the memory that was freed: `keep_freed_memory` keeps it."""
        if self._trimming is not None:
            self._trimming.cancel()
        self._trimming = threading.Timer(_IDLE_SECONDS, _trim)
        self._trimming.daemon = True
        self._trimming.start()

    def _put(self, loaded: "Encoder") -> tuple[int, dict[str, Any]]:
        number = next(self._numbers)
        self._encoders[number] = loaded
        return number, {name: getattr(loaded, name) for name in FACTS}


def _trim() -> None:
    with suppress(AttributeError, OSError, TypeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def answer(connection: "Connection[Any, Any]", shelf: Shelf) -> None:
    """Answer the question that comes."""
    with connection, suppress(EOFError, OSError):  # whoever asked has left
        forgotten, name, *args = connection.recv()
        shelf.forget(forgotten)
        ask: Callable[..., Any] = getattr(shelf, name)
        try:
            result = ask(connection, *args) if name == "stream" else ask(*args)
        except (EOFError, ConnectionError):
            raise
        except ClsvizError as error:
            connection.send((FAILED, error))
        except Exception as error:
            if isinstance(error, ImportError | MemoryError) or encoder.is_out_of_memory(error):
                _leave_behind()
            connection.send((BROKEN, traceback.format_exc()))  # a fault of ours: the other process logs it
        else:
            connection.send((DONE, result))


def main() -> None:
    """Answer until stdin ends, which it does with the process at its other end; nobody then waits for an answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process ends this one
    gc.set_threshold(200_000, 20, 20)  # libraries make millions of objects that stay
    shelf = Shelf()
    with Listener(authkey=sys.stdin.buffer.read(KEY_BYTES)) as listener:
        print(json.dumps(listener.address), flush=True)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads what else is printed
        threading.Thread(target=_listen, args=[listener, shelf], daemon=True).start()
        sys.stdin.buffer.read()
    _end(0)


def _leave_behind() -> NoReturn:
    """End, for the next one to start anew: where memory ran out what was half imported, say, stays so."""
    try:
        traceback.print_exc()
    finally:
        _end(1)


def _end(status: int) -> NoReturn:
    """End at once. What still computes is not waited for: a batch of a large model takes many seconds."""
    try:
        shutil.rmtree(get_temp_dir(), ignore_errors=True)  # where the listener is
    finally:
        os._exit(status)


def _listen(listener: Listener, shelf: Shelf) -> None:
    while True:
        try:
            with suppress(OSError, EOFError, AuthenticationError):
                connection = listener.accept()
                threading.Thread(target=answer, args=[connection, shelf], name="answer", daemon=True).start()
        except (MemoryError, RuntimeError):  # there can be no more threads
            _leave_behind()


if __name__ == "__main__":
    main()
