"""The texts in local files by format: lines and paragraphs, JSON lines, CSV, TSV and Parquet.

Adding a format is an ending in `files.SUFFIXES` and a case in `open_table`.
"""

import codecs
import contextlib
import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
import pyarrow.parquet as pq

from clsviz.atomic import open_regular
from clsviz.errors import CorpusError, first_line
from clsviz.settings import Reading, printable
from clsviz.sources.files import (
    BATCH_SIZE,
    PIECE_BYTES,
    SAMPLE_ROWS,
    BadByteError,
    Limits,
    Table,
    TextFile,
    Values,
    check,
    check_width,
    decoded,
    find_encoding,
    is_plain_text,
    lines,
    megabytes,
    suffix,
    text_columns,
    too_much_text,
    unreadable,
)
from clsviz.sources.segmentation import SAMPLE_CHARACTERS, Wrapped, is_wrapped


def open_table(path: Path, name: str = "", limits: Limits | None = None, reading: Reading = Reading.AUTO) -> Table:
    """The texts of the file at `path`, in the format that the ending of `name`, or else of its own name, tells.

    Texts are read only when asked for, except that .txt, .csv and .tsv are gone through once to find their encoding.
    reading: what is one text in plain text. Raises CorpusError if the file cannot be read, is too large, damaged, in no
    known format, or holds no text.
    """
    name, limits = name or path.name, limits or Limits()
    check(path, name, limits)
    ending = suffix(name)
    file = TextFile(path, printable(name), ending.endswith(".gz"), limits, reading)
    if reading is not Reading.AUTO and not is_plain_text(name):
        raise CorpusError(f"{file.name} is a table, which is not read in {reading}. Leave out the setting reading.")
    match ending.removesuffix(".gz"):
        case ".txt":
            return open_lines(file)
        case ".csv" | ".tsv" as kind:
            return open_csv(file, "" if kind == ".csv" else "\t")
        case ".parquet":
            return open_parquet(file)
    return open_json_lines(file)


def check_whole(path: Path, name: str, limits: Limits) -> None:
    """Raise CorpusError if the file at `path` holds more than `limits` allow when unpacked, having read no more.

    Also if it cannot be unpacked to its end, or cannot be opened.
    """
    check(path, name, limits)
    ending = suffix(name)
    file = TextFile(path, printable(name), ending.endswith(".gz"), limits)
    if file.is_packed:
        for _ in file.chunks():
            pass
    if ending == ".parquet":  # a text that repeats takes no room in it
        with opened(file) as table:
            check_width(len(table.schema_arrow), file)
            names = [column.name for column in table.schema_arrow if is_text(column.type)]
        for column in dict.fromkeys(names):
            for _ in _values(file, BATCH_SIZE, column, only_counted=True):
                pass


def open_lines(file: TextFile) -> Table:
    """The lines of a text file, or its paragraphs, as `file.reading` says.

    Raises CorpusError if it is in no known encoding or holds no text.
    """
    encoding = find_encoding(file)
    characters = partial(decoded, file, encoding)
    beginning = _first_lines(file, encoding, SAMPLE_CHARACTERS + 1)
    if file.reading is Reading.LINES or (file.reading is Reading.AUTO and not is_wrapped(beginning)):
        return Table(file.path, file.name, encoding, (), lambda _: lines(characters(), "\n", file))
    wrapped = Wrapped(beginning)
    return Table(
        file.path, file.name, encoding, (), lambda _: wrapped.paragraphs(lines(characters(), "\n", file)), wrapped
    )


def open_json_lines(file: TextFile) -> Table:
    """A file of JSON objects, their keys being the columns; raises CorpusError if none holds text."""
    sample: dict[str, list[str]] = {}
    fields: dict[str, None] = {}  # keys of strings, numbers and truth values
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
            if isinstance(value, str | int | float):
                fields[key] = None
    check_width(len(sample), file)
    columns = text_columns(sample, file.name)
    read, read_field = partial(_json_values, file, str), partial(_json_values, file, str | int | float)
    return Table(file.path, file.name, "utf-8", columns, read, None, [*fields], read_field)


def _json_values(file: TextFile, kinds: Any, key: str) -> Values:
    for objects in _objects(file):
        yield [str(value) if isinstance(value := found.get(key), kinds) else None for found in objects]


