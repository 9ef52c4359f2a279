"""The one cache of results: in memory as many bytes as there is room for, and on disk those that take long to compute.

    <folder>/<digest of the key>-<digest of the file>.safetensors

A file holds a result as JSON and arrays, and the key that it was computed for. Results that come with clsviz are a
folder of such files that is only read. A damaged file, or one by another version, is ignored: its result is computed.
"""

import contextlib
import functools
import hashlib
import importlib
import json
import sys
import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from clsviz.atomic import mark_used, read_file, write_file
from clsviz.errors import StoreError

T = TypeVar("T")

Arrays = dict[str, NDArray[Any]]

MAX_BYTES = 128 * 2**20
"""In memory. What is drawn of 5,000 sentences takes 0.3 MB, of a million 20 MB."""

MAX_FILES = 1000
"""In a user's store; those that were longest unused are removed."""

CLASSES = {
    "clsviz.settings": "Pooling Unit Lengths NearDuplicates SimilarityFunction Task Fix",
    "clsviz.measurements": "Vectors Packed PooledVectors",
    "clsviz.statistics.line": "Fit Flat",
    "clsviz.statistics.means": "Averaging Trend",
    "clsviz.statistics.shape": "Extremes Quantiles Shape",
    "clsviz.statistics.probes": "Readout Reading CurvePoint Profile Projection",
    "clsviz.statistics.sentlen": "Result Code",
    "clsviz.statistics.dimensions": "Dimensions NormOf",
    "clsviz.statistics.erasure": "Left Erasure Remedy",
    "clsviz.statistics.similarity": "LengthBias Chance",
    "clsviz.statistics.exposure": "Fifth Ranking FixResult",
    "clsviz.analysis.layers": "SentLen NormBreakdown Projected",
    "clsviz.analysis.random_weights": "Draws RandomWeights",
    "clsviz.analysis.search": "Similarity Way Joined",
    "clsviz.analysis.search_test": "SearchTest Ranker Consequences Advice Correction Example FoundText Threshold "
    "Neighbours",
    "clsviz.analysis.typed": "TypedSentences Check OfLayer",
    "clsviz.encoder": "Anatomy Architecture TokenizerFacts SpecialToken PoolerWeights Parameter",
}
"""The classes of results by module, imported only when they are met: nothing else can come of a file."""

_MODULES = {name: module for module, names in CLASSES.items() for name in names.split()}

_LEFT_OUT = {("Reading", "predictions")}
"""One number per sentence and probe, which no page, table or command shows."""

_DAMAGE = (SafetensorError, LookupError, TypeError, ValueError, RecursionError, OverflowError)


@dataclass(frozen=True)
class ResultKey:
    """What a result is computed from, as JSON.

    is_bundled: whether only from what comes with clsviz, so that the result may come with it too. is_stored: whether
    the result may be written to disk.
    """

    text: str
    is_bundled: bool = False
    is_stored: bool = True

    @property
    def digest(self) -> str:
        """The beginning of the name of its file."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:24]


class ResultCache:
    """Results by key; safe to share between threads. Only those of a `ResultKey` are looked for, and kept, on disk."""

    def __init__(self, folder: Path | None = None, bundled: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        """folder: None to write nothing. bundled: a folder that is only read. max_bytes: of all results in memory."""
        self._folder, self._bundled, self._max_bytes = folder, bundled, max_bytes
        self._values: LRUCache[Hashable, tuple[Any, int]] = LRUCache(max_bytes, getsizeof=lambda entry: entry[1])
        self._in_flight: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result: from memory, from disk, or computed now. Whoever asks for it meanwhile waits for the same.

        What `compute` raises is for its caller alone.
        """
        while True:
            with self._lock:
                if key in self._values:
                    return cast("T", self._values[key][0])
                computing, own = self._in_flight.get(key), Future[T]()
                if computing is None:
                    self._in_flight[key] = own
                    break
            if computing.exception() is None:
                return cast("T", computing.result())
        try:
            value = self._read(key) if isinstance(key, ResultKey) else None
            if value is None:
                value = compute()
                self._write(key, value)
            self._remember(key, value)
        except BaseException as error:
            with self._lock:
                del self._in_flight[key]
            own.set_exception(error)
            raise
        with self._lock:
            del self._in_flight[key]
        own.set_result(value)
        return value

    def get(self, key: Hashable) -> Any:
        """The result, from memory or disk; None if there is none or it is damaged."""
        with self._lock:
            if key in self._values:
                return self._values[key][0]
        value = self._read(key) if isinstance(key, ResultKey) else None
        if value is not None:
            self._remember(key, value)
        return value

    def put(self, key: Hashable, value: object) -> None:
        """Keep a result that was computed elsewhere."""
        self._remember(key, value)
        self._write(key, value)

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._values or (isinstance(key, ResultKey) and self._path(key) is not None)

    def _remember(self, key: Hashable, value: object) -> None:
        n_bytes = size_of(value)
        with self._lock:  # one that is larger than all room takes all of it
            self._values[key] = value, min(n_bytes, self._max_bytes)

    def _path(self, key: ResultKey) -> Path | None:
        places = [(self._bundled, key)] if self._bundled and key.is_bundled else []
        if self._folder and key.is_stored:
            places.append((self._folder, _on_this_machine(key)))
        with contextlib.suppress(OSError):
            return next((path for folder, at in places for path in folder.glob(f"{at.digest}-*.safetensors")), None)
        return None

    def _read(self, key: ResultKey) -> Any:
        path = self._path(key)
        if path is None:
            return None
        with contextlib.suppress(OSError, *_DAMAGE):
            content = read_file(path)
            if path.stem.endswith(f"-{hashlib.sha256(content).hexdigest()[:16]}"):
                length = int.from_bytes(content[:8], "little")  # of the header, which the library has only for files
                about = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["clsviz"])
                value = from_json(about["result"], safetensors.load(content))
                if path.parent == self._folder:
                    mark_used(path)
                return value
        return None

    def _write(self, key: Hashable, value: object) -> None:
        if self._folder is None or not isinstance(key, ResultKey) or not key.is_stored or value is None:
            return
        with contextlib.suppress(StoreError, OSError):
            write(self._folder, _on_this_machine(key), value)
            paths = sorted(self._folder.glob("*.safetensors"), key=lambda path: path.stat().st_mtime)
            for path in paths[:-MAX_FILES]:
                path.unlink(missing_ok=True)


