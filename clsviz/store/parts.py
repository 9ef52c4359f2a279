"""A part as a file: where it lies, what it says of itself, and what is in it.

    norms-<digest of the key>/000000032-000000064-<digest>.safetensors    sentences 32 to 63 of the sample

Its name contains the digest of its bytes, so that they are known to be those that were written; and it is believed
only if it says to belong where it lies, and holds what an encoder may have measured (see `soundness`). The same
sentences measured again by the same encoder are the same file to the byte.
"""

import contextlib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors import numpy as safetensors

from clsviz.atomic import new_file, open_regular, read_file, write_file
from clsviz.errors import StoreError
from clsviz.measurements import KINDS, POOLED, Kind, Means, Measurements, Packed, Vectors

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


_LARGEST_DEVIATION = int(np.float16(1).view(np.uint16))
"""The bits of 1: a deviation is at most the scale. Those of anything larger, infinite or undefined are larger."""


_WITHOUT_SIGN = 0x7FFF


@dataclass(frozen=True)
class Shape:
    """How much is measured of each sentence.

    width: dimensions of a vector, or 0 where only norms are measured. n_poolings: how many of `POOLED` there are.
    """

    n_layers: int
    has_pooler: bool
    width: int = 0
    n_poolings: int = len(POOLED)

    @classmethod
    def of(cls, measurements: Measurements) -> "Shape":
        """That of some measurements."""
        n_layers, has_pooler = measurements.n_layers, measurements.has_pooler
        if not isinstance(measurements, Vectors):
            return cls(n_layers, has_pooler)
        return cls(n_layers, has_pooler, measurements.width, len(measurements.poolings))

    def described(self) -> dict[str, int | bool]:
        """As a part says it of itself; parts of models do not tell their poolings, which are all."""
        return {name: value for name, value in asdict(self).items() if (name, value) != ("n_poolings", len(POOLED))}

    def arrays(self, kind: Kind, n: int) -> dict[str, tuple[str, list[int]]]:
        """What a part of n sentences holds: type, as safetensors calls it, and shape of each array by its name."""
        layers, pooler = self.n_layers + 1, int(self.has_pooler)
        expected = {
            "n_tokens": ("I32", [n]),
            "truncated": ("BOOL", [n]),
            "cls_norms": ("F32", [n, layers]),
            "pooler_norms": ("F32", [n, pooler]),
        }
        if kind is Kind.MEANS:
            expected |= {f"{pooling}_norms": ("F32", [n, layers]) for pooling in POOLED[1:]}
            expected |= {name: ("F32", [n]) for name in ("token_squares", "fixed_norms", "dealt_norms")}
            expected |= {"n_pooled": ("I32", [n])}
        if kind is Kind.VECTORS:
            n_slots = self.n_poolings * layers + pooler
            expected |= {f"{pooling}_norms": ("F32", [n, layers]) for pooling in POOLED[1 : self.n_poolings]}
            expected |= {
                "layer_norms": ("F32", [layers, 2, self.width]),
                "centres": ("F32", [n_slots, self.width]),
                "scales": ("F32", [n_slots]),
                "deviations": ("F16", [n_slots, n, self.width]),
            }
        return expected


def is_plausible(measured: Measurements, max_length: int) -> bool:
    """Whether all numbers are such as an encoder gives that reads at most `max_length` tokens of a sentence."""
    n_tokens, truncated = measured.n_tokens, measured.truncated
    longest_whole, shortest_cut = n_tokens[~truncated].max(initial=0), n_tokens[truncated].min(initial=max_length)
    if n_tokens.min(initial=0) < 0 or longest_whole >= shortest_cut:
        return False
    if not _are_norms(*measured.norms_by_pooling.values(), measured.pooler_norms):
        return False
    if isinstance(measured, Means):
        n_pooled = measured.n_pooled
        fixed = measured.fixed_norms[~np.isnan(measured.fixed_norms)]
        others = measured.token_squares, measured.dealt_norms, fixed
        return bool(((n_pooled > 0) & (n_pooled <= max_length)).all()) and _are_norms(*others)
    if isinstance(measured, Vectors):
        of_layers = np.isfinite(measured.layer_norms)
        is_known = of_layers.all(axis=(1, 2)) | np.isnan(measured.layer_norms).all(axis=(1, 2))
        return bool(is_known.all()) and all(map(_is_packed, measured.runs))
    return True


def _are_norms(*arrays: NDArray[np.float32]) -> bool:
    return all(bool((np.isfinite(array) & (array >= 0)).all()) for array in arrays)


