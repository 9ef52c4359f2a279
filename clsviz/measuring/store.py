"""The parts on disk: runs of measured sentences, addressed by what they were computed from and only ever added to.

    <store>/norms-<digest of the key>/key.json                                the key, for people to read
                                      000000032-000000064-<digest>.safetensors  sentences 32 to 63 of the sample
                                      speed.json                                how long the largest part took

A part is written under a temporary name, synced and renamed, so a kill at any moment loses at most the part in hand.
Its name contains the digest of its bytes, so that they are known to be those that were written; and it is believed
only if it says to belong where it lies, and holds what an encoder may have measured (see `soundness`). What is damaged
is dropped, and measured again. The same sentences measured again by the same encoder are the same file to the byte.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
import platformdirs
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors import numpy as safetensors

from clsviz.atomic import NotRegularError, mark_used, new_file, open_regular
from clsviz.errors import StoreError
from clsviz.measurements import Kind, Measurements
from clsviz.measuring.soundness import Shape, is_described, is_plausible
from clsviz.vectors import KINDS

SCHEMA = 2
"""Raise it when the content of a part changes its meaning; older parts are then ignored."""


_PART_NAME = re.compile(r"(\d{9})-(\d{9})-([0-9a-f]{16})\.safetensors")


_DIGITS = 16
"""How much of a part's digest is in its name."""


_SPEED = "speed.json"


_KEY = "key.json"
"""Its time is when the parts beside it were last used."""


LOCK = "writer.lock"
"""Held by whoever adds to the parts beside it."""


CLAIMS = "claims"
"""The folder, beside the parts, of locks held by those who measure single ones of them."""


_DAMAGE = (SafetensorError, TypeError, LookupError, ValueError, OverflowError, RecursionError)
"""What a file raises that does not hold what it should."""


@dataclass(frozen=True)
class Key:
    """What the measurements of a sentence depend on; the view is not in it."""

    model: str
    """Fingerprint of the model."""
    corpus: str
    """Fingerprint of the corpus."""
    seed: int
    max_length: int
    """Most tokens read of a sentence, special ones included."""
    precision: str
    """The dtype of matrix products."""
    kind: Kind = Kind.NORMS
    schema: int = SCHEMA

    @property
    def folder_name(self) -> str:
        """The folder of the parts, below the store."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


class Part(NamedTuple):
    """Measurements of the sentences from `start` to `stop` of a sample."""

    start: int
    stop: int
    path: Path
    key: Key

    def about(self, shape: Shape) -> dict[str, str]:
        """What its file says of itself, as one entry: the order of several is left to chance."""
        about = {"key": asdict(self.key), "start": self.start, "shape": shape.described()}
        return {"clsviz": json.dumps(about, sort_keys=True)}


class Tally:
    """How many sentences were measured and kept since the server started; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.n = 0

    def add(self, n: int) -> None:
        """Count n more."""
        with self._lock:
            self.n += n


