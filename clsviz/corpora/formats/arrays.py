"""Arrays in local files of NumPy and safetensors, read in runs of rows; nothing in them is unpickled."""

import json
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from clsviz.errors import CorpusError, first_line
from clsviz.settings import is_name, printable, shown

_MOST_ARRAYS = 1000

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2"}
_TYPES |= {"I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
"""What safetensors calls the types that are read."""

_ONLY = "array"
"""What the array in a .npy file is called, which has no name there."""

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True)
class Array:
    """An array in a file. problem: why it cannot be read, or "". open: opens the file where its numbers begin."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    file_name: str
    open: Opener = field(repr=False, compare=False)
    problem: str = ""
    is_bfloat16: bool = False

    @property
    def n_bytes(self) -> int:
        """How many bytes it takes in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    def batches(self, n: int) -> Iterator[NDArray[Any]]:
        """Its rows, n at a time; raises CorpusError if the file was cut short or changed meanwhile."""
        left = self.shape[0]
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        try:
            with self.open() as stream:
                while left:
                    n_now = min(n, left)
                    content = _read(stream, n_now * row_bytes)
                    if len(content) < n_now * row_bytes:
                        raise cut_short(self.file_name)
                    yield self._decoded(content).reshape(n_now, *self.shape[1:])
                    left -= n_now
        except (OSError, EOFError, *_DAMAGE) as error:
            raise damaged(self.file_name, error) from None

    def _decoded(self, content: bytes) -> NDArray[Any]:
        numbers = np.frombuffer(content, self.dtype)
        return (numbers.astype(np.uint32) << 16).view(np.float32) if self.is_bfloat16 else numbers


_DAMAGE = (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, ValueError, SafetensorError)
"""What a file raises that does not hold what it should."""


def cut_short(name: str) -> CorpusError:
    """The error for a file that ends too early."""
    return CorpusError(
        f"{name} ends before its last row: it was cut short, or changed while it was read. Copy it anew."
    )


def damaged(name: str, error: Exception) -> CorpusError:
    """The error for a file that is not what its name says."""
    return CorpusError(f"{name} cannot be read ({printable(first_line(error))}). Write or copy it again.")


def open_npy(path: Path, name: str) -> list[Array]:
    """The array in a .npy file; raises CorpusError if it is damaged."""
    try:
        with path.open("rb") as stream:
            array = _described(_ONLY, stream, name, lambda: _file_at(path, 0))
            start, n_bytes = stream.tell(), path.stat().st_size
    except (OSError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    if not array.problem and n_bytes < start + array.n_bytes:
        raise cut_short(name)
    return [_opened(array, lambda: _file_at(path, start))]


def open_npz(path: Path, name: str) -> list[Array]:
    """The arrays in a .npz file; raises CorpusError if it is damaged."""
    arrays = []
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            for member in members[:_MOST_ARRAYS]:
                with archive.open(member) as stream:
                    array = _described(member.filename.removesuffix(".npy"), stream, name, lambda: _file_at(path, 0))
                    start = stream.tell()
                if not array.problem and member.file_size < start + array.n_bytes:
                    raise cut_short(name)
                arrays.append(_opened(array, _member_at(path, member.filename, start)))
    except (OSError, EOFError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    return arrays


def open_safetensors(path: Path, name: str) -> list[Array]:
    """The tensors in a .safetensors file; raises CorpusError if it is damaged."""
    try:
        with safe_open(path, framework="numpy"):
            pass  # it checks that the header is sound, and that the tensors fill the file
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
    except (OSError, RecursionError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    header.pop("__metadata__", None)
    arrays = []
    for of, about in [*header.items()][:_MOST_ARRAYS]:
        dtype, start = _TYPES.get(about["dtype"]), 8 + length + about["data_offsets"][0]
        problem = "" if dtype else f"“{shown(of)}” of {name} holds {about['dtype']}. Save it as float32."
        opened = _at(path, start)
        is_bfloat16 = about["dtype"] == "BF16"
        arrays.append(Array(of, np.dtype(dtype or "u1"), (*about["shape"],), name, opened, problem, is_bfloat16))
    return [array for array in arrays if is_name(array.name)]


def _described(array_name: str, stream: IO[bytes], name: str, opened: Opener) -> Array:
    """What the header of an array says; the stream is then where its numbers begin."""
    version = npy.read_magic(stream)
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in headers:
        raise ValueError(f"its format has version {version[0]}.{version[1]}")
    shape, is_fortran, dtype = headers[version](stream)
    problem = ""
    if dtype.hasobject or dtype.names:
        problem = "holds Python objects, which could run code when read"
        problem = f"“{shown(array_name)}” of {name} {problem}. Save it as an array of numbers."
    elif is_fortran and len(shape) > 1:
        problem = f"“{shown(array_name)}” of {name} is stored column by column. Save numpy.ascontiguousarray of it."
    return Array(array_name, dtype, shape, name, opened, problem)


def _opened(array: Array, opened: Opener) -> Array:
    return Array(array.name, array.dtype, array.shape, array.file_name, opened, array.problem)


def _at(path: Path, start: int) -> Opener:
    return lambda: _file_at(path, start)


@contextmanager
def _file_at(path: Path, start: int) -> Iterator[IO[bytes]]:
    with path.open("rb") as stream:
        stream.seek(start)
        yield stream


def _member_at(path: Path, member: str, start: int) -> Opener:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            stream.read(start)
            yield stream

    return opened


def _read(stream: IO[bytes], n_bytes: int) -> bytes:
    """So many bytes, or those that are left: a packed stream may give fewer at a time."""
    pieces, left = [], n_bytes
    while left and (piece := stream.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
