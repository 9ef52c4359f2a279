"""A part as a file: where it lies, what it says of itself, and what is in it.

    norms-<digest of the key>/000000032-000000064-<digest>.safetensors    sentences 32 to 63 of the sample

Its name contains the digest of its bytes, so that they are known to be those that were written; and it is believed
only if it says to belong where it lies, and holds what an encoder may have measured (see `soundness`). The same
sentences measured again by the same encoder are the same file to the byte.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors import numpy as safetensors

from clsviz.atomic import open_regular
from clsviz.errors import StoreError
from clsviz.measurements import Kind, Measurements
from clsviz.measuring.soundness import Shape, is_described, is_plausible
from clsviz.vectors import KINDS

SCHEMA = 2
"""Raise it when the content of a part changes its meaning; older parts are then ignored."""


_NAME = re.compile(r"(\d{9})-(\d{9})-([0-9a-f]{16})\.safetensors")


_DIGITS = 16
"""How much of a part's digest is in its name."""


KEY_FILE = "key.json"
"""Beside the parts. Its time is when they were last used."""


DAMAGE = (SafetensorError, TypeError, LookupError, ValueError, OverflowError, RecursionError)
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


def packed(key: Key, start: int, measurements: Measurements, folder: Path) -> tuple[Part, bytes]:
    """The part that measurements of the sentences from `start` on make in a folder, and what its file holds."""
    # safetensors would silently write arrays that are not contiguous in the order of their memory.
    arrays = {name: np.ascontiguousarray(array) for name, array in measurements.to_arrays().items()}
    part = Part(start, start + len(measurements), folder, key)
    content = safetensors.save(arrays, metadata=part.about(Shape.of(measurements)))
    name = f"{start:09d}-{part.stop:09d}-{hashlib.sha256(content).hexdigest()[:_DIGITS]}.safetensors"
    return part._replace(path=folder / name), content


def named(names: Iterable[str], folder: Path, key: Key) -> list[Part]:
    """The parts that have these names, in a folder, by start."""
    matches = [(_NAME.fullmatch(name), folder / name) for name in sorted(names)]
    parts = [Part(int(match[1]), int(match[2]), path, key) for match, path in matches if match]
    return [part for part in parts if part.start < part.stop]


def is_whole(path: Path, name: str) -> bool:
    """Whether the bytes of a file are those that the name of a part stands for; raises OSError."""
    with open_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
    return digest == Path(name).stem.rpartition("-")[2]


def measurements_in(part: Part) -> Measurements:
    """What the file of a part holds; raises one of DAMAGE if no encoder can have measured it of its sentences."""
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