class Store:
    """The parts below one folder; several processes may share it."""

    def __init__(self, root: Path | None = None, shipped: Path | None = None) -> None:
        """A store in `root`, which is created when it is first written to.

        By default it is where CLSVIZ_STORE says, or else in the user's cache folder. shipped: another store, which is
        only read, and only for parts that this one does not have.
        """
        folder = os.environ.get("CLSVIZ_STORE")
        self.root = root or (Path(folder) if folder else platformdirs.user_cache_path("clsviz"))
        self._shipped = shipped
        self.tally = Tally()

    @property
    def shipped(self) -> Path | None:
        """Where the store that came with clsviz is, if this one looks there."""
        return self._shipped

    @property
    def results(self) -> Path:
        """The folder of what was computed from measurements."""
        return self.root / "results"

    @property
    def own(self) -> "Store":
        """The same store without what is shipped."""
        own = Store(self.root)
        own.tally = self.tally
        return own

    def is_shipped(self, part: Part) -> bool:
        """Whether the part was measured elsewhere and came with clsviz."""
        return self._shipped is not None and self._shipped in part.path.parents

    @property
    def corpora(self) -> Path:
        """The folder of corpora that were built or uploaded."""
        return self.root / "corpora"

    @property
    def checked(self) -> Path:
        """The folder where it is remembered which encoders were checked."""
        return self.root / "checked"

    def parts(self, key: Key) -> dict[int, Part]:
        """The parts of `key` by their start, not yet checked for damage; raises StoreError."""
        self.mark_used(key)
        try:
            roots = [root for root in (self._shipped, self.root) if root]
            return {part.start: part for root in roots for part in _parts_in(root / key.folder_name, key)}
        except OSError as error:
            raise self._unusable(error) from error

    def mark_used(self, key: Key) -> None:
        """Note that the parts of `key` are used now."""
        mark_used(self.root / key.folder_name / _KEY)

    def read(self, part: Part) -> Measurements | None:
        """The measurements of `part`; None if it is damaged. Raises StoreError.

        A damaged part is deleted, unless it is shipped. Vectors are read from the file only when they are needed,
        because they may be large.
        """
        try:
            with open_regular(part.path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
            if digest == part.path.stem.rpartition("-")[2]:
                with contextlib.suppress(*_DAMAGE):
                    return _measurements_in(part)
        except FileNotFoundError:
            return None  # another process found it damaged
        except NotRegularError:
            pass
        except OSError as error:
            raise self._unusable(error) from error
        self.drop(part)
        return None

    def drop(self, part: Part) -> None:
        """Delete a part that is damaged, unless it is shipped; one that cannot be deleted will not be used either."""
        if not self.is_shipped(part):
            with contextlib.suppress(OSError):
                part.path.unlink(missing_ok=True)

    def append(self, key: Key, start: int, measurements: Measurements, seconds: float) -> Part:
        """Store measurements of the sentences from `start` on, which took `seconds`; raises StoreError."""
        # safetensors would silently write arrays that are not contiguous in the order of their memory.
        arrays = {name: np.ascontiguousarray(array) for name, array in measurements.to_arrays().items()}
        part = Part(start, start + len(measurements), self.root / key.folder_name, key)
        content = safetensors.save(arrays, metadata=part.about(Shape.of(measurements)))
        digest = hashlib.sha256(content).hexdigest()[:_DIGITS]
        path = part.path / f"{start:09d}-{part.stop:09d}-{digest}.safetensors"
        with new_file(path) as temporary:
            temporary.write_bytes(content)
        _note_speed(part.path / _SPEED, len(measurements), seconds)
        self.tally.add(len(measurements))
        return part._replace(path=path)

    @contextlib.contextmanager
    def writer(self, key: Key) -> Iterator[None]:
        """Hold the right to append to `key`; raises filelock.Timeout at once if another process has it."""
        folder = self.root / key.folder_name
        lock = filelock.FileLock(folder / LOCK, timeout=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except filelock.Timeout:
            raise
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self.describe(key)
            yield
        finally:
            lock.release()

    def claim(self, key: Key, start: int) -> filelock.BaseFileLock | None:
        """The right to measure the part of `key` that begins at `start`, until it is released or this process ends.

        None if another process has it, or the part is there already. Raises StoreError.
        """
        folder = self.root / key.folder_name
        lock = filelock.FileLock(folder / CLAIMS / f"{start:09d}.lock", timeout=0)
        try:
            (folder / CLAIMS).mkdir(parents=True, exist_ok=True)
            lock.acquire()
            if not any(folder.glob(f"{start:09d}-*.safetensors")):
                return lock
            lock.release()
        except filelock.Timeout:
            pass
        except OSError as error:
            raise self._unusable(error) from error
        return None

    def describe(self, key: Key) -> None:
        """Say beside the parts of `key` what they are of; raises StoreError."""
        with new_file(self.root / key.folder_name / _KEY) as temporary:
            temporary.write_text(json.dumps(asdict(key), indent=1))

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"The store {self.root} cannot be used: {error.strerror}. Choose another folder.")

    def rate(self, model: str, precision: str, kind: Kind = Kind.NORMS) -> float | None:
        """Sentences per second at which the model with this fingerprint was last measured here, or None."""
        known = [(0, 1.0)]
        for path in self.root.glob(f"{kind}-*/{_KEY}"):
            key = _json_in(path)
            if isinstance(key, dict) and (key.get("model"), key.get("precision")) == (model, precision):
                known.append(_speed(path.with_name(_SPEED)))
        # The largest part says most; of equal ones the fastest, since other programs come and go.
        n_sentences, seconds = max(known, key=lambda speed: (speed[0], -speed[1]))
        return n_sentences / seconds if n_sentences else None


def _note_speed(path: Path, n_sentences: int, seconds: float) -> None:
    if seconds > 0 and n_sentences >= _speed(path)[0]:
        with contextlib.suppress(StoreError), new_file(path) as temporary:  # an estimate is not worth a complaint
            temporary.write_text(json.dumps([n_sentences, seconds]))


def _speed(path: Path) -> tuple[int, float]:
    """Sentences in the largest part of a key, and the seconds they took; no sentences if that is not known."""
    try:
        n_sentences, seconds = _json_in(path)
        if int(n_sentences) > 0 and 0 < float(seconds) < math.inf:
            return int(n_sentences), float(seconds)
    except (TypeError, ValueError, OverflowError):
        pass
    return 0, 1.0


def _json_in(path: Path) -> Any:
    """What a small file says, or None."""
    try:
        with open_regular(path) as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        return None


def _measurements_in(part: Part) -> Measurements:
    """What the file of a part holds; raises one of _DAMAGE if no encoder can have measured it of its sentences."""
    with safe_open(part.path, framework="numpy") as tensors:
        said = tensors.metadata()
        arrays = {name: _Stored(part.path, tensors.get_slice(name)) for name in tensors.keys()}  # noqa: SIM118
    shape = Shape(**json.loads(said["clsviz"])["shape"])
    if not is_described(arrays, shape.arrays(part.key.kind, part.stop - part.start)):
        raise ValueError("its arrays are others than it says")
    measurements = KINDS[part.key.kind].from_arrays(arrays)
    if said != part.about(Shape.of(measurements)):
        raise ValueError("it belongs elsewhere")
    if not is_plausible(measurements, part.key.max_length):
        raise ValueError("it holds what no encoder gives")
    return measurements


class _Stored:
    """An array in a file, read when it is sliced.

    The file is mapped into memory. If somebody cut it short meanwhile (we never do), reading beyond its new end would
    kill the process, so its size is checked first.
    """

    def __init__(self, path: Path, tensor: Any) -> None:
        self._path, self._tensor = path, tensor
        self._size = path.stat().st_size
        self.dtype: str = tensor.get_dtype()
        self.shape: list[int] = tensor.get_shape()

    def __getitem__(self, index: Any) -> NDArray[Any]:
        with contextlib.suppress(FileNotFoundError):  # a deleted file can still be read while it is mapped
            if self._path.stat().st_size != self._size:
                raise StoreError(f"{self._path} was changed while it was in use. Reload the page to measure it again.")
        array: NDArray[Any] = self._tensor[index]
        return array


def _parts_in(folder: Path, key: Key) -> list[Part]:
    matches = [(_PART_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("*.safetensors"))]
    parts = [Part(int(match[1]), int(match[2]), path, key) for match, path in matches if match and path.is_file()]
    return [part for part in parts if part.start < part.stop]
