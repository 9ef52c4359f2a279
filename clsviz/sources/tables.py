"""Files of texts as tables: plain text, CSV, JSON, JSON lines and Parquet, some rows at a time."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import text_files
from clsviz.sources.csv_records import SAMPLE_LINES, Layout, Records, find_layout
from clsviz.sources.sentences import paragraphs
from clsviz.sources.text_files import TextFile

SUFFIXES: Final = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
"""Endings of the files that are read; .gz may follow all but the last."""

BATCH_ROWS: Final = 10_000
BATCH_CHARACTERS: Final = 16 * 2**20
MOST_COLUMNS: Final = 1000
MOST_EXAMPLES: Final = 3

LARGEST_DOCUMENT: Final = 512 * 2**20
"""Characters of a JSON value over many lines, which is in memory as one."""

KNOWN_NAMES: Final = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Names that the main column of texts tends to have, likeliest first."""


class Table(Protocol):
    """Rows that can be read again and again."""

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows, some thousands at a time: texts as large_string, other values as string.

        doubts: gets the number of what is doubtful, by kind.
        """


def open_table(path: Path, name: str, encoding: str = "", progress: Progress = silent) -> Table:
    """The file in the format that its name ends in.

    Raises CorpusError where it cannot be read, SettingError where the encoding cannot be heeded.
    """
    text_files.check_file(path)
    suffix = suffix_of(name)
    if suffix == ".parquet":
        if encoding:
            raise SettingError(f"{quote(name)} has no encoding to set.", "Leave encoding out.")
        return Parquet(path, name)
    text = text_files.open_text(path, name, encoding, progress)
    if suffix == ".txt":
        return Lines(text)
    return Json(text) if "json" in suffix else open_csv(text, "\t" if suffix == ".tsv" else "")


def suffix_of(name: str) -> str:
    """The ending of a file's name, one of SUFFIXES; raises CorpusError where it is none."""
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or name.lower().endswith(".parquet.gz"):
        choices = ", ".join(SUFFIXES)
        reason = f"{quote(name)} has no ending of a file of texts."
        raise CorpusError(
            reason, f"Convert it to one that ends in {choices}, packed by gzip or not."
        )
    return suffix


@dataclass
class Column:
    """Counts of a column.

    n_texts, n_with_letters, n_characters: texts that are not blank, and characters in all of them.
    n_with_spaces, n_repeated: texts with white space inside, and those that come up again soon.
    longest: characters of the longest value of any kind. example: the first one.
    """

    n_texts: int = 0
    n_with_letters: int = 0
    n_characters: int = 0
    n_with_spaces: int = 0
    n_repeated: int = 0
    longest: int = 0
    example: str = ""

    @property
    def mean_length(self) -> float:
        """Characters of a text."""
        return self.n_characters / max(1, self.n_texts)

    @property
    def holds_labels(self) -> bool:
        """True if most values repeat, and hardly any has two words."""
        return 2 * self.n_repeated > self.n_texts and 10 * self.n_with_spaces < self.n_texts


def survey(batches: Iterable[pa.Table]) -> dict[str, Column]:
    """The counts of all columns, in the order in which they come up; raises CorpusError."""
    columns: dict[str, Column] = {}
    for batch in batches:
        for name, values in zip(batch.column_names, batch.columns, strict=True):
            column = columns.setdefault(name, Column())
            lengths = pc.utf8_length(values)
            column.longest = max(column.longest, pc.max(lengths).as_py() or 0)
            column.example = column.example or str(next(iter(values.drop_null()), ""))
            if pa.types.is_large_string(values.type):
                is_text = pc.invert(is_blank(values))
                column.n_texts += pc.sum(is_text).as_py() or 0
                column.n_characters += pc.sum(lengths.filter(is_text)).as_py() or 0
                has_letters = pc.match_substring_regex(values, r"\p{L}")
                column.n_with_letters += pc.sum(has_letters).as_py() or 0
                has_spaces = pc.match_substring_regex(values, r"\S\s+\S")
                column.n_with_spaces += pc.sum(has_spaces).as_py() or 0
                texts = values.filter(is_text)
                column.n_repeated += len(texts) - pc.count_distinct(texts).as_py()
        if len(columns) > MOST_COLUMNS:
            reason = f"The file has over {MOST_COLUMNS:,} columns."
            raise CorpusError(reason, "Leave some out.")
    return columns


def is_blank(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """True for texts without anything but white space, and for missing ones."""
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), True)


def text_columns(columns: Mapping[str, Column]) -> list[str]:
    """Names of the columns that hold text, likeliest first: by known names, then by mean length.

    Columns of labels come last.
    """

    def rank(name: str) -> tuple[bool, int, float]:
        known = name.strip().casefold()
        place = KNOWN_NAMES.index(known) if known in KNOWN_NAMES else len(KNOWN_NAMES)
        return columns[name].holds_labels, place, -columns[name].mean_length

    names = [name for name, column in columns.items() if 2 * column.n_with_letters > column.n_texts]
    return sorted(filter(str.isprintable, names), key=rank)


