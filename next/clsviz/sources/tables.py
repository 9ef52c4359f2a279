"""Tables of texts: CSV, TSV, JSON, JSON lines and Parquet, read in batches of rows; plain text as a table of lines."""

import itertools
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import text_files
from clsviz.sources.sentences import paragraphs
from clsviz.sources.text_files import TextFile

BATCH_ROWS, BATCH_CHARACTERS = 10_000, 16 * 2**20

MOST_COLUMNS = 1000

LONGEST_FIELD, MOST_REREAD = 16 * 2**20, 1_000_000
"""Characters after which a quotation mark that opens a field of a CSV file counts as never closed, and
lines looked through in vain after which no field runs over several lines: a file of marks must end."""

FEWEST_SWALLOWED = 3
"""Lines after a quotation mark that a later one may close, if each of them looks like a row."""

SAMPLE_LINES, MOST_ABOVE = 200, 10
"""Lines of a CSV file that show its delimiter, and rows above its header."""

LARGEST_ARRAY = 512 * 2**20
"""Characters of a JSON document that is read at one go."""

DELIMITERS = ",;\t|"

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

KNOWN_NAMES = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Names that the main column of texts tends to have, likeliest first."""


class Table(Protocol):
    """A file of rows, which can be read again and again."""

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows, some thousands at a time; texts are large_string.

        doubts: how often what is doubtful occurs is added to it.
        """


def open_table(path: Path, name: str, encoding: str = "", progress: Progress = silent) -> Table:
    """The file in the format that its name ends in.

    Raises CorpusError where it cannot be read, SettingError where it has no encoding.
    """
    text_files.check_file(path)
    suffix = suffix_of(name)
    if suffix == ".parquet":
        if encoding:
            raise SettingError(f"{quote(name)} has no encoding.", "Leave encoding out.")
        return Parquet(path, name)
    text = text_files.open_text(path, name, encoding, progress)
    if suffix in (".csv", ".tsv"):
        return open_csv(text, "\t" if suffix == ".tsv" else "")
    return Lines(text) if suffix == ".txt" else Json(text)


SUFFIXES = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
"""Endings of the files that are read; all may be followed by .gz."""


def suffix_of(name: str) -> str:
    """The ending of a file's name, one of SUFFIXES; raises CorpusError where it is none."""
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or (suffix == ".parquet" and name.lower().endswith(".gz")):
        reason = f"{quote(name)} has no ending of a file that is read."
        raise CorpusError(
            reason, f"Convert it to one that ends in {', '.join(SUFFIXES)}, packed by gzip or not."
        )
    return suffix


# --- Columns -----------------------------------------------------------------------------------


@dataclass
class Column:
    """What is known of a column: values that are not blank, those with letters, and lengths of texts.

    n_texts, n_with_letters, n_characters, longest: the last for any column, the others for texts.
    """

    n_texts: int = 0
    n_with_letters: int = 0
    n_characters: int = 0
    longest: int = 0

    @property
    def mean_length(self) -> float:
        """Mean length of the texts in characters."""
        return self.n_characters / max(1, self.n_texts)


def survey(batches: Iterable[pa.Table]) -> dict[str, Column]:
    """The columns of all rows, by name, in the order in which they come up."""
    columns: dict[str, Column] = {}
    for batch in batches:
        for name, values in zip(batch.column_names, batch.columns, strict=True):
            column = columns.setdefault(name, Column())
            lengths = pc.utf8_length(as_strings(values))
            column.longest = max(column.longest, pc.max(lengths).as_py() or 0)
            if pa.types.is_large_string(values.type):
                is_text = pc.and_kleene(pc.invert(is_blank(values)), True)
                column.n_texts += pc.sum(is_text).as_py() or 0
                column.n_characters += pc.sum(lengths.filter(is_text)).as_py() or 0
                with_letters = pc.match_substring_regex(values, r"\p{L}")
                column.n_with_letters += pc.sum(with_letters).as_py() or 0
        if len(columns) > MOST_COLUMNS:
            raise CorpusError(f"The table has over {MOST_COLUMNS:,} columns.", "Leave some out.")
    return columns


def is_blank(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """True for texts without anything but white space, and for missing ones."""
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), True)