def _objects(file: TextFile) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file, as many at a time as a chunk holds; raises CorpusError at a line that is not one."""
    number = 0
    for found in lines(file.chunks(), b"\n", file):
        objects = []
        for line in found:
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if not line or line.isspace():
                continue
            problem = "is not a JSON object"
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                value, problem = None, f"is not valid JSON at its character {error.colno:,}"
                try:
                    line.decode()
                except UnicodeDecodeError as fault:
                    raise BadByteError(file.name, "utf-8", line[fault.start], number) from None
            if not isinstance(value, dict):
                raise CorpusError(
                    f'Line {number:,} of {file.name} {problem}. Give one object per line, as in {{"text": "…"}}.'
                )
            objects.append(value)
        yield objects


_DELIMITERS = ",;\t|"

_SAID = re.compile(rf'"?sep=([{_DELIMITERS}])"?', re.IGNORECASE)
"""A first line that tells Excel the delimiter."""

_MOST_ABOVE = 10
"""Rows above the header, at most."""

_END = "\x1e\x1e\x1e"
"""A row added after the last: if it is not found there, an open quote has swallowed it."""


@dataclass(frozen=True)
class _Csv:
    """How a table is written."""

    file: TextFile
    encoding: str
    delimiter: str
    is_quoted: bool
    n_skipped: int = 0
    """Lines before the first row."""

    def batches(self, columns: Sequence[int] = (), end: str = "") -> Iterator[Any]:
        """Record batches of some columns as strings, or of all with inferred types; the first row is the header.

        end: rows to read after those of the file. Raises CorpusError if a row has more or fewer fields than the header.
        """
        limits = self.file.limits
        characters = itertools.chain(decoded(self.file, self.encoding), [f"\n{end}"])
        stream = io.BufferedReader(_Utf8(characters), limits.chunk_bytes)
        names = [f"f{index}" for index in columns]  # the library's names for the columns of a file without a header
        strings = {"column_types": dict.fromkeys(names, pa.string()), "include_columns": names}
        refused: list[Any] = []

        def refuse(row: Any) -> str:
            refused.append(row)
            return "error"

        try:
            with pc.open_csv(
                stream,
                # Rows are numbered only without threads, which is fast enough.
                read_options=pc.ReadOptions(
                    autogenerate_column_names=True,
                    block_size=limits.row_bytes,
                    use_threads=False,
                    skip_rows=self.n_skipped,
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
            is_early = row.number <= _MOST_ABOVE and row.actual_columns > row.expected_columns
            above = " Or is there a title above the header? Delete it." if is_early else ""
            return CorpusError(
                f"Row {row.number:,} of {self.file.name} has {fields}, its header {row.expected_columns}. "
                f"Fix the row: a field that contains a {delimiter} or a line break needs quotes around it.{above}"
            )
        if "straddl" in str(error):
            return CorpusError(
                f"{self.file.name} has a row of over {megabytes(self.file.limits.row_bytes)}. "
                "Look for a quote that is opened and never closed."
            )
        return CorpusError(
            f"{self.file.name} cannot be read as a table: {printable(first_line(error))}. Write it again."
        )


class _Utf8(io.RawIOBase):
    """Characters as a stream of bytes, for a library that reads UTF-8."""

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


def open_csv(file: TextFile, delimiter: str = "") -> Table:
    """A table with this delimiter, or the one found in its first lines.

    Raises CorpusError if it cannot be read or has no text.
    """
    encoding, n_skipped = find_encoding(file), 0
    piece = [line for line in _first_lines(file, encoding, PIECE_BYTES) if line]
    if not delimiter and len(piece) > 1 and (said := _SAID.fullmatch(piece[0])):
        delimiter, piece, n_skipped = said[1], piece[1:], 1
    delimiter = delimiter or _find_delimiter(piece)
    table = _Csv(file, encoding, delimiter, not _has_mere_quotes(piece, delimiter), n_skipped)
    check_width(piece[0].count(delimiter) // 2, file)  # roughly, since some may be quoted; building them takes memory
    n_columns = next(table.batches()).num_columns
    check_width(n_columns, file)
    sample: list[list[str]] = [[] for _ in range(n_columns)]
    for batch in table.batches(range(n_columns)):
        for values, column in zip(sample, batch.columns, strict=True):
            values += column.slice(0, 1 + SAMPLE_ROWS - len(values)).to_pylist()
        if len(sample[0]) > SAMPLE_ROWS:
            break
    above = _rows_above(list(zip(*sample, strict=True)))
    names = _unique_names([values[above] for values in sample])
    columns = text_columns({name: values[above + 1 :] for name, values in zip(names, sample, strict=True)}, file.name)

    def read(column: str) -> Values:
        return _csv_values(table, names.index(column), n_columns, above)

    return Table(file.path, file.name, encoding, columns, read, None, names, read)


def _rows_above(rows: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the header: those of a title, as spreadsheets write it, and empty ones.

    They have nothing beyond their first field. The row below them is a header only if it names every column, with
    letters; else the first row is.
    """
    above = next((n for n, row in enumerate(rows[: _MOST_ABOVE + 1]) if any(map(str.strip, row[1:]))), 0)
    return above if all(any(map(str.isalpha, name)) for name in rows[above]) else 0


