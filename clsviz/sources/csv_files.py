"""Tables with a header, with comma- or tab-separated values."""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc

from clsviz.errors import CorpusError, first_line
from clsviz.settings import printable
from clsviz.sources.tables import SAMPLE_ROWS, Table, Values, check_width, text_columns
from clsviz.sources.text_files import PIECE_BYTES, TextFile, decoded, find_encoding, megabytes

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


def open_csv(file: TextFile) -> Table:
    """A table whose delimiter is found in its first lines; raises CorpusError if it cannot be read or has no text."""
    encoding = find_encoding(file)
    piece = _first_lines(file, encoding)
    if len(piece) > 1 and (said := _SAID.fullmatch(piece[0])):
        return _opened(file, encoding, said[1], piece[1:], n_skipped=1)
    return _opened(file, encoding, _find_delimiter(piece), piece)


def open_tsv(file: TextFile) -> Table:
    """A table with tabs between its columns; raises CorpusError if it cannot be read or has no text."""
    encoding = find_encoding(file)
    return _opened(file, encoding, "\t", _first_lines(file, encoding))


def _opened(file: TextFile, encoding: str, delimiter: str, piece: Sequence[str], n_skipped: int = 0) -> Table:
    """A table that begins with the lines `piece`."""
    table = _Csv(file, encoding, delimiter, not _has_mere_quotes(piece, delimiter), n_skipped)
    check_width(piece[0].count(delimiter) // 2, file)  # roughly, since some may be quoted; building them takes memory
    n_columns = next(table.batches()).num_columns
    check_width(n_columns, file)
    sample = _first_rows(table, n_columns)
    above = _rows_above(list(zip(*sample, strict=True)))
    names = _unique_names([values[above] for values in sample])
    columns = text_columns({name: values[above + 1 :] for name, values in zip(names, sample, strict=True)}, file.name)

    def read(column: str) -> Values:
        return _values(table, names.index(column), n_columns, above)

    return Table(file.path, file.name, encoding, columns, read, None, names, read)


def _first_rows(table: _Csv, n_columns: int) -> list[list[str]]:
    """The header and the first rows of a table, column by column."""
    rows: list[list[str]] = [[] for _ in range(n_columns)]
    for batch in table.batches(range(n_columns)):
        for values, column in zip(rows, batch.columns, strict=True):
            values += column.slice(0, 1 + SAMPLE_ROWS - len(values)).to_pylist()
        if len(rows[0]) > SAMPLE_ROWS:
            break
    return rows


def _rows_above(rows: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the header: those of a title, as spreadsheets write it, and empty ones.

    They have nothing beyond their first field. The row below them is a header only if it names every column, with
    letters; else the first row is.
    """
    above = next((n for n, row in enumerate(rows[: _MOST_ABOVE + 1]) if any(map(str.strip, row[1:]))), 0)
    return above if all(any(map(str.isalpha, name)) for name in rows[above]) else 0


def _values(table: _Csv, column: int, n_columns: int, above: int) -> Values:
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


def _first_lines(file: TextFile, encoding: str) -> list[str]:
    """The whole lines at the beginning of a file, without blank ones."""
    piece = ""
    for text in decoded(file, encoding):
        piece = (piece + text).lstrip("\n")
        if len(piece) >= PIECE_BYTES:
            piece = piece[: piece.rfind("\n") + 1] or piece
            break
    return [line for line in piece.split("\n") if line]


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