def as_strings(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values of any type as text."""
    return values if pa.types.is_large_string(values.type) else values.cast(pa.large_string())


def text_columns(columns: Mapping[str, Column]) -> list[str]:
    """Names of the columns that hold text, likeliest first: by known names, then by mean length."""

    def rank(name: str) -> tuple[int, float]:
        known = name.strip().casefold()
        place = KNOWN_NAMES.index(known) if known in KNOWN_NAMES else len(KNOWN_NAMES)
        return place, -columns[name].mean_length

    names = [name for name, column in columns.items() if 2 * column.n_with_letters > column.n_texts]
    return sorted(filter(str.isprintable, names), key=rank)


def choose_column(columns: Mapping[str, Column], column: str, name: str) -> str:
    """The column that is named, or else the likeliest; `name` is the file's.

    Raises SettingError where it holds no text, CorpusError where none does.
    """
    names = text_columns(columns)
    if column in columns and columns[column].n_with_letters:
        return column
    if column:
        choice = (
            f"Choose {' or '.join(map(quote, names[:12]))}." if names else "Choose another file."
        )
        raise SettingError(f"{quote(name)} has no column {quote(column)} that holds text.", choice)
    if not names:
        raise text_files.no_text(name)
    return names[0]


# --- Plain text --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """Plain text: each line is a row, or each paragraph if the lines are joined."""

    text: TextFile
    is_joined: bool = False

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        lines = ([line.removesuffix("\r") for line in some] for some in self.text.lines(progress))
        for texts in paragraphs(lines) if self.is_joined else lines:
            texts = [text for text in texts if text and not text.isspace()]
            yield pa.table({"": pa.array(texts, pa.large_string())})

    def beginning(self) -> list[str]:
        """The first lines of the file."""
        return [line.removesuffix("\r") for line in next(self.text.lines())]


# --- CSV ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Csv:
    """A table whose fields are separated by a delimiter, with a header; n_above: records above it."""

    text: TextFile
    delimiter: str
    header: tuple[str, ...]
    n_above: int

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        n = len(self.header)
        lines = itertools.chain.from_iterable(self.text.lines(progress))
        records = CsvRecords(self.delimiter, n, doubts).read(lines)
        rows: list[list[str]] = []
        n_characters = 0
        for row in itertools.islice(records, self.n_above + 1, None):
            if len(row) != n:
                doubts["ragged"] += 1
                # What is over belongs to the last field, as in a text with commas.
                row = [*row[: n - 1], self.delimiter.join(row[n - 1 :]), *[""] * (n - len(row))][:n]
            rows.append(row)
            n_characters += sum(map(len, row))
            if len(rows) == BATCH_ROWS or n_characters > BATCH_CHARACTERS:
                yield self._table(rows)
                rows, n_characters = [], 0
        if rows:
            yield self._table(rows)

    def _table(self, rows: Sequence[Sequence[str]]) -> pa.Table:
        columns = [pa.array(values, pa.large_string()) for values in zip(*rows, strict=True)]
        return pa.table(columns, names=list(self.header))


class CsvRecords:
    """Splits lines into records of fields.

    Quotation marks around a field may hold delimiters, line ends and doubled marks (RFC 4180). A mark
    that nothing closes is part of its field, which ends with the line: it must not swallow the rows
    that follow. That nothing closes it is also clear if the next mark stands inside a field, or if many
    lines up to it have as many fields as the header. doubts: gets the number of such marks.
    """

    def __init__(self, delimiter: str, n_fields: int, doubts: Counter[str]) -> None:
        self._delimiter, self._n_fields, self._doubts = delimiter, n_fields, doubts
        end = rf"(?={re.escape(delimiter)}|\Z)"
        self._closed = re.compile(rf'"((?:[^"]++|"")*+)"{end}')
        self._sloppy = re.compile(rf'"((?:(?!{re.escape(delimiter)}")[^\n])*?)"{end}')  # "a "b" c"
        self._open = re.compile(r'"(?:[^"]++|"")*+\Z')
        self._inside = re.compile(rf'(?:[^"]++|"")*+(?:("(?:{re.escape(delimiter)}|\r?\Z))|\Z)?')
        self._n_reread = 0

    def read(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """The records that are not blank."""
        ahead: deque[str] = deque()
        while (line := ahead.popleft() if ahead else next(lines, None)) is not None:
            if '"' not in line:
                row = line.removesuffix("\r").split(self._delimiter)
            else:
                row = self._record(line, ahead, lines)
            if any(row) and any(map(str.strip, row)):
                yield row

    def _record(self, record: str, ahead: deque[str], lines: Iterator[str]) -> list[str]:
        """The fields of the record that begins with a line, for which lines are taken from those ahead."""
        literal = -1  # where a mark stands that is never closed
        while True:
            row, opens = self._fields(record.removesuffix("\r"), literal)
            if opens < 0:
                return row
            n = self._n_lines_to_mark(record, ahead, lines)
            if n:
                record = "\n".join([record, *(ahead.popleft() for _ in range(n))])
            else:
                literal = opens
                self._doubts["unclosed"] += 1

    def _fields(self, record: str, literal: int) -> tuple[list[str], int]:
        """The fields of a record; or where a field opens that its end does not close, else -1."""
        row: list[str] = []
        at = 0
        while True:
            field = None
            if record.startswith('"', at) and at != literal:
                if field := self._closed.match(record, at):
                    row.append(field[1].replace('""', '"'))
                elif field := self._sloppy.match(record, at):
                    row.append(field[1])
                elif self._open.match(record, at):
                    return row, at
            if field:
                at = field.end()
            else:
                stop = record.find(self._delimiter, at)
                stop = len(record) if stop < 0 else stop
                row.append(record[at:stop])
                at = stop
            if at == len(record):
                return row, -1
            at += 1

    def _n_lines_to_mark(self, record: str, ahead: deque[str], lines: Iterator[str]) -> int:
        """Lines ahead up to the one that closes the field that is open; 0 where none does."""
        n_delimiters = self._n_fields - 1
        are_rows = record.count(self._delimiter) == n_delimiters
        n_characters = 0
        for n in itertools.count(1):
            if len(ahead) < n:
                ahead.extend(itertools.islice(lines, 1))
            if len(ahead) < n or n_characters > LONGEST_FIELD or self._n_reread > MOST_REREAD:
                break
            line = ahead[n - 1]
            n_characters += len(line)
            are_rows = are_rows and line.count(self._delimiter) == n_delimiters
            inside = self._inside.match(line)
            if inside and inside[1]:
                if are_rows and n_delimiters and n >= FEWEST_SWALLOWED:
                    break
                self._doubts["doubtful"] += are_rows
                return n
            if inside and inside.end() < len(line):
                break
        self._n_reread += n
        return 0


def open_csv(text: TextFile, delimiter: str = "") -> Csv:
    """A CSV file with the delimiter, or the one that separates its first rows most evenly."""
    sample = list(itertools.islice(itertools.chain.from_iterable(text.lines()), SAMPLE_LINES))
    sample = [line for line in sample if line.strip()] or [""]
    n_above = 0
    if mark := re.fullmatch(rf'"?sep=([{DELIMITERS}])"?\r?', sample[0], re.IGNORECASE):
        n_above, delimiter = 1, mark[1]
    if not delimiter or not any(delimiter in line for line in sample):
        delimiter = _find_delimiter(sample)
    rows = _rows(sample, delimiter)[n_above:] or [[""]]
    # A title stands alone in its row; below it comes a header that names every column.
    n_titles = next(
        (n for n, row in enumerate(rows[:MOST_ABOVE]) if any(map(str.strip, row[1:]))), 0
    )
    if not all(any(map(str.isalpha, name)) for name in rows[n_titles]):
        n_titles = 0
    return Csv(text, delimiter, _unique_names(rows[n_titles]), n_above + n_titles)


def _rows(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    return list(CsvRecords(delimiter, 0, Counter()).read(iter(lines)))


def _find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that most rows have as often as the first; or nearly all as often as each other."""
    evenness = {",": 0.0}
    for delimiter in DELIMITERS:
        counts = [len(row) for row in _rows(lines, delimiter)] or [1]
        n, n_rows = Counter(counts).most_common(1)[0]
        if counts[0] > 1:
            evenness[delimiter] = counts.count(counts[0]) / len(counts)
        elif n > 1 and n_rows > 0.9 * len(counts):
            evenness[delimiter] = n_rows / len(counts)
    return max(evenness, key=evenness.__getitem__)


def _unique_names(header: Iterable[str]) -> tuple[str, ...]:
    """The names of a header, none of them empty, and each only once."""
    names: list[str] = []
    for number, cell in enumerate(header, 1):
        name = stem = " ".join(cell.split()) or f"column {number}"
        copies = (f"{stem} ({n})" for n in itertools.count(2))
        while name in names:
            name = next(copies)
        names.append(name)
    return tuple(names)


# --- JSON --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Json:
    """An array of objects or strings, or one of them a line."""

    text: TextFile

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        values = itertools.chain.from_iterable(self._values(progress))
        while rows := list(itertools.islice(values, BATCH_ROWS)):
            names = dict.fromkeys(itertools.chain.from_iterable(rows))
            yield pa.table({name: _array([row.get(name) for row in rows]) for name in names})

    def _values(self, progress: Progress) -> Iterator[list[dict[str, Any]]]:
        n_lines = 0
        for lines in self.text.lines(progress):
            rows = []
            for n, line in enumerate(lines, n_lines + 1):
                if not line or line.isspace():
                    continue
                if line.lstrip()[0] == "[":
                    yield self._array_rows()
                    return
                rows.append(self._row(self._parsed(line, n), f"Line {n:,}"))
            n_lines += len(lines)
            yield rows

    def _array_rows(self) -> list[dict[str, Any]]:
        document = "\n".join(itertools.chain.from_iterable(self.text.lines()))
        if len(document) > LARGEST_ARRAY:
            reason = f"{quote(self.text.name)} is an array of over {LARGEST_ARRAY >> 20} MB."
            raise CorpusError(reason, "Write it as JSON lines: an object per line.")
        values = self._parsed(document, 1)
        return [self._row(value, f"Value {n:,}") for n, value in enumerate(values, 1)]

    def _parsed(self, text: str, line: int) -> Any:
        """The value of JSON that begins at a line; NaN is accepted."""
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                place = f"Line {line + error.lineno - 1:,} of {quote(self.text.name)}"
                reason = f"{place} is not valid JSON at its character {error.colno:,}."
                raise CorpusError(
                    reason, 'Write an object per line, as in {"text": "…"}.'
                ) from None

    def _row(self, value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, str):
            value = {"": value}
        if not isinstance(value, dict):
            reason = f"{place} of {quote(self.text.name)} is neither an object nor a string."
            raise CorpusError(reason, 'Write an object per line, as in {"text": "…"}.')
        for text in value.values():
            if (
                isinstance(text, str)
                and not text.isascii()
                and (half := LONE_SURROGATE.search(text))
            ):
                reason = f"{place} of {quote(self.text.name)} holds half a character (\\u{ord(half[0]):x})."
                raise CorpusError(
                    reason, "Write both halves of the surrogate pair, or leave it out."
                )
        return value


def _array(values: list[Any]) -> pa.Array:
    """Values of a key: texts if there is any, else numbers, else the JSON of lists and objects as binary."""
    if any(isinstance(value, str) for value in values):
        texts = [json.dumps(v) if isinstance(v, dict | list | bool) else v for v in values]
        return pa.array([None if v is None else str(v) for v in texts], pa.large_string())
    try:
        return pa.array(
            [float(v) if isinstance(v, int | float) else v for v in values], pa.float64()
        )
    except (pa.ArrowException, OverflowError):
        return pa.array([None if v is None else orjson.dumps(v) for v in values], pa.binary())


# --- Parquet -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parquet:
    """The columns of a Parquet file that hold texts, numbers, truth values or times."""

    path: Path
    name: str

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        try:
            yield from self._batches(progress)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno:
                raise text_files.unreadable(self.name, error) from None
            line = str(error).partition("\n")[0]
            reason = f"{quote(self.name)} is not a Parquet file, or a damaged one ({quote(line)})."
            raise CorpusError(reason, "Write or copy it again.") from None

    def _batches(self, progress: Progress) -> Iterator[pa.Table]:
        limit = text_files.largest_content(self.path.stat().st_size)
        schema = pq.read_schema(self.path)
        texts = [field.name for field in schema if is_text(field.type)]
        names = [field.name for field in schema if is_text(field.type) or is_scalar(field.type)]
        n_bytes = n_rows = 0
        with pq.ParquetFile(
            self.path, read_dictionary=texts, page_checksum_verification=True, pre_buffer=False
        ) as file:
            groups = (file.metadata.row_group(n) for n in range(file.num_row_groups))
            if sum(group.total_byte_size for group in groups) > limit:
                raise text_files.too_large(self.name, limit)
            for batch in file.iter_batches(BATCH_ROWS, columns=names):
                # A text that repeats is stored only once, so that a small file may hold any number.
                n_unpacked = sum(map(_n_bytes, batch.columns))
                n_bytes += n_unpacked
                if n_bytes > limit:
                    raise text_files.too_large(self.name, limit)
                n_rows += len(batch)
                progress(n_rows, file.metadata.num_rows, "rows")
                step = max(1, len(batch) * BATCH_CHARACTERS // max(BATCH_CHARACTERS, n_unpacked))
                for start in range(0, len(batch), step):
                    yield _unpacked(batch.slice(start, step), names)


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type may hold text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_scalar(kind: pa.DataType) -> bool:
    """True if a column of this type holds numbers, truth values or times."""
    types = pa.types
    checks = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_date,
        types.is_timestamp,
    )
    return any(check(kind) for check in checks)


def _n_bytes(values: pa.Array) -> int:
    """Size of the values, counting those stored once as often as they occur."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = pc.binary_length(values.dictionary)
    return int(pc.sum(lengths.take(values.indices)).as_py() or 0) + 8 * len(values)


def _unpacked(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if name in names and name not in columns:
            if is_text(values.type):
                values = values.cast(pa.large_string())
                values.validate(full=True)
            columns[name] = values
    return pa.table(columns)
