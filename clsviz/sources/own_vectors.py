"""Files of one's own vectors or norms, with the texts they are of: what a file holds, and its rows, a run at a time."""

import contextlib
import itertools
import json
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from clsviz.settings import Reading, is_name, printable, shown
from clsviz.sources import files, tables
from clsviz.sources.files import Limits, TextFile, check_width
from clsviz.sources.segmentation import MAX_CHARACTERS
from clsviz.sources.tables import is_text, opened

MOST_ROWS, MOST_DIMENSIONS = 100_000_000, 16_384
"""The most rows that a file may have, and the most numbers a vector."""

_AT_ONCE = 1024

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


_DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, SafetensorError),
    *(SyntaxError, tokenize.TokenError, NotImplementedError, RuntimeError, ValueError),  # of NumPy's headers, some
)
"""What a file raises that does not hold what it should."""


def cut_short(name: str) -> CorpusError:
    """The error for a file that ends too early."""
    return CorpusError(
        f"{name} ends before its last row: it was cut short, or changed while it was read. Copy it anew."
    )


def damaged(name: str, error: Exception) -> CorpusError:
    """The error for a file that is not what its name says."""
    return CorpusError(f"{name} cannot be read ({printable(first_line(error))}). Write or copy it again.")


def _arrays_in(path: Path, name: str, ending: str) -> list[Array]:
    """The arrays in a .npy, .npz or .safetensors file; raises CorpusError if it is damaged."""
    arrays = []
    try:
        if ending == ".npy":
            with open_regular(path) as stream:
                return [_described(_ONLY, stream, path, name, path.stat().st_size)]
        if ending == ".npz":
            with zipfile.ZipFile(path) as archive:
                members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
                for member in members[:_MOST_ARRAYS]:
                    with archive.open(member) as stream:
                        of = member.filename.removesuffix(".npy")
                        arrays.append(_described(of, stream, path, name, member.file_size, member.filename))
            return arrays
        with safe_open(path, framework="numpy"):
            pass  # it checks that the header is sound, and that the tensors fill the file
        with open_regular(path) as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
    except (OSError, EOFError, RecursionError, *_DAMAGE) as error:
        raise damaged(name, error) from None
    header.pop("__metadata__", None)
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


class Rows(NamedTuple):
    """A run of k rows: texts, their vectors float32 (k, width) or norms float32 (k,), and their tokens int32 (k,).

    n_tokens is None where that is not known.
    """

    texts: list[str]
    values: NDArray[np.float32]
    n_tokens: NDArray[np.int32] | None


@dataclass(frozen=True)
class Chosen:
    """What is taken of a file, by the names of columns or arrays; "" for what it has none of, or only one.

    texts_file: where the texts are, if not in the file itself; text is then a column of it.
    """

    text: str = ""
    vectors: str = ""
    norms: str = ""
    tokens: str = ""
    texts_file: Path | None = None