def choose_column(columns: Mapping[str, Column], column: str, name: str) -> str:
    """The column that is named, or else the likeliest; `name` is that of the file.

    Texts alone are in a column without a name. Raises SettingError where the named one holds no
    text, CorpusError where none does, or only labels.
    """
    if column in columns and (columns[column].n_with_letters or not column):
        return column
    names = text_columns(columns)
    if not columns:
        raise text_files.no_text(name)
    if not names or (not column and len(columns) > 1 and columns[names[0]].holds_labels):
        some = list(columns.items())[:MOST_EXAMPLES]
        holds = ", ".join(f"{quote(key)} holds {quote(about.example)}" for key, about in some)
        reason = f"No column of {quote(name)} is likely to hold texts: {holds}."
        remedy = "Write the texts as strings in a column"
        raise CorpusError(reason, f"{remedy}, or name one of these." if names else f"{remedy}.")
    if column:
        choice = f"Choose {' or '.join(map(quote, names[:12]))}." if any(names) else "Leave it out."
        raise SettingError(f"{quote(name)} has no column {quote(column)} that holds text.", choice)
    return names[0]


@dataclass(frozen=True)
class Lines:
    """Plain text: each line is a row, or each paragraph if the lines are joined."""

    text: TextFile
    is_joined: bool = False

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows, in a column without a name."""
        lines = ([line.rstrip("\r\n") for line in some] for some in self.text.lines(progress))
        for texts in paragraphs(lines) if self.is_joined else lines:
            filled = [text for text in texts if text and not text.isspace()]
            yield pa.table({"": pa.array(filled, pa.large_string())})

    def beginning(self) -> list[str]:
        """The first lines of the file."""
        return [line.rstrip("\r\n") for line in next(self.text.lines())]


@dataclass(frozen=True)
class Csv:
    """Fields between delimiters, below a header."""

    text: TextFile
    layout: Layout

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows; fields beyond the last one belong to it, as those of a text with commas."""
        delimiter, n = self.layout.delimiter, len(self.layout.header)
        lines = itertools.chain.from_iterable(self.text.lines(progress))
        records = Records(lines, delimiter, n, doubts)
        rows: list[list[str]] = []
        n_characters = 0
        for row in itertools.islice(records, self.layout.n_above + 1, None):
            if len(row) != n:
                doubts["ragged"] += 1
                row = [*row[: n - 1], delimiter.join(row[n - 1 :])]
                row += [""] * (n - len(row))
            rows.append(row)
            n_characters += sum(map(len, row))
            if len(rows) == BATCH_ROWS or n_characters > BATCH_CHARACTERS:
                yield self._table(rows)
                rows, n_characters = [], 0
        if rows:
            yield self._table(rows)

    def _table(self, rows: list[list[str]]) -> pa.Table:
        columns = [pa.array(values, pa.large_string()) for values in zip(*rows, strict=True)]
        return pa.table(columns, names=list(self.layout.header))


def open_csv(text: TextFile, delimiter: str = "") -> Csv:
    """A CSV file with the delimiter, or with the one that separates its first rows most evenly."""
    lines = itertools.chain.from_iterable(text.lines())
    sample = list(itertools.islice(filter(str.strip, lines), SAMPLE_LINES))
    return Csv(text, find_layout(sample, delimiter))


