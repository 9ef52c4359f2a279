"""What all who look at the same share: computed once for all of them, and kept as long as there is room."""

import dataclasses
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar, cast

import numpy as np

T = TypeVar("T")


class Shared:
    """The values that were asked for last, up to a number of bytes. Safe to share between threads."""

    def __init__(self, most_bytes: int) -> None:
        """most_bytes: of all values together; only the newest may be larger on its own."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._computing: dict[Hashable, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def n_bytes(self) -> int:
        """How large the values are together."""
        return self._n_bytes

    def of(self, key: Hashable, compute: Callable[[], T], size: Callable[[T], int] | None = None) -> T:
        """The value known by `key`, computed if it is not there; whoever asks for it meanwhile waits for the same.

        size: how many bytes it takes, if `size_of` cannot tell.
        """
        with self._lock:
            if key in self._kept:
                return cast("T", self._known(key))
            computing = self._computing.setdefault(key, threading.Lock())
        with computing:
            with self._lock:
                if key in self._kept:
                    return cast("T", self._known(key))
            try:
                value = compute()
                n_bytes = (size or size_of)(value)
                with self._lock:
                    self._keep(key, value, n_bytes)
            finally:
                with self._lock:
                    self._computing.pop(key, None)
        return value

    def _known(self, key: Hashable) -> object:
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def _keep(self, key: Hashable, value: object, n_bytes: int) -> None:
        _, before = self._kept.pop(key, (None, 0))
        self._kept[key] = value, n_bytes
        self._n_bytes += n_bytes - before
        while self._n_bytes > self._most_bytes and len(self._kept) > 1:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._n_bytes -= dropped


def size_of(value: object) -> int:
    """How many bytes a value takes with all that it holds; what it holds twice counts twice."""
    if isinstance(value, np.ndarray):
        objects = value.flat if value.dtype.hasobject else ()
        return int(value.nbytes) + sum(map(size_of, objects))
    parts: list[object] = []
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = [*value]
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    return sys.getsizeof(value) + sum(map(size_of, parts))
