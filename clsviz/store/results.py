"""Expensive numbers: computed once, then stored."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import cachetools
import numpy as np

from clsviz.measurements import SCHEMA
from clsviz.store import sealed

T = TypeVar("T")

MEMORY_BYTES = 64 * 2**20


class Entry(NamedTuple, Generic[T]):
    """A result in memory."""

    value: T
    n_bytes: int


class Results:
    """Dataclasses of numbers and arrays, by key: in memory, in the store, or shipped.

    shipped: a second folder of the same form, which is never written.
    """

    def __init__(self, root: Path, shipped: Path | None = None) -> None:
        self.root = root
        self.shipped = shipped
        self._memory: cachetools.LRUCache[str, Entry[Any]] = cachetools.LRUCache(
            MEMORY_BYTES, getsizeof=lambda entry: entry.n_bytes
        )
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...], form: type[T], compute: Callable[[], T]) -> T:
        """The result of a key, computed where it is neither in memory nor stored.

        key: the question, what it is asked of, and the version of its answer.
        form: the dataclass of the result; its fields are numbers, text, None, tuples or arrays.
        """
        result = self.find(key, form)
        return (
            self._remember(_name(key), self._write(_name(key), compute()))
            if result is None
            else result
        )

    def find(self, key: tuple[object, ...], form: type[T]) -> T | None:
        """The result of a key, as for `get`; None where it is neither in memory nor stored."""
        name = _name(key)
        with self._lock:
            entry: Entry[T] | None = self._memory.get(name)
        if entry is not None:
            return entry.value
        stored = self._read(name, form)
        return None if stored is None else self._remember(name, _entry(stored))

    def _remember(self, name: str, entry: Entry[T]) -> T:
        with self._lock, contextlib.suppress(ValueError):  # it is larger than the memory
            self._memory[name] = entry
        return entry.value

    def _read(self, name: str, form: type[T]) -> T | None:
        """A stored result; a damaged one is none, and is written again."""
        for root in filter(None, (self.shipped, self.root)):
            content = sealed.read(_path(root, name))
            if content is not None and content[1].get("name") == name:
                arrays, about = content
                numbers = json.loads(about["numbers"]).items()
                rest = {key: tuple(n) if isinstance(n, list) else n for key, n in numbers}
                with contextlib.suppress(TypeError):  # of a version with other fields
                    return form(**rest, **arrays)
        return None

    def _write(self, name: str, result: T) -> Entry[T]:
        values = {field.name: getattr(result, field.name) for field in fields(result)}  # type: ignore[arg-type]
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        numbers = {key: value for key, value in values.items() if key not in arrays}
        about = {"name": name, "numbers": json.dumps(numbers)}
        sealed.write(_path(self.root, name), arrays, about)
        return _entry(result)


def _name(key: tuple[object, ...]) -> str:
    return hashlib.sha256(json.dumps([SCHEMA, *key], default=str).encode()).hexdigest()[:24]


def _path(root: Path, name: str) -> Path:
    return root / "results" / f"{name}.safetensors"


def _entry(result: T) -> Entry[T]:
    values = [getattr(result, field.name) for field in fields(result)]  # type: ignore[arg-type]
    n_bytes = sum(value.nbytes for value in values if isinstance(value, np.ndarray))
    return Entry(result, 1000 + n_bytes)