@dataclass(frozen=True)
class Json:
    """Objects or strings, one a line or in an array, or an object of columns."""

    text: TextFile

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows; strings are in a column without a name."""
        values = self._values(progress)
        while some := list(itertools.islice(values, BATCH_ROWS)):
            rows = [self._row(place, value) for place, value in some]
            names = dict.fromkeys(itertools.chain.from_iterable(rows))
            try:
                table = pa.table({name: _texts([row.get(name) for row in rows]) for name in names})
            except UnicodeEncodeError as error:
                places = [place for place, _ in some]
                at = [error.object in (*row, *row.values()) for row in rows].index(True)
                raise half_character(f"{places[at]} of {quote(self.text.name)}", error) from None
            yield table

    def _values(self, progress: Progress) -> Iterator[tuple[str, Any]]:
        """The values, each with its place."""
        lines = itertools.chain.from_iterable(self.text.lines(progress))
        if self._is_one_value():
            values = enumerate(self._document("".join(lines)), 1)
            yield from ((f"Value {n:,}", value) for n, value in values)
        else:
            for n, line in enumerate(lines, 1):
                if line.strip():
                    yield f"Line {n:,}", self._value(line, n)

    def _is_one_value(self) -> bool:
        """True if no line but the last ends a value."""
        lines = itertools.chain.from_iterable(self.text.lines())
        first, *others = itertools.islice(filter(str.strip, map(str.strip, lines)), 2)
        return not others or first[0] == "[" or (first[0] == "{" and first[-1] != "}")

    def _document(self, document: str) -> list[Any]:
        """The values in an array, in an object of columns, or the only one."""
        if len(document) > LARGEST_DOCUMENT:
            reason = f"{quote(self.text.name)} is a value of over {LARGEST_DOCUMENT >> 20} MB."
            raise CorpusError(reason, "Write it as JSON lines: an object a line.")
        content = self._value(document, 1)
        if isinstance(content, dict):
            columns = list(content.values())
            if columns and all(isinstance(column, list) for column in columns):
                rows = itertools.zip_longest(*columns)
                return [dict(zip(content, row, strict=True)) for row in rows]
        return content if isinstance(content, list) else [content]

    def _value(self, text: str, line: int) -> Any:
        """The value of a JSON text that begins at a line."""
        place = line
        try:
            return json.loads(text)
        except RecursionError:
            cause, remedy = "is nested too deeply", "Leave it out."
        except json.JSONDecodeError as error:
            place = line + error.lineno - 1
            cause = f"is not valid JSON at its character {error.colno:,}"
            remedy = 'Write an object a line, as {"text": "…"}.'
        except ValueError:
            cause, remedy = "holds a number of too many digits", "Write it as a string."
        raise CorpusError(f"Line {place:,} of {quote(self.text.name)} {cause}.", remedy)

    def _row(self, place: str, value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"": value}
        if not isinstance(value, dict):
            reason = f"{place} of {quote(self.text.name)} is neither an object nor a string."
            raise CorpusError(reason, 'Write an object a line, as {"text": "…"}.')
        return value


def half_character(place: str, error: UnicodeEncodeError) -> CorpusError:
    """The error for a text that cannot be written as UTF-8."""
    cause = f"half a character, a lone surrogate (\\u{ord(error.object[error.start]):x})"
    return CorpusError(f"{place} holds {cause}.", "Write the other half too, or leave it out.")


def _texts(values: list[Any]) -> pa.Array:
    """Values as texts; as string, in JSON, if none of them is a text."""
    is_text = any(isinstance(value, str) for value in values)
    filled = (None if value != value else value for value in values)  # no NaN
    texts = [v if isinstance(v, str | None) else json.dumps(v) for v in filled]
    return pa.array(texts, pa.large_string() if is_text else pa.string())


@dataclass(frozen=True)
class Parquet:
    """The columns of a Parquet file that hold texts, numbers, truth values or times."""

    path: Path
    name: str

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows; raises CorpusError where the file is damaged, or holds too much."""
        size = text_files.check_file(self.path).st_size
        try:
            schema = pq.read_schema(self.path)
            texts = [field.name for field in schema if is_text(field.type)]
            names = [
                field.name for field in schema if is_text(field.type) or _is_scalar(field.type)
            ]
            options = {
                "read_dictionary": texts,
                "page_checksum_verification": True,
                "pre_buffer": False,
            }
            with pq.ParquetFile(self.path, **options) as file:
                groups = map(file.metadata.row_group, range(file.num_row_groups))
                text_files.check_size(
                    sum(group.total_byte_size for group in groups), size, self.name
                )
                n_all = n_rows = 0
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    # A text that repeats is stored once, so that a small file may hold any number.
                    n_unpacked = sum(map(n_bytes, batch.columns))
                    n_all += n_unpacked
                    text_files.check_size(n_all, size, self.name)
                    n_rows += len(batch)
                    progress(n_rows, file.metadata.num_rows, "rows")
                    step = max(
                        1, len(batch) * BATCH_CHARACTERS // max(BATCH_CHARACTERS, n_unpacked)
                    )
                    for start in range(0, len(batch), step):
                        yield _unpacked(batch.slice(start, step), names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno:
                raise text_files.unreadable(self.name, error) from None
            cause = quote(str(error).partition("\n")[0])
            reason = f"{quote(self.name)} is not a Parquet file, or a damaged one ({cause})."
            raise CorpusError(reason, "Write or copy it again.") from None


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type may hold texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    return any(
        is_a(kind) for is_a in (types.is_string, types.is_large_string, types.is_string_view)
    )


def _is_scalar(kind: pa.DataType) -> bool:
    types = pa.types
    numbers = types.is_integer, types.is_floating, types.is_boolean
    return any(is_a(kind) for is_a in (*numbers, types.is_date, types.is_timestamp))


def n_bytes(values: pa.Array) -> int:
    """Size of values, where those that are stored once count as often as they occur."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = pc.binary_length(values.dictionary).take(values.indices)
    return int(pc.sum(lengths).as_py() or 0) + 8 * len(values)


def _unpacked(batch: pa.RecordBatch, names: list[str]) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if name in names and name not in columns:
            kind = pa.large_string() if is_text(values.type) else pa.string()
            columns[name] = values.cast(kind)
            columns[name].validate(full=True)
    return pa.table(columns)