@dataclass(frozen=True)
class VectorFile:
    """What a file holds: its columns or arrays by what they may be. `problems` say why others cannot be taken."""

    path: Path
    name: str
    texts: tuple[str, ...]
    vectors: tuple[str, ...]
    numbers: tuple[str, ...]
    problems: dict[str, str] = field(default_factory=dict)
    _arrays: dict[str, "Array"] = field(default_factory=dict, repr=False, compare=False)
    _n_rows: int = 0

    def decided(self, chosen: Chosen) -> Chosen:
        """The same with what was left open decided; raises CorpusError where that cannot be done, naming what there is.

        Of several columns of vectors none is the likeliest, and so one has to be named.
        """
        vectors, norms, text = chosen.vectors, chosen.norms, chosen.text
        if vectors and norms:
            raise CorpusError("Name a column of vectors or one of norms, not both: norms follow from vectors.")
        if not vectors and not norms:
            if len(self.vectors) == 1:
                vectors = self.vectors[0]
            elif not self.vectors and len(rest := [name for name in self.numbers if name != chosen.tokens]) == 1:
                norms = rest[0]
            else:
                kinds = "vectors" if self.vectors else "norms"
                raise CorpusError(f"Say which {kinds} to take. {self._there(self.vectors or self.numbers)}")
        for name, of_kind, what in (
            (vectors, self.vectors, "vectors"),
            (norms, self.numbers, "norms"),
            (chosen.tokens, self.numbers, "numbers of tokens"),
        ):
            if name and name not in of_kind:
                raise CorpusError(self.problems.get(name) or self._lacks(name, what, of_kind))
        if chosen.texts_file is None:
            if not text and not self.texts:
                raise CorpusError(f"{self.name} holds no texts. Give them in a file of their own, one for each row.")
            if not text and len(self.texts) > 1:
                raise CorpusError(f"Say which column holds the texts. {self._there(self.texts)}")
            text = text or self.texts[0]
            if text not in self.texts:
                raise CorpusError(self._lacks(text, "texts", self.texts))
        return replace(chosen, vectors=vectors, norms=norms, text=text)

    def _lacks(self, name: str, what: str, of_kind: Sequence[str]) -> str:
        return f"{self.name} has no {what} under “{shown(name)}”. {self._there(of_kind)}"

    def _there(self, of_kind: Sequence[str]) -> str:
        if of_kind:
            return f"There {'is' if len(of_kind) == 1 else 'are'} {', '.join(map(shown, of_kind[:12]))}."
        others = [*dict.fromkeys((*self.texts, *self.vectors, *self.numbers))]
        return f"There is only {', '.join(map(shown, others[:12]))}." if others else "There is nothing to choose."

    def n_rows(self, chosen: Chosen) -> int:
        """How many rows the chosen vectors or norms have; raises CorpusError if that is none, or more than are read."""
        name = chosen.vectors or chosen.norms
        n = self._arrays[name].shape[0] if self._arrays else self._n_rows
        if not n:
            raise CorpusError(f"{self.name} holds no rows. Give a file with some.")
        if n > MOST_ROWS:
            raise CorpusError(f"{self.name} has {n:,} rows; at most {MOST_ROWS:,} are read. Take a part of it.")
        return n

    def rows(self, chosen: Chosen) -> Iterator[Rows]:
        """What was chosen, a run of rows at a time; `chosen` is as `decided` gives it.

        Raises CorpusError where a text or a number cannot be used, with its row.
        """
        n = self.n_rows(chosen)
        with_texts = "" if chosen.texts_file else chosen.text
        names = [name for name in (chosen.vectors or chosen.norms, chosen.tokens, with_texts) if name]
        columns = self._columns(names, n)
        if chosen.texts_file:
            columns = _with_texts(columns, chosen, n, self.name)
        n_before = 0
        for values, *rest in columns:
            n_tokens = rest.pop(0) if chosen.tokens else None
            (texts,) = rest
            yield checked(texts, values, n_tokens, self.name, n_before)
            n_before += len(values)
        if n_before != n:
            raise cut_short(self.name)

    def _columns(self, names: Sequence[str], n: int) -> Iterator[list[Any]]:
        if not self._arrays:
            yield from column_batches(TextFile(self.path, self.name, is_packed=False, limits=Limits()), names, _AT_ONCE)
            return
        arrays = [self._arrays[name] for name in names]
        for array in arrays:
            if array.shape[0] != n:
                first = f"“{shown(names[0])}” has {n:,} rows, “{shown(array.name)}” {array.shape[0]:,}"
                raise CorpusError(f"In {self.name}, {first}. Give as many of one as of the other.")
        for batch in zip(*(array.batches(_AT_ONCE) for array in arrays), strict=True):
            yield [values.tolist() if values.dtype.kind == "U" else values for values in batch]


def open_vectors(path: Path) -> VectorFile:
    """What the file at `path` holds, in the format that the ending of its name tells.

    Raises CorpusError if it cannot be read, is damaged, or holds neither vectors nor norms.
    """
    name = printable(path.name)
    ending = next((suffix for suffix in files.VECTOR_SUFFIXES if name.lower().endswith(suffix)), None)
    if ending is None:
        raise CorpusError(
            f"{name} is in no format of vectors. Give a file ending in {', '.join(files.VECTOR_SUFFIXES)}."
        )
    files.check(path, name)
    if ending == ".parquet":
        file = TextFile(path, name, is_packed=False, limits=Limits())
        with opened(file) as table:
            check_width(len(table.schema_arrow), file)
            kinds = {field.name: field.type for field in table.schema_arrow if is_name(field.name)}
            n_rows = int(table.metadata.num_rows)
        texts, vectors, numbers = (
            tuple(column for column, kind in kinds.items() if holds(kind))
            for holds in (is_text, _is_of_vectors, _is_of_numbers)
        )
        found = VectorFile(path, name, texts, vectors, numbers, _n_rows=n_rows)
    else:
        arrays = _arrays_in(path, name, ending)
        problems = {array.name: problem for array in arrays if (problem := array.problem or _misshapen(array))}
        fit = {array.name: array for array in arrays if array.name not in problems}
        texts, vectors, numbers = (
            tuple(of for of, array in fit.items() if array.dtype.kind in kinds and len(array.shape) == n_dimensions)
            for kinds, n_dimensions in (("U", 1), ("fiu", 2), ("fiu", 1))
        )
        found = VectorFile(path, name, texts, vectors, numbers, problems, fit)
    if not found.vectors and not found.numbers:
        nothing = f"{name} holds neither vectors nor norms. Give a file of numbers."
        raise CorpusError(next(iter(found.problems.values()), nothing))
    return found


