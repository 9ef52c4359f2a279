"""Expensive numbers: computed once, then stored."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from clsviz import files
from clsviz.measurements import SCHEMA

T = TypeVar("T")


class Results:
    """Dataclasses of numbers and arrays, by key: in the store, or shipped.

    shipped: a second folder of the same form, which is never written.
    """

    def __init__(self, root: Path, shipped: Path | None = None) -> None:
        self.root = root
        self.shipped = shipped

    def get(self, key: tuple[object, ...], form: type[T], compute: Callable[[], T]) -> T:
        """The result of a key, computed where it is not stored.

        key: the question, what it is asked of, and the version of its answer.
        form: the dataclass of the result; its fields are numbers, text, None, tuples or arrays.
        """
        result = self.find(key, form)
        return self.put(key, compute()) if result is None else result

    def put(self, key: tuple[object, ...], result: T) -> T:
        """Store a result under a key; returns it."""
        values = vars(result)
        arrays = {field: value for field, value in values.items() if isinstance(value, np.ndarray)}
        numbers = {field: value for field, value in values.items() if field not in arrays}
        path = path_of(self.root, key)
        files.write_arrays(path, arrays, {"name": path.stem, "numbers": json.dumps(numbers)})
        return result

    def find(self, key: tuple[object, ...], form: type[T]) -> T | None:
        """The result of a key, as for `get`; None where it is not stored.

        A damaged one is none, nor is one of a version with other fields.
        """
        name = path_of(self.root, key).stem
        for root in filter(None, (self.shipped, self.root)):
            content = files.read_arrays(path_of(root, key))
            if content is not None and content[1].get("name") == name:
                arrays, about = content
                with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError):
                    numbers = json.loads(about["numbers"]).items()
                    rest = {field: tuple(n) if isinstance(n, list) else n for field, n in numbers}
                    return form(**rest, **arrays)
        return None


def path_of(root: Path, key: tuple[object, ...]) -> Path:
    """The file of a result in a store."""
    text = json.dumps([SCHEMA, *key], default=str)
    return root / "results" / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.safetensors"
