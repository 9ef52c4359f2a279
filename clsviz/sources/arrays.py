"""Arrays in local files of NumPy, safetensors and Parquet, read in runs of rows; nothing in them is unpickled."""

import contextlib
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.lib import format as npy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from clsviz.atomic import open_regular
from clsviz.errors import CorpusError, first_line
from clsviz.settings import is_name, printable, shown
from clsviz.sources.parquet_files import is_text, opened
from clsviz.sources.tables import check_width
from clsviz.sources.text_files import TextFile

_MOST_ARRAYS = 1000

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2"}
_TYPES |= {"I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
"""What safetensors calls the types that are read."""

_ONLY = "array"
"""What the array in a .npy file is called, which has no name there."""


@dataclass(frozen=True)
class Array:
    """An array in a file, in the member of that name if it is a zip file; start: where its numbers begin.

    problem: why it cannot be read, or "".
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    path: Path
    file_name: str
    start: int
    problem: str = ""
    member: str = ""
    is_bfloat16: bool = False

    @property
    def n_bytes(self) -> int:
        """How many bytes it takes in the file."""
        return math.prod(self.shape) * self.dtype.itemsize

    def batches(self, n: int) -> Iterator[NDArray[Any]]:
        """Its rows, n at a time; raises CorpusError if the file was cut short or changed meanwhile."""
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        try:
            with contextlib.ExitStack() as stack:
                if self.member:
                    archive = stack.enter_context(zipfile.ZipFile(self.path))
                    stream = stack.enter_context(archive.open(self.member))
                    stream.read(self.start)
                else:
                    # Not mapped into memory: a file that another program cuts short would end this one.
                    stream = stack.enter_context(open_regular(self.path))
                    stream.seek(self.start)
                for first in range(0, self.shape[0], n):
                    n_now = min(n, self.shape[0] - first)
                    content = bytearray()
                    while piece := stream.read(n_now * row_bytes - len(content)):  # a packed one gives fewer at a time
                        content += piece
                    if len(content) < n_now * row_bytes:
                        raise cut_short(self.file_name)
                    numbers = np.frombuffer(bytes(content), self.dtype).reshape(n_now, *self.shape[1:])
                    yield (numbers.astype(np.uint32) << 16).view(np.float32) if self.is_bfloat16 else numbers
        except (OSError, EOFError, *_DAMAGE) as error:
            raise damaged(self.file_name, error) from None


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
        with open_regular(path) as stream:
            return [_described(_ONLY, stream, path, name, path.stat().st_size)]
    except (OSError, *_DAMAGE) as error:
        raise damaged(name, error) from None


def open_npz(path: Path, name: str) -> list[Array]:
    """The arrays in a .npz file; raises CorpusError if it is damaged."""
    arrays = []
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            for member in members[:_MOST_ARRAYS]:
                with archive.open(member) as stream:
                    of = member.filename.removesuffix(".npy")
                    arrays.append(_described(of, stream, path, name, member.file_size, member.filename))
    except (OSError, EOFError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    return arrays


def open_safetensors(path: Path, name: str) -> list[Array]:
    """The tensors in a .safetensors file; raises CorpusError if it is damaged."""
    try:
        with safe_open(path, framework="numpy"):
            pass  # it checks that the header is sound, and that the tensors fill the file
        with open_regular(path) as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
    except (OSError, RecursionError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    header.pop("__metadata__", None)
    arrays = []
    for of, about in [*header.items()][:_MOST_ARRAYS]:
        dtype, start, kind = _TYPES.get(about["dtype"]), 8 + length + about["data_offsets"][0], about["dtype"]
        problem = "" if dtype else f"“{shown(of)}” of {name} holds {kind}. Save it as float32."
        of_tensor = np.dtype(dtype or "u1"), tuple(about["shape"]), path, name, start, problem
        arrays.append(Array(of, *of_tensor, is_bfloat16=kind == "BF16"))
    return [array for array in arrays if is_name(array.name)]


def _described(array_name: str, stream: IO[bytes], path: Path, name: str, size: int, member: str = "") -> Array:
    """An array as its header describes it, in a stream of that size; raises CorpusError if it cannot hold all of it."""
    version = npy.read_magic(stream)
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in headers:
        raise ValueError(f"its format has version {version[0]}.{version[1]}")
    shape, is_fortran, dtype = headers[version](stream)
    problem = ""
    if dtype.hasobject or dtype.names:
        problem = "holds Python objects, which could run code when read. Save it as an array of numbers"
    elif is_fortran and len(shape) > 1:
        problem = "is stored column by column. Save numpy.ascontiguousarray of it"
    problem = problem and f"“{shown(array_name)}” of {name} {problem}."
    array = Array(array_name, dtype, shape, path, name, stream.tell(), problem, member)
    if not problem and size < array.start + array.n_bytes:
        raise cut_short(name)
    return array


class Columns(NamedTuple):
    """The columns of a table by what they may be: texts, vectors, numbers."""

    n_rows: int
    texts: tuple[str, ...]
    vectors: tuple[str, ...]
    numbers: tuple[str, ...]


def columns_of(file: TextFile) -> Columns:
    """What its columns may be; raises CorpusError if it is no Parquet file or a damaged one."""
    with opened(file) as table:
        check_width(len(table.schema_arrow), file)
        fields = {field.name: field.type for field in table.schema_arrow if is_name(field.name)}
        n_rows = int(table.metadata.num_rows)

    def those(holds: Any) -> tuple[str, ...]:
        return tuple(name for name, kind in fields.items() if holds(kind))

    return Columns(n_rows, those(is_text), those(_is_of_vectors), those(_is_of_numbers))


def column_batches(file: TextFile, names: Sequence[str], n: int) -> Iterator[list[Any]]:
    """The columns of these names, n rows at a time: texts as lists, numbers and vectors as arrays.

    Raises CorpusError at a row that has none, or a vector of another width than the others.
    """
    n_before, width = 0, 0
    with opened(file) as table:
        for batch in table.iter_batches(n, columns=[*dict.fromkeys(names)]):
            fields = dict(zip(batch.schema.names, batch.columns, strict=True))
            found = []
            for name in names:
                values = fields[name]
                if values.null_count:
                    row = n_before + int(np.flatnonzero(values.is_null())[0]) + 1
                    raise CorpusError(f"Row {row:,} of {file.name} has nothing in “{shown(name)}”. Leave it out.")
                if is_text(values.type):
                    found.append(values.to_pylist())
                elif _is_of_numbers(values.type):
                    found.append(values.to_numpy(zero_copy_only=False))
                else:
                    vectors = _stacked(values, width, name, file.name, n_before)
                    width = vectors.shape[1]
                    found.append(vectors)
            yield found
            n_before += len(batch)


def _stacked(values: Any, width: int, name: str, file_name: str, n_before: int) -> NDArray[Any]:
    """Vectors as the rows of an array; width: of those before, or 0."""
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    widths = np.asarray(compute.list_value_length(values))
    width = width or int(widths[0])
    if (widths != width).any():
        row = int(np.flatnonzero(widths != width)[0])
        raise CorpusError(
            f"Row {n_before + row + 1:,} of {file_name} has {widths[row]:,} numbers in “{shown(name)}”, the first row "
            f"{width:,}. Give vectors of one width."
        )
    numbers = values.flatten()
    if numbers.null_count:
        raise CorpusError(f"A vector in “{shown(name)}” of {file_name} lacks a number. Leave its row out.")
    return np.asarray(numbers.to_numpy(zero_copy_only=False)).reshape(len(values), width)


def _is_of_numbers(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_of_vectors(kind: Any) -> bool:
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and _is_of_numbers(kind.value_type))