def _csv_values(table: _Csv, column: int, n_columns: int, above: int) -> Values:
    """The values of a column below its header; raises CorpusError if a quote is never closed."""
    values: list[str] = []
    header, n_rows = above + 1, 0
    for batch in table.batches([column], table.delimiter.join([_END] * n_columns)):
        values += batch.column(0).slice(header).to_pylist()
        header, n_rows = max(0, header - batch.num_rows), n_rows + batch.num_rows
        yield values[:-1]
        del values[:-1]
    if values != [_END]:
        raise CorpusError(
            f"Row {n_rows:,} of {table.file.name} opens a quote that is never closed. Close it where its field ends."
        )


def _first_lines(file: TextFile, encoding: str, n: int) -> list[str]:
    """The whole lines at the beginning of a file, from the first that is not blank on, of n characters or more."""
    piece = ""
    for text in decoded(file, encoding):
        piece = (piece + text).lstrip("\n")
        if len(piece) >= n:
            return piece.split("\n")[:-1] or [piece]
    return piece.split("\n")


def _find_delimiter(lines: Sequence[str]) -> str:
    """What separates the names in the header; if that is ambiguous, what occurs evenly in the rows as well."""
    candidates = [delimiter for delimiter in _DELIMITERS if delimiter in lines[0]] or [","]
    if len(candidates) == 1:
        return candidates[0]
    try:  # on a few lines only, since it looks for quotes in quadratic time
        found = csv.Sniffer().sniff("\n".join(lines[:20])[:10_000], "".join(candidates)).delimiter
    except csv.Error:
        return candidates[0]
    return found if found in candidates else candidates[0]


def _has_mere_quotes(lines: Sequence[str], delimiter: str) -> bool:
    """Whether quotes are ordinary characters, as in many files with tabs, where they would otherwise swallow rows.

    They are if a field begins with one without being quoted as a whole, while all lines have the same number of fields.
    """
    if delimiter != "\t" or "\t" not in lines[0] or len({line.count("\t") for line in lines}) > 1:
        return False
    quoted = re.compile(r'"(?:[^"]|"")*"')
    return any(field.startswith('"') and not quoted.fullmatch(field) for line in lines for field in line.split("\t"))


def _unique_names(header: Iterable[str]) -> list[str]:
    """The names in a header, made unique and none of them empty."""
    names: dict[str, None] = {}
    copies: Counter[str] = Counter()
    for number, cell in enumerate(header, 1):
        name = stem = " ".join(cell.split()) or f"column {number}"
        while name in names:
            copies[stem] += 1
            name = f"{stem} ({copies[stem] + 1})"
        names[name] = None
    return list(names)