def _is_packed(run: Packed) -> bool:
    if not (np.isfinite(run.centres).all() and _are_norms(run.scales)):
        return False
    slots = (np.asarray(run.deviations[slot]).view(np.uint16) & _WITHOUT_SIGN for slot in range(len(run.scales)))
    return all(int(slot.max(initial=0)) <= _LARGEST_DEVIATION for slot in slots)


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
    described = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    if described != shape.arrays(part.key.kind, part.stop - part.start):
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


_FIRST_PART, _LARGEST_OF_ALL, _SHARE = 32, 16_384, 16
_USUAL = {Kind.NORMS: 1024, Kind.MEANS: 1024, Kind.VECTORS: 256}
"""Sentences of one large model whose vectors are measured take 300 kB each in float32, so a part has fewer of them."""


def part_stop(start: int, kind: Kind = Kind.NORMS) -> int:
    """Where the part that begins at `start` ends, if the sample reaches that far.

    The first parts are small, so that a picture appears soon; each then doubles what is there, up to a limit on what a
    kill can lose. Of norms that limit grows with the sample, so that there are hundreds of files and not thousands. It
    depends on the start alone, so that an interrupted run has the same parts, and thus the same batches, as any other,
    on any device.
    """
    largest = _USUAL[kind]
    while kind is not Kind.VECTORS and largest < _LARGEST_OF_ALL and largest * 2 * _SHARE <= start:
        largest *= 2
    return start + min(max(start, _FIRST_PART), largest)


def borders(start: int, stop: int, kind: Kind = Kind.NORMS) -> Iterator[tuple[int, int]]:
    """Start and stop of the parts from `start` to `stop`, of which the last may be cut short."""
    while start < stop:
        end = min(part_stop(start, kind), stop)
        yield start, end
        start = end


def n_between(ends: Iterable[tuple[int, int]]) -> int:
    """How many sentences there are from each start to its stop, together."""
    return sum(stop - start for start, stop in ends)


def missing(parts: Iterable[Part], n_sentences: int, kind: Kind = Kind.NORMS) -> list[tuple[int, int]]:
    """Start and stop of the parts that are still to be measured of so many sentences, in order.

    A part that begins within another does not count: whoever reads the parts goes from the end of one to the next.
    """
    found: list[tuple[int, int]] = []
    position = 0
    for part in sorted(parts, key=lambda part: part.start):
        if part.start >= position:
            found += borders(position, min(part.start, n_sentences), kind)
            position = part.stop
    return [*found, *borders(position, n_sentences, kind)]


_SPEED = "speed.json"


def note_speed(folder: Path, n_sentences: int, seconds: float) -> None:
    """Note how long a part took, if none of this folder was larger."""
    path = folder / _SPEED
    if seconds > 0 and n_sentences >= _speed(path)[0]:
        with contextlib.suppress(StoreError):  # an estimate is not worth a complaint
            write_file(path, json.dumps([n_sentences, seconds]).encode())


def measured_rate(keys: Iterable[Path], model: str, precision: str) -> float | None:
    """Sentences per second at which the model with this fingerprint was last measured, or None.

    keys: the files beside the parts that say what they are of.
    """
    known = [(0, 1.0)]
    with contextlib.suppress(OSError):  # of a store that cannot be looked into
        for path in keys:
            key = _json_in(path)
            if isinstance(key, dict) and (key.get("model"), key.get("precision")) == (model, precision):
                known.append(_speed(path.with_name(_SPEED)))
    # The largest part says most; of equal ones the fastest, since other programs come and go.
    n_sentences, seconds = max(known, key=lambda speed: (speed[0], -speed[1]))
    return n_sentences / seconds if n_sentences else None


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
        return json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return None


_OUTLINE = "outline.safetensors"
"""Beside the parts that come with clsviz: all of the vectors’ measurements but the vectors themselves. A page whose
readings all are included needs no more."""


def write_outline(root: Path, key: Key, vectors: Vectors) -> None:
    """Keep all but the vectors in the store at `root`; raises StoreError."""
    arrays = replace(vectors, runs=()).to_arrays()
    with new_file(root / key.folder_name / _OUTLINE) as temporary:
        safetensors.save_file(arrays, temporary, metadata={"key": json.dumps(asdict(key), sort_keys=True)})


def read_outline(root: Path, key: Key) -> Vectors | None:
    """What `write_outline` kept; None if there is none."""
    try:
        with safe_open(root / key.folder_name / _OUTLINE, framework="numpy") as tensors:
            if tensors.metadata()["key"] != json.dumps(asdict(key), sort_keys=True):
                return None
            return Vectors.from_arrays({name: tensors.get_tensor(name) for name in tensors.keys()})  # noqa: SIM118
    except (OSError, SafetensorError):
        return None