def write(folder: Path, key: ResultKey, value: object) -> Path:
    """Write a result into a folder, in place of an earlier one; raises StoreError, and TypeError if it is none."""
    arrays: Arrays = {}
    about = {"key": key.text, "result": to_json(value, arrays)}
    content = safetensors.save(arrays, metadata={"clsviz": json.dumps(about)})
    path = folder / f"{key.digest}-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    write_file(path, content)
    for before in folder.glob(f"{key.digest}-*.safetensors"):
        if before != path:
            before.unlink(missing_ok=True)
    return path


def _on_this_machine(key: ResultKey) -> ResultKey:
    """The key of a result computed here: it also depends on the code and the libraries, and on who measured."""
    return ResultKey(json.dumps({"asked": key.text, "shipped": key.is_bundled, "code": _code()}, sort_keys=True))


@functools.cache
def _code() -> str:
    """A digest of the code that computes results, and of the libraries it does so with."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*package.glob("statistics/**/*.py"), *package.glob("analysis/**/*.py"), *package.glob("*.py")]):
        digest.update(path.read_bytes())
    for library in ("numpy", "scipy", "scikit-learn", "statsmodels"):
        digest.update(f"{library} {version(library)}\n".encode())
    return digest.hexdigest()


def size_of(value: object) -> int:
    """How many bytes a value takes with all that it holds; what it holds twice counts twice."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes) + sum(map(size_of, value.flat if value.dtype.hasobject else ()))
    parts: list[object] = []
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = [*value]
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    return sys.getsizeof(value) + sum(map(size_of, parts))


def to_json(value: Any, arrays: Arrays) -> Any:
    """The value as JSON has it; the arrays in it are added to `arrays`. Raises TypeError for what is not listed."""
    if isinstance(value, Enum):
        return {"class": _listed(type(value)), "value": value.value}
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        name, stored = f"{len(arrays):04d}", value
        if value.dtype.kind == "i" and value.size:  # whole numbers in as few bytes as hold them
            sizes = (np.int8, np.int16, np.int32, np.int64)
            low, high = value.min(), value.max()
            stored = value.astype(next(n for n in sizes if np.iinfo(n).min <= low and high <= np.iinfo(n).max))
        arrays[name] = np.ascontiguousarray(stored)
        return {"array": name, "dtype": value.dtype.name}
    if isinstance(value, list):
        return [to_json(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(item, arrays) for item in value]}
    if isinstance(value, Mapping):
        return {"items": [[to_json(key, arrays), to_json(item, arrays)] for key, item in value.items()]}
    if type(value).__name__ == "DataFrame":
        # A column of no rows may have no type.
        columns = [(name, column.to_numpy() if len(column) else np.empty(0)) for name, column in value.items()]
        return {"table": [[name, to_json(column, arrays)] for name, column in columns]}
    if is_dataclass(value):
        name = _listed(type(value))
        names = [field.name for field in fields(value) if (name, field.name) not in _LEFT_OUT]
        return {"class": name, "fields": {field: to_json(getattr(value, field), arrays) for field in names}}
    raise TypeError(f"{type(value).__name__} is no part of a result")


def from_json(plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of `to_json`; raises KeyError, TypeError or ValueError for what it cannot have given."""
    if isinstance(plain, list):
        return [from_json(item, arrays) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays[plain["array"]].astype(plain["dtype"], copy=False)
    if "tuple" in plain:
        return tuple(from_json(item, arrays) for item in plain["tuple"])
    if "items" in plain:
        return {from_json(key, arrays): from_json(item, arrays) for key, item in plain["items"]}
    if "table" in plain:
        import pandas as pd

        return pd.DataFrame({name: from_json(column, arrays) for name, column in plain["table"]})
    found = _class(plain["class"])
    if "value" in plain:
        return found(plain["value"])
    return found(**{name: from_json(item, arrays) for name, item in plain["fields"].items()})


def _listed(found: type) -> str:
    name = found.__name__
    if name not in _MODULES or _class(name) is not found:
        raise TypeError(f"{name} is no part of a result")
    return name


def _class(name: str) -> Any:
    return getattr(importlib.import_module(_MODULES[name]), name)
