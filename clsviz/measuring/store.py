"""The parts on disk: runs of measured sentences, addressed by what they were computed from and only ever added to.

    <store>/norms-<digest of the key>/key.json                                the key, for people to read
                                      000000032-000000064-<digest>.safetensors  sentences 32 to 63 of the sample

A part is written under a temporary name, synced and renamed, so a kill at any moment loses at most the part in hand.
Its name contains the digest of its bytes, so any damage is noticed.
"""

import contextlib
import hashlib
import json
import os
import re
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

from clsviz.atomic import new_file
from clsviz.errors import StoreError
from clsviz.measurements import Kind, Measurements
from clsviz.vectors import KINDS

SCHEMA = 1
"""Raise it when the content of a part changes its meaning; older parts are then ignored."""


_PART_NAME = re.compile(r"(\d{9})-(\d{9})-([0-9a-f]{16})\.safetensors")


_DIGITS = 16
"""How much of a part's digest is in its name."""


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
    kind: Kind


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

    @property
    def own(self) -> "Store":
        """The same store without what is shipped."""
        return Store(self.root)

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
        try:
            roots = [root for root in (self._shipped, self.root) if root]
            return {part.start: part for root in roots for part in _parts_in(root / key.folder_name, key.kind)}
        except OSError as error:
            raise self._unusable(error) from error

    def read(self, part: Part) -> Measurements | None:
        """The measurements of `part`; None if it is damaged. Raises StoreError.

        A damaged part is deleted, unless it is shipped. Vectors are read from the file only when they are needed,
        because they may be large.
        """
        try:
            with part.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
            with contextlib.suppress(SafetensorError, TypeError, LookupError):
                if digest == part.path.stem.rpartition("-")[2]:
                    with safe_open(part.path, framework="numpy") as tensors:
                        arrays = {name: _Stored(part.path, tensors.get_slice(name)) for name in tensors.keys()}  # noqa: SIM118
                    measurements = KINDS[part.kind].from_arrays(arrays)
                    if len(measurements) == part.stop - part.start:
                        return measurements
        except FileNotFoundError:
            return None  # another process found it damaged
        except OSError as error:
            raise self._unusable(error) from error
        with contextlib.suppress(OSError):  # if it cannot be dropped, it will not be used either
            if not self.is_shipped(part):
                part.path.unlink(missing_ok=True)
        return None

    def append(self, key: Key, start: int, measurements: Measurements, seconds: float) -> Part:
        """Store measurements of the sentences from `start` on, which took `seconds`; raises StoreError."""
        # safetensors would silently write arrays that are not contiguous in the order of their memory.
        arrays = {name: np.ascontiguousarray(array) for name, array in measurements.to_arrays().items()}
        content = safetensors.save(arrays, metadata={"seconds": f"{seconds:.6f}"})
        folder = self.root / key.folder_name
        stop = start + len(measurements)
        path = folder / f"{start:09d}-{stop:09d}-{_digest(content)}.safetensors"
        with new_file(path) as temporary:
            temporary.write_bytes(content)
        return Part(start, stop, path, key.kind)

    @contextlib.contextmanager
    def writer(self, key: Key) -> Iterator[None]:
        """Hold the right to append to `key`; raises filelock.Timeout at once if another process has it."""
        folder = self.root / key.folder_name
        lock = filelock.FileLock(folder / "writer.lock", timeout=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except filelock.Timeout:
            raise
        except OSError as error:
            raise self._unusable(error) from error
        try:
            with new_file(folder / "key.json") as temporary:
                temporary.write_text(json.dumps(asdict(key), indent=1))
            yield
        finally:
            lock.release()

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"The store {self.root} cannot be used: {error.strerror}. Choose another folder.")

    def rate(self, model: str, precision: str, kind: Kind = Kind.NORMS) -> float | None:
        """Sentences per second at which the model with this fingerprint was last measured here, or None."""
        try:
            of = {path: json.loads(path.read_bytes()) for path in self.root.glob(f"{kind}-*/key.json")}
            keys = [path for path, key in of.items() if (key["model"], key["precision"]) == (model, precision)]
            parts = [part for key in keys for part in _parts_in(key.parent, kind)]
            if not parts:
                return None
            # The largest part says most; among equally large ones, the newest.
            part = max(parts, key=lambda part: (part.stop - part.start, part.path.stat().st_mtime))
            with safe_open(part.path, framework="numpy") as file:
                return (part.stop - part.start) / float(file.metadata()["seconds"])
        except (OSError, ValueError, LookupError, TypeError, SafetensorError):
            return None  # damaged: an estimate is not worth a complaint


class _Stored:
    """An array in a file, read when it is sliced.

    The file is mapped into memory. If somebody cut it short meanwhile (we never do), reading beyond its new end would
    kill the process, so its size is checked first.
    """

    def __init__(self, path: Path, tensor: Any) -> None:
        self._path, self._tensor = path, tensor
        self._size = path.stat().st_size

    def __getitem__(self, index: Any) -> NDArray[Any]:
        with contextlib.suppress(FileNotFoundError):  # a deleted file can still be read while it is mapped
            if self._path.stat().st_size != self._size:
                raise StoreError(f"{self._path} was changed while it was in use. Reload the page to measure it again.")
        array: NDArray[Any] = self._tensor[index]
        return array


def _parts_in(folder: Path, kind: Kind) -> list[Part]:
    matches = [(_PART_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("*.safetensors"))]
    parts = [Part(int(match[1]), int(match[2]), path, kind) for match, path in matches if match]
    return [part for part in parts if part.start < part.stop]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