def _misshapen(array: "Array") -> str:
    """Why an array is neither vectors nor norms nor texts, or ""."""
    where = f"“{shown(array.name)}” of {array.file_name}"
    if array.dtype.kind not in "fiuU":
        return f"{where} holds {array.dtype}. Save it as numbers."
    if array.dtype.kind == "U":
        return "" if len(array.shape) == 1 else f"{where} is no list of texts."
    if len(array.shape) not in (1, 2):
        shape = " × ".join(f"{size:,}" for size in array.shape) or "a single number"
        return f"{where} has the shape {shape}. Vectors are (rows, width), norms (rows)."
    return _too_wide(array.shape[1], array.file_name) if len(array.shape) == 2 else ""


def _too_wide(width: int, name: str) -> str:
    if not 1 <= width <= MOST_DIMENSIONS:
        return f"{name} has vectors of {width:,} numbers; they must be 1 to {MOST_DIMENSIONS:,}."
    return ""


def _with_texts(columns: Iterator[list[Any]], chosen: Chosen, n: int, name: str) -> Iterator[list[Any]]:
    """The columns with the texts of another file beside them; raises CorpusError unless there are as many."""
    assert chosen.texts_file is not None  # the caller checked
    texts_name = printable(chosen.texts_file.name)
    reading = Reading.LINES if files.is_plain_text(texts_name) else Reading.AUTO
    table = tables.open_table(chosen.texts_file, texts_name, reading=reading)
    runs = table.numbered_texts(chosen.text)
    numbered = itertools.chain.from_iterable(zip(*run, strict=True) for run in runs)
    remedy = "Give one text for each row, in the same order."
    n_before = 0
    for batch in columns:
        found = []
        for text, row in itertools.islice(numbered, len(batch[0])):
            if row != n_before:
                raise _no_text(n_before, texts_name)
            n_before += 1
            found.append(text)
        if len(found) < len(batch[0]):
            raise CorpusError(f"{texts_name} has {n_before:,} texts, and {name} has {n:,} rows. {remedy}")
        yield [*batch, found]
    if next(numbered, None) is not None:
        raise CorpusError(f"{texts_name} has more than {n:,} texts, and {name} has {n:,} rows. {remedy}")


def _no_text(row: int, name: str) -> CorpusError:
    return CorpusError(f"Row {row + 1:,} of {name} has no text. Leave it out, and what belongs to it.")


def checked(
    texts: Iterable[str], values: NDArray[Any], n_tokens: NDArray[Any] | None, name: str, n_before: int = 0
) -> Rows:
    """A run of rows, with every run of white space in the texts made one space; raises CorpusError.

    values: (k, width) or (k,), any numbers. n_tokens: (k,), any numbers. name: of where they come from, which a message
    names with the row; n_before: the rows before these.
    """
    found = [" ".join(text.split()) for text in texts]
    for row, text in enumerate(found, n_before):
        if not text:
            raise _no_text(row, name)
        if len(text) > MAX_CHARACTERS:
            longest = f"{MAX_CHARACTERS:,} characters"
            raise CorpusError(f"Row {row + 1:,} of {name} has a text of over {longest}. Leave the row out.")
    if values.ndim == 2 and (problem := _too_wide(values.shape[1], name)):
        raise CorpusError(problem)
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(values, np.float32)
        is_finite = np.isfinite(numbers if numbers.ndim == 1 else np.linalg.norm(numbers, axis=1))
    _refuse(~is_finite, name, n_before, "NaN, infinity, or a number too large for float32")
    if numbers.ndim == 1:
        _refuse(numbers < 0, name, n_before, "a norm below 0")
    if n_tokens is None:
        return Rows(found, numbers, None)
    counts = np.asarray(n_tokens)
    _refuse(
        ~((counts >= 0) & (counts < 2**30) & (counts == np.floor(counts))), name, n_before, "a wrong number of tokens"
    )
    return Rows(found, numbers, counts.astype(np.int32))


def _refuse(is_wrong: NDArray[np.bool_], name: str, n_before: int, what: str) -> None:
    if is_wrong.any():
        row = n_before + int(np.flatnonzero(is_wrong)[0]) + 1
        raise CorpusError(f"Row {row:,} of {name} has {what}. Leave it out, or fix it.")