def open_parquet(file: TextFile) -> Table:
    """The columns of text in a Parquet file; raises CorpusError if it has none, is damaged or is too large."""
    limits = file.limits
    with opened(file) as table:
        check_width(len(table.schema_arrow), file)
        names = [column.name for column in table.schema_arrow if is_text(column.type)]
        fields = [column.name for column in table.schema_arrow if is_field(column.type)]
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        n_bytes = sum(group.total_byte_size for group in groups)
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        # Long texts come in smaller batches, to save memory.
        batch_size = max(1, min(BATCH_SIZE, limits.row_bytes * table.metadata.num_rows // max(1, n_bytes)))
    if n_bytes > limits.text_bytes:
        raise too_much_text(file)
    if largest > limits.column_bytes:
        raise CorpusError(
            f"{file.name} is made of row groups of over {megabytes(limits.column_bytes)}. Write it with smaller ones."
        )
    sample = {name: next(_values(file, SAMPLE_ROWS, name), []) for name in dict.fromkeys(names)}
    columns = text_columns(sample, file.name)
    read, read_field = partial(_values, file, batch_size), partial(_plain_values, file, batch_size)
    return Table(file.path, file.name, "utf-8", columns, read, None, fields, read_field)


def _values(file: TextFile, batch_size: int, column: str, *, only_counted: bool = False) -> Values:
    """The values of a column; raises CorpusError once they are too much. only_counted: give empty lists instead."""
    n_bytes = 0
    with opened(file, column) as table:
        for batch in table.iter_batches(batch_size, columns=[column]):
            values = column_of(batch, column)
            n_bytes_here = n_bytes_of(values)
            if n_bytes_here > file.limits.batch_bytes:
                limit = megabytes(file.limits.batch_bytes)
                raise CorpusError(f"{file.name} holds over {limit} in {len(values):,} texts. Give shorter ones.")
            n_bytes += max(n_bytes_here, 4 * len(values))  # a place in memory for each, even if it is empty
            if n_bytes > file.limits.text_bytes:
                raise too_much_text(file)
            yield [] if only_counted else values.to_pylist()


def _plain_values(file: TextFile, batch_size: int, column: str) -> Values:
    """The same of a column that may hold numbers or times, as texts."""
    with opened(file) as table:
        schema = table.schema_arrow
        if any(field.name == column and is_text(field.type) for field in schema):
            yield from _values(file, batch_size, column)
            return
        names = class_names(table.metadata, column)
        for batch in table.iter_batches(batch_size, columns=[column]):
            yield as_text(column_of(batch, column), names)


def class_names(footer: pq.FileMetaData, column: str) -> list[str]:
    """What the numbers of a column stand for, from 0, as the datasets library notes it; none where it does not."""
    try:
        feature = json.loads(footer.metadata[b"huggingface"])["info"]["features"][column]
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (LookupError, TypeError, ValueError, RecursionError):  # most files say nothing, and anybody may write any
        return []
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []


def as_text(values: pa.Array, names: Sequence[str]) -> list[str | None]:
    """Values of a column as texts; with the names of classes, those of numbers without one, as -1 is, are blank."""
    if not names:
        found: list[str | None] = values.cast(pa.string()).to_pylist()
        return found
    return [names[at] if isinstance(at, int) and 0 <= at < len(names) else None for at in values.to_pylist()]


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type may hold text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_field(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds text, numbers, truth values or times."""
    types = pa.types
    return bool(
        is_text(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )


def column_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """A column of texts, else of numbers, truth values or times; a path into a nested one may read like its name."""
    fields = zip(batch.schema, batch.columns, strict=True)
    found = [(field.type, values) for field, values in fields if field.name == column and is_field(field.type)]
    return next((values for kind, values in found if is_text(kind)), found[0][1])


def n_bytes_of(values: pa.Array) -> int:
    """Size of texts, counting those that are stored once as often as they occur."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = compute.binary_length(values.dictionary.cast(pa.large_string()))
    return int(compute.sum(lengths.take(values.indices)).as_py() or 0)


@contextlib.contextmanager
def opened(file: TextFile, column: str = "") -> Iterator[Any]:
    """An open Parquet file; repeated texts of `column` are held only once.

    Raises CorpusError if it is not one or is damaged, also for whatever is read in the block.
    """
    try:
        with (
            open_regular(file.path) as stream,
            # Without buffering ahead, which would read a whole row group.
            pq.ParquetFile(
                stream,
                buffer_size=file.limits.chunk_bytes,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[column] if column else None,
            ) as table,
        ):
            yield table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(file.name, error) from None
        raise CorpusError(
            f"{file.name} is not a Parquet file, or a damaged one ({printable(first_line(error))}). Write or copy it "
            "again."
        ) from None
