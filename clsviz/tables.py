"""Texts out of local files: lines, tables with a header, JSON lines and Parquet, read piece by piece.

A table names its columns that hold text; which of them is read is the user's to choose.
"""

import codecs
import contextlib
import csv
import io
import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from clsviz import text_files
from clsviz.errors import CorpusError, first_line
from clsviz.experiment import is_name, printable, shown

SUFFIXES = (
    *(".txt", ".csv", ".tsv", ".jsonl", ".ndjson"),
    *(".txt.gz", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz", ".parquet"),
)
"""The endings of the files that are read, in small letters."""
MAX_FILE_BYTES = 200 * 2**20
"""Size of the largest file that is read."""
MAX_COLUMNS = 1000
"""Of a table, strings or not; one of more is not about texts."""
BATCH_SIZE = 10_000
"""Texts that are handed on at once, at most."""

_MAX_CHUNK_BYTES, _MAX_BATCH_BYTES = 512 * 2**20, 64 * 2**20
"""Of a column of a row group, and of what is read of it at once, both unpacked."""
_SAMPLE_ROWS = 200
"""First rows of a table, from which the columns that hold text are told."""
_SHOWN_COLUMNS = 12
_DELIMITERS = ",;\t|"
_END = "\x1e\x1e\x1e"
"""Stands in a row after the last: where it is not found as such, an open quote has swallowed it."""
_KNOWN_NAMES = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Of columns that hold the text a table is about, likeliest first."""

Values = Iterator[Sequence[str | None]]
"""What a column holds, piece by piece, as it stands in the file."""


@dataclass(frozen=True)
class Table:
    """A local file of texts, under the name to show in messages.

    columns: those that hold text, likeliest first; none where the file is a text a line.
    """

    path: Path
    name: str
    encoding: str
    columns: tuple[str, ...]
    _read: Callable[[str], Values] = field(repr=False, compare=False)

    def texts(self, column: str = "") -> Iterator[list[str]]:
        """The texts of a column, the likeliest if none is named, in batches of at most BATCH_SIZE.

        Runs of white space, line breaks included, are one space; blanks and nulls are left out. Raises CorpusError
        where there is no such column, and on the way where the file is damaged or the column holds no text at all.
        """
        if column and column not in self.columns:
            raise CorpusError(
                f"{printable(self.name)} has no column “{shown(column)}” that holds text. {self._choices()}"
            )
        return self._batches(column or next(iter(self.columns), ""))

    def _choices(self) -> str:
        if not self.columns:
            return "It has no columns: it is a text a line."
        more = len(self.columns) - _SHOWN_COLUMNS
        names = ", ".join(map(shown, self.columns[:_SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
        return f"Choose one of these: {names}."

    def _batches(self, column: str) -> Iterator[list[str]]:
        is_empty = True
        for values in self._read(column):
            for start in range(0, len(values), BATCH_SIZE):
                if texts := _texts(values[start : start + BATCH_SIZE]):
                    is_empty = False
                    yield texts
        if is_empty:
            raise text_files.no_text(printable(self.name))


def open_table(path: Path, name: str = "") -> Table:
    """The texts of the file at `path`, in the format that the ending of `name`, or else of its own name, says.

    Texts are read only when asked for; but .txt, .csv and .tsv are gone through once, to tell their encoding. Raises
    CorpusError where the file cannot be read, is too large, damaged, of no known format or holds no text.
    """
    name = name or path.name
    check(path, name)
    file = text_files.TextFile(path, printable(name), is_packed=suffix(name).endswith(".gz"))
    match suffix(name).removesuffix(".gz"):
        case ".txt":
            encoding = text_files.find_encoding(file)
            characters = partial(text_files.decoded, file, encoding)
            return Table(path, name, encoding, (), lambda _: text_files.lines(characters(), "\n", file.name))
        case ".csv" | ".tsv" as kind:
            return _open_csv(file, name, is_tsv=kind == ".tsv")
        case ".parquet":
            return _open_parquet(file, name)
        case _:
            columns = _text_columns(_sample_of_objects(file), file.name)
            return Table(path, name, "utf-8", columns, lambda column: _json_values(file, column))


def suffix(name: str) -> str:
    """The ending of a file's name, one of SUFFIXES; raises CorpusError where it is none of them."""
    found = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
    if found is None:
        raise CorpusError(f"{printable(name)} is of no known format. Give a file ending in {', '.join(SUFFIXES)}.")
    return found


def check(path: Path, name: str) -> None:
    """Raise CorpusError where there is no regular file, or one that is too large: a pipe would be waited for."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise CorpusError(f"There is no file “{printable(str(path))}”. Name one that is there.") from None
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        raise text_files.unreadable(printable(name), error) from None
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{printable(name)} cannot be read: it is no regular file. Name a file ending as it should.")
    if status.st_size > MAX_FILE_BYTES:
        raise CorpusError(
            f"{printable(name)} is larger than {text_files.megabytes(MAX_FILE_BYTES)}. Take a part of it."
        )


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type may hold text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def rank(column: str, mean_length: float) -> tuple[int, float]:
    """What sorts columns of text by how likely they hold what a table is about: known names, then long texts, first."""
    known = column.strip().casefold()
    return (_KNOWN_NAMES.index(known) if known in _KNOWN_NAMES else len(_KNOWN_NAMES)), -mean_length


# Tables with a header


@dataclass(frozen=True)
class _Csv:
    """How a table is written."""

    file: text_files.TextFile
    encoding: str
    delimiter: str
    is_quoted: bool

    def batches(self, columns: Sequence[int] = (), end: str = "") -> Iterator[Any]:
        """Record batches of some columns as strings, or of all as what they seem to be; the first row is the header.

        end: rows to read after those of the file. Raises CorpusError where a row has another number of fields than the
        header.
        """
        stream = io.BufferedReader(
            _Utf8(itertools.chain(text_files.decoded(self.file, self.encoding), [f"\n{end}"])), text_files.CHUNK_BYTES
        )
        names = [f"f{index}" for index in columns]  # as the library calls the columns of a file without a header
        strings = {"column_types": dict.fromkeys(names, pa.string()), "include_columns": names}
        refused: list[Any] = []

        def refuse(row: Any) -> str:
            refused.append(row)
            return "error"

        try:
            with pc.open_csv(
                stream,
                # Without threads, as only then rows are numbered; and it is fast enough.
                read_options=pc.ReadOptions(
                    autogenerate_column_names=True, block_size=text_files.MAX_ROW_BYTES, use_threads=False
                ),
                parse_options=pc.ParseOptions(
                    delimiter=self.delimiter,
                    quote_char='"' if self.is_quoted else False,
                    newlines_in_values=self.is_quoted,
                    invalid_row_handler=refuse,
                ),
                convert_options=pc.ConvertOptions(**(strings if names else {})),
            ) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            raise self._mistake(error, refused) from None

    def _mistake(self, error: Exception, refused: Sequence[Any]) -> CorpusError:
        if refused:
            row = refused[0]
            fields = f"{row.actual_columns} field{'' if row.actual_columns == 1 else 's'}"
            delimiter = "tab" if self.delimiter == "\t" else f"“{self.delimiter}”"
            return CorpusError(
                f"Row {row.number:,} of {self.file.name} has {fields}, its header {row.expected_columns}. "
                f"Mend the row: a field that holds a {delimiter} or a line break needs quotes around it."
            )
        if "straddl" in str(error):
            return CorpusError(
                f"{self.file.name} has a row of over {text_files.megabytes(text_files.MAX_ROW_BYTES)}. "
                "Look for a quote that is opened and never closed."
            )
        return CorpusError(
            f"{self.file.name} cannot be read as a table: {printable(first_line(error))}. Write it anew."
        )


class _Utf8(io.RawIOBase):
    """Characters as a file of bytes, for a library that reads UTF-8."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the beginning of a buffer; 0 at the end."""
        while not self._rest:
            text = next(self._texts, None)
            if text is None:
                return 0
            self._rest = memoryview(text.encode())
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _open_csv(file: text_files.TextFile, name: str, *, is_tsv: bool) -> Table:
    encoding = text_files.find_encoding(file)
    piece = _first_lines(file, encoding)
    delimiter = "\t" if is_tsv else _find_delimiter(piece)
    table = _Csv(file, encoding, delimiter, is_quoted=not _has_mere_quotes(piece, delimiter))
    _check_width(piece[0].count(delimiter) // 2, file.name)  # roughly, before they are all built: some may be quoted
    n_columns = next(table.batches()).num_columns
    _check_width(n_columns, file.name)
    sample = _first_rows(table, n_columns)
    names = _unique_names([values[0] for values in sample])
    columns = _text_columns({name: values[1:] for name, values in zip(names, sample, strict=True)}, file.name)
    return Table(file.path, name, encoding, columns, lambda column: _csv_values(table, names.index(column), n_columns))


def _first_rows(table: _Csv, n_columns: int) -> list[list[str]]:
    """The header and the first rows of a table, column by column."""
    rows: list[list[str]] = [[] for _ in range(n_columns)]
    for batch in table.batches(range(n_columns)):
        for values, column in zip(rows, batch.columns, strict=True):
            values += column.slice(0, 1 + _SAMPLE_ROWS - len(values)).to_pylist()
        if len(rows[0]) > _SAMPLE_ROWS:
            break
    return rows


def _csv_values(table: _Csv, column: int, n_columns: int) -> Values:
    """What a column holds, without its header; raises CorpusError where a quote is never closed."""
    values: list[str] = []
    header, n_rows = 1, 0
    for batch in table.batches([column], table.delimiter.join([_END] * n_columns)):
        values += batch.column(0).slice(header).to_pylist()
        header, n_rows = max(0, header - batch.num_rows), n_rows + batch.num_rows
        yield values[:-1]
        del values[:-1]
    if values != [_END]:
        raise CorpusError(
            f"Row {n_rows:,} of {table.file.name} opens a quote that is never closed. Close it where its field ends."
        )


def _first_lines(file: text_files.TextFile, encoding: str) -> list[str]:
    """The lines at the beginning of a file that are not blank, all of them whole."""
    piece = ""
    for text in text_files.decoded(file, encoding):
        piece = (piece + text).lstrip("\n")
        if len(piece) >= text_files.PIECE_BYTES:
            piece = piece[: piece.rfind("\n") + 1] or piece
            break
    return [line for line in piece.split("\n") if line]


def _find_delimiter(lines: Sequence[str]) -> str:
    """What stands between the names of the header, and, where that can be several, evenly in the rows as well."""
    candidates = [delimiter for delimiter in _DELIMITERS if delimiter in lines[0]] or [","]
    if len(candidates) == 1:
        return candidates[0]
    try:  # of a few lines, as it looks for quotes in quadratic time
        found = csv.Sniffer().sniff("\n".join(lines[:20])[:10_000], "".join(candidates)).delimiter
    except csv.Error:
        return candidates[0]
    return found if found in candidates else candidates[0]


def _has_mere_quotes(lines: Sequence[str], delimiter: str) -> bool:
    """Whether quotes are characters like any other, as in many files with tabs, where they would swallow rows.

    So it is where a field begins with one and is not quoted as a whole, and yet all lines have as many fields.
    """
    if delimiter != "\t" or "\t" not in lines[0] or len({line.count("\t") for line in lines}) > 1:
        return False
    quoted = re.compile(r'"(?:[^"]|"")*"')
    return any(field.startswith('"') and not quoted.fullmatch(field) for line in lines for field in line.split("\t"))


def _unique_names(header: Iterable[str]) -> list[str]:
    """The names of a header, none of them empty, none twice."""
    names: dict[str, None] = {}
    copies: Counter[str] = Counter()
    for number, cell in enumerate(header, 1):
        name = stem = " ".join(cell.split()) or f"column {number}"
        while name in names:
            copies[stem] += 1
            name = f"{stem} ({copies[stem] + 1})"
        names[name] = None
    return list(names)


# JSON lines


def _objects(file: text_files.TextFile) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file, as many at once as a chunk holds; raises CorpusError at a line that is none."""
    number = 0
    for lines in text_files.lines(file.chunks(), b"\n", file.name):
        objects = []
        for line in lines:
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line and not line.isspace():
                objects.append(_object(line, number, file.name))
        yield objects


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            line.decode()
        except UnicodeDecodeError as fault:
            raise text_files.BadByteError(name, "utf-8", line[fault.start], number) from None
        problem = f"is not valid JSON at its character {error.colno:,}"
    else:
        if isinstance(value, dict):
            return value
        problem = "is no JSON object"
    raise CorpusError(f'Line {number:,} of {name} {problem}. Give one object a line, as {{"text": "…"}}.')


def _sample_of_objects(file: text_files.TextFile) -> dict[str, list[str]]:
    """The strings in the first lines, by their keys."""
    sample: dict[str, list[str]] = {}
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), _SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
    _check_width(len(sample), file.name)
    return sample


def _json_values(file: text_files.TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [value for found in objects if isinstance(value := found.get(key), str)]


# Parquet


def _open_parquet(file: text_files.TextFile, name: str) -> Table:
    with _parquet(file) as table:
        _check_width(len(table.schema_arrow), file.name)
        names = [column.name for column in table.schema_arrow if is_text(column.type)]
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        n_bytes = sum(group.total_byte_size for group in groups)
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        # Long texts come in smaller batches, for the sake of the memory.
        batch_size = max(1, min(BATCH_SIZE, text_files.MAX_ROW_BYTES * table.metadata.num_rows // max(1, n_bytes)))
    if n_bytes > text_files.MAX_TEXT_BYTES:
        raise text_files.too_much_text(file.name)
    if largest > _MAX_CHUNK_BYTES:
        limit = text_files.megabytes(_MAX_CHUNK_BYTES)
        raise CorpusError(f"{file.name} is made of row groups of over {limit}. Write it with smaller ones.")
    sample = {name: next(_parquet_values(file, _SAMPLE_ROWS, name), []) for name in dict.fromkeys(names)}
    columns = _text_columns(sample, file.name)
    return Table(file.path, name, "utf-8", columns, partial(_parquet_values, file, batch_size))


def _parquet_values(file: text_files.TextFile, batch_size: int, column: str) -> Values:
    with _parquet(file, column) as table:
        for batch in table.iter_batches(batch_size, columns=[column]):
            values = values_of(batch, column)
            if n_bytes_of(values) > _MAX_BATCH_BYTES:
                limit = text_files.megabytes(_MAX_BATCH_BYTES)
                raise CorpusError(f"{file.name} holds over {limit} in {len(values):,} texts. Give shorter ones.")
            yield values.to_pylist()


def values_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """A column of texts; a path into a nested column may read like its name."""
    fields = zip(batch.schema, batch.columns, strict=True)
    return next(values for field, values in fields if field.name == column and is_text(field.type))


def n_bytes_of(values: pa.Array) -> int:
    """Size of texts, as if none was stored once and meant twice."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = compute.binary_length(values.dictionary.cast(pa.large_string()))
    return int(compute.sum(lengths.take(values.indices)).as_py() or 0)


@contextlib.contextmanager
def _parquet(file: text_files.TextFile, column: str = "") -> Iterator[Any]:
    """An open Parquet file, with the texts of a column as they are stored: once, where they are meant often.

    Raises CorpusError where it is none or damaged, also for what is read in the block.
    """
    try:
        with (
            file.path.open("rb") as stream,
            # Without buffering ahead, as that would be a whole group of rows.
            pq.ParquetFile(
                stream,
                buffer_size=text_files.CHUNK_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[column] if column else None,
            ) as table,
        ):
            yield table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise text_files.unreadable(file.name, error) from None
        raise CorpusError(
            f"{file.name} is no Parquet file, or a damaged one ({printable(first_line(error))}). Write or copy it anew."
        ) from None


# Columns, texts and messages


def _text_columns(sample: Mapping[str, Iterable[str | None]], name: str) -> tuple[str, ...]:
    """The columns that hold text by their first values, likeliest first; raises CorpusError where there is none.

    They come in the order of the known names, then of the mean length of a value.
    """
    ranks: dict[str, tuple[int, float]] = {}
    for column, values in sample.items():
        if not is_name(column):
            continue  # no setting could hold it
        texts = _texts(values)
        if 2 * sum(any(map(str.isalpha, text)) for text in texts) > len(texts):
            ranks[column] = rank(column, sum(map(len, texts)) / len(texts))
    if not ranks:
        raise text_files.no_text(name)
    return tuple(sorted(ranks, key=ranks.__getitem__))


def _texts(values: Iterable[str | None]) -> list[str]:
    """The values that are not blank, every run of white space in them one space."""
    return [text for value in values if value and (text := " ".join(value.split()))]


def _check_width(n_columns: int, name: str) -> None:
    if n_columns > MAX_COLUMNS:
        raise CorpusError(f"{name} has {n_columns:,} columns, and at most {MAX_COLUMNS:,} are read. Leave some out.")
