"""Files of texts as tables: plain text, CSV, JSON, JSON lines and Parquet, some rows at a time."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources import json_shapes, sentences, text_files
from clsviz.sources.csv_records import (
    KNOWN_NAMES,
    SAMPLE_LINES,
    Layout,
    Records,
    check_width,
    find_layout,
)
from clsviz.sources.json_shapes import OBJECTS
from clsviz.sources.text_files import TextFile

SUFFIXES: Final = (".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
"""Endings of the files that are read; .gz may follow all but the last."""

BATCH_ROWS: Final = 10_000
BATCH_CHARACTERS: Final = 16 * 2**20
HEAD_LINES: Final = 20_000  # lines that show if a text is wrapped

MOST_EXAMPLES: Final = 3
SAMPLE_TEXTS: Final = 20  # of some thousand rows, which show the language
MOST_ROW_GROUPS: Final = 20_000  # of a Parquet file: each takes half a millisecond
LARGEST_DOCUMENT: Final = 512 * 2**20  # characters of a JSON value over many lines

NO_HEADER: Final = (
    "The first line is a text like those below it: columns are called 1, 2 and so on."
)

SCALARS: Final = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean),
    *(pa.types.is_date, pa.types.is_timestamp),
)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of a file of text, which can be read again and again: its lines, or its paragraphs."""

    text: TextFile
    segmentation: str = "lines"
    note: str = ""
    """A sentence on what is unusual."""

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows, some thousands at a time: texts as large_string, other values as string.

        doubts: gets the number of what is doubtful, by kind. Raises CorpusError.
        """
        doubts["damaged"] = self.text.n_damaged
        rows: list[Mapping[str, Any]] = []
        n_characters = 0
        for row in self.rows(doubts, progress):
            rows.append(row)
            n_characters += sum(len(value) for value in row.values() if isinstance(value, str))
            if len(rows) == BATCH_ROWS or n_characters > BATCH_CHARACTERS:
                yield _table(rows)
                rows, n_characters = [], 0
        if rows:
            yield _table(rows)

    def rows(self, doubts: Counter[str], progress: Progress) -> Iterator[Mapping[str, Any]]:
        """Values by the names of their columns; "" is that of texts alone."""
        lines = self.text.lines(progress)
        is_joined = self.segmentation == "paragraphs"
        for line in sentences.paragraphs(lines) if is_joined else filter(str.strip, lines):
            yield {"": line.rstrip("\r\n")}


def _table(rows: list[Mapping[str, Any]]) -> pa.Table:
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    check_width(len(names))
    return pa.table({name: strings([row.get(name) for row in rows]) for name in names})


def strings(values: Sequence[Any]) -> pa.Array:
    """Values as large_string if a text is among them, else as string: others are in JSON."""
    kind = pa.large_string() if any(isinstance(v, str) for v in values) else pa.string()
    filled = (None if isinstance(v, float) and v != v else v for v in values)  # no NaN
    texts = [v if isinstance(v, str | None) else json.dumps(v, default=str) for v in filled]
    return pa.array(texts, kind)


@dataclass(frozen=True, kw_only=True)
class Csv(Rows):
    """Fields between delimiters, mostly below a header."""

    layout: Layout

    def rows(self, doubts: Counter[str], progress: Progress) -> Iterator[Mapping[str, Any]]:
        """The rows; fields beyond the last one belong to it, as those of a text with commas."""
        header, delimiter = self.layout.header, self.layout.delimiter
        n = len(header)
        records = Records(self.text.lines(progress), delimiter, n, doubts)
        for row in itertools.islice(records, self.layout.n_above, None):
            if len(row) != n:
                doubts["ragged"] += 1
                row = [*row[: n - 1], delimiter.join(row[n - 1 :])]
            yield dict(itertools.zip_longest(header, row, fillvalue=""))


@dataclass(frozen=True, kw_only=True)
class Json(Rows):
    """Objects, strings or lists, one a line; a document holds a table of any shape."""

    is_document: bool

    def rows(self, doubts: Counter[str], progress: Progress) -> Iterator[Mapping[str, Any]]:
        """The objects, strings in a column without a name, and lists in columns 1, 2 and so on."""
        lines = self.text.lines(progress)
        kind = "Value" if self.is_document else "Line"
        values = ((n, self._value(line, n)) for n, line in enumerate(lines, 1) if line.strip())
        if self.is_document:
            values = ((n, value) for n, value in enumerate(self._document("".join(lines)), 1))
        names: list[str] | None = None  # of lists, if the first value is one
        for n, value in values:
            place = f"{kind} {n:,} of {quote(self.text.name)}"
            row = {"": value} if isinstance(value, str) else value
            if names is None:
                width = len(value) if isinstance(value, list) else 0
                names = [str(number) for number in range(1, width + 1)]
                if width and json_shapes.are_names(value):
                    names = value
                    continue
            if isinstance(value, list) and names:
                if len(value) != len(names):
                    reason = f"{place} is a list of {len(value):,}, and the first one of "
                    raise CorpusError(f"{reason}{len(names):,}.", OBJECTS)
                row = dict(zip(names, value, strict=True))
            if not isinstance(row, dict):
                raise CorpusError(f"{place} is neither an object nor a string.", OBJECTS)
            try:
                "".join(text for text in (*row, *row.values()) if isinstance(text, str)).encode()
            except UnicodeEncodeError as error:
                raise half_character(place, error) from None
            yield row

    def _document(self, document: str) -> Iterable[Any]:
        """The rows of a document, whatever its shape is."""
        if len(document) > LARGEST_DOCUMENT:
            reason = f"{quote(self.text.name)} is a value of over {LARGEST_DOCUMENT >> 20} MB."
            raise CorpusError(reason, "Write it as JSON lines: an object a line.")
        return json_shapes.rows_of(self._value(document, 1), self.text.name)

    def _value(self, text: str, line: int) -> Any:
        """The value of a JSON text that begins at a line."""
        try:
            return json.loads(text)
        except RecursionError:
            cause, remedy = "is nested too deeply", "Leave it out."
        except json.JSONDecodeError as error:
            line += error.lineno - 1
            cause, remedy = f"is not valid JSON at its character {error.colno:,}", OBJECTS
        except ValueError:
            cause, remedy = "holds a number of too many digits", "Write it as a string."
        raise CorpusError(f"Line {line:,} of {quote(self.text.name)} {cause}.", remedy)


def half_character(place: str, error: UnicodeEncodeError) -> CorpusError:
    """The error for a text that cannot be written as UTF-8."""
    cause = f"half a character, a lone surrogate (\\u{ord(error.object[error.start]):x})"
    return CorpusError(f"{place} holds {cause}.", "Write the other half too, or leave it out.")


@dataclass(frozen=True)
class Parquet:
    """The columns of a Parquet file that hold texts, numbers, truth values or times."""

    path: Path
    name: str

    text = None
    segmentation = "lines"
    note = ""

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The rows; raises CorpusError where the file is damaged, or holds too much."""
        size = text_files.check_file(self.path).st_size
        n_bytes_read = n_rows = 0
        try:
            footer = pq.read_metadata(self.path)
            leaves = text_leaves(footer, self.name)
            groups = list(map(footer.row_group, range(footer.num_row_groups)))
            text_files.check_size(sum(group.total_byte_size for group in groups), size, self.name)
            columns = (group.column(leaf) for group in groups for leaf in leaves.values())
            n_packed = sum(column.total_uncompressed_size for column in columns)
            row_bytes = n_packed // max(1, footer.num_rows)
            self._check_length(row_bytes)
            n_at_once = min(BATCH_ROWS, max(1, BATCH_CHARACTERS // max(1, row_bytes)))
            schema = footer.schema.to_arrow_schema()
            scalars = [field.name for field in schema if any(is_a(field.type) for is_a in SCALARS)]
            names = [name for name in schema.names if name in {*leaves, *scalars}]
            check_width(len(names))
            if not names:  # the reader would make as many rows as the footer claims
                return
            options: dict[str, Any] = {"page_checksum_verification": True, "pre_buffer": False}
            with pq.ParquetFile(self.path, read_dictionary=list(leaves), **options) as file:
                for batch in file.iter_batches(n_at_once, columns=names):
                    # A text that repeats is stored once, so that a small file may hold any number.
                    lengths = byte_lengths(batch.columns)
                    self._check_length(pc.max(lengths).as_py() or 0)
                    n_unpacked = (pc.sum(lengths).as_py() or 0) + 8 * len(batch) * len(names)
                    n_bytes_read += n_unpacked
                    text_files.check_size(n_bytes_read, size, self.name)
                    n_rows += len(batch)
                    progress(n_rows, footer.num_rows, "rows")
                    step = max(1, len(batch) // max(1, n_unpacked // BATCH_CHARACTERS))
                    for start in range(0, len(batch), step):
                        yield _unpacked(batch.slice(start, step), names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno:
                raise text_files.unreadable(self.name, error) from None
            raise damaged_parquet(self.name, error) from None

    def _check_length(self, n: int) -> None:
        if n > text_files.LONGEST_LINE:
            reason = f"{quote(self.name)} has texts of {n / 2**20:,.0f} MB."
            raise CorpusError(reason, "Break them up.")


def read_parquet(path: Path, without: str) -> pa.Table:
    """All columns of a Parquet file but one, of any type; raises CorpusError."""
    try:
        with pq.ParquetFile(path) as file:
            return file.read([name for name in file.schema_arrow.names if name != without])
    except (pa.ArrowException, OSError) as error:
        raise damaged_parquet(path.name, error) from None


def damaged_parquet(name: str, error: Exception) -> CorpusError:
    """The error for a Parquet file that cannot be read."""
    cause = quote(str(error).partition("\n")[0])
    reason = f"{quote(name)} is not a Parquet file, or a damaged one ({cause})."
    return CorpusError(reason, "Write or copy it again.")


def text_leaves(footer: pq.FileMetaData, name: str) -> dict[str, int]:
    """The columns that hold text, and the number that the footer of a Parquet file gives each.

    Raises CorpusError where it has too many row groups, ArrowException where it is damaged.
    """
    n = footer.num_row_groups
    if n > MOST_ROW_GROUPS:
        reason = f"{quote(name)} has {n:,} row groups, and at most {MOST_ROW_GROUPS:,} are read."
        raise CorpusError(reason, "Write it again with larger ones, or choose another file.")
    if footer.num_rows != sum(footer.row_group(number).num_rows for number in range(n)):
        raise pa.ArrowInvalid("The rows of its row groups are not those of the file.")
    texts = {field.name for field in footer.schema.to_arrow_schema() if is_text(field.type)}
    paths = [footer.schema.column(leaf).path for leaf in range(footer.num_columns)]
    return {path: leaf for leaf, path in enumerate(paths) if path in texts}


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type may hold texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def byte_lengths(columns: Iterable[pa.Array]) -> pa.ChunkedArray:
    """Bytes of each of the texts in some columns, where equal ones are stored once."""
    texts = (values for values in columns if pa.types.is_dictionary(values.type))
    lengths = [pc.binary_length(values.dictionary).take(values.indices) for values in texts]
    return pa.chunked_array(lengths, pa.int32())


def _unpacked(batch: pa.RecordBatch, names: list[str]) -> pa.Table:
    columns = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if name in names:  # not “text.id”, which comes with “text”
            columns[name] = values.cast(pa.large_string() if is_text(values.type) else pa.string())
            columns[name].validate(full=True)
    return pa.table(columns)


def open_table(
    path: Path, name: str, encoding: str = "", progress: Progress = silent, how: str = "lines"
) -> Rows | Parquet:
    """The file in the format that its name ends in.

    how: the segmentation, which may join the lines of a text to paragraphs. Raises CorpusError
    where the file cannot be read, SettingError where the encoding cannot be heeded.
    """
    text_files.check_file(path)
    suffix = suffix_of(name)
    if suffix == ".parquet":
        if encoding:
            raise SettingError(f"{quote(name)} has no encoding to set.", "Leave encoding out.")
        return Parquet(path, name)
    text = text_files.open_text(path, name, encoding, progress)
    if suffix in (".txt", ".md"):
        head = [line.rstrip("\r\n") for line in itertools.islice(text.lines(), HEAD_LINES)]
        is_joined = how == "paragraphs" or (how != "lines" and sentences.is_wrapped(head))
        return Rows(text=text, segmentation="paragraphs" if is_joined else "lines")
    n_lines = SAMPLE_LINES if suffix in (".csv", ".tsv") else 2
    sample = [*itertools.islice(filter(str.strip, text.lines()), n_lines)]
    if not sample:  # it was emptied after its encoding was found
        raise text_files.no_text(name)
    if n_lines > 2:
        layout = find_layout(sample, "\t" if suffix == ".tsv" else "")
        return Csv(text=text, layout=layout, note="" if layout.has_header else NO_HEADER)
    first = sample[0].strip()
    is_cut = first[0] == "[" or (first[0] == "{" and first[-1] != "}")
    if len(sample) == 1:
        is_cut |= suffix == ".json"
    elif first[0] == sample[1].strip()[0] == "[" and first[-1] == "]":
        is_cut = False  # a list a line
    return Json(text=text, is_document=is_cut)


def suffix_of(name: str) -> str:
    """The ending of a file's name, one of SUFFIXES; raises CorpusError where it is none."""
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES or name.lower().endswith(".parquet.gz"):
        remedy = f"Save it as one that ends in {', '.join(SUFFIXES)}, packed by gzip or not."
        raise CorpusError(f"{quote(name)} has no ending of a file of texts.", remedy)
    return suffix


@dataclass
class Column:
    """Counts of a column.

    n_texts, n_with_letters, n_characters: texts that are not blank, and characters in all of them.
    n_with_spaces, n_repeated: texts with white space inside, and those that come up again soon.
    longest: characters of the longest value of any kind. example: the first one. sample: texts.
    """

    n_texts: int = 0
    n_with_letters: int = 0
    n_characters: int = 0
    n_with_spaces: int = 0
    n_repeated: int = 0
    longest: int = 0
    example: str = ""
    sample: list[str] = field(default_factory=list)

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
            column.longest = max(column.longest, pc.max(pc.utf8_length(values)).as_py() or 0)
            column.example = column.example or str(next(iter(values.drop_null()), ""))
            if pa.types.is_large_string(values.type):
                texts = values.filter(pc.invert(is_blank(values)))
                column.n_texts += len(texts)
                column.sample += texts[:: 1 + len(texts) // SAMPLE_TEXTS].to_pylist()
                column.n_characters += pc.sum(pc.utf8_length(texts)).as_py() or 0
                column.n_with_letters += _n_matches(texts, r"\p{L}")
                column.n_with_spaces += _n_matches(texts, r"\S\s+\S")
                column.n_repeated += len(texts) - pc.count_distinct(texts).as_py()
        check_width(len(columns))
    return columns


def _n_matches(texts: pa.ChunkedArray, pattern: str) -> int:
    return pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0


def is_blank(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """True for texts without anything but white space, and for missing ones."""
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), True)


def text_columns(columns: Mapping[str, Column]) -> list[str]:
    """Names of the columns that hold text, likeliest first: by known names, then by mean length.

    Columns of labels come last.
    """

    def rank(name: str) -> tuple[bool, int, float]:
        place = [*KNOWN_NAMES, name.strip().casefold()].index(name.strip().casefold())
        return columns[name].holds_labels, place, -columns[name].mean_length

    names = [name for name, column in columns.items() if 2 * column.n_with_letters > column.n_texts]
    return sorted(filter(str.isprintable, names), key=rank)


def choose_column(columns: Mapping[str, Column], column: str, name: str) -> str:
    """The column that is named, or else the likeliest; `name` is that of the file.

    Texts alone are in a column without a name. Raises SettingError where the named one holds no
    text, CorpusError where none does, or only labels.
    """
    spaced = {" ".join(one.split()): one for one in columns}
    column = column if column in columns else spaced.get(" ".join(column.split()), column)
    if column in columns and (columns[column].n_with_letters or not column):
        return column
    names = text_columns(columns)
    if not columns:
        raise text_files.no_text(name)
    if not names or (not column and len(columns) > 1 and columns[names[0]].holds_labels):
        some = list(columns.items())[:MOST_EXAMPLES]
        holds = ", ".join(f"{quote(key)} holds {quote(about.example)}" for key, about in some)
        reason = f"No column of {quote(name)} is likely to hold texts: {holds}."
        remedy = f"Write the texts as strings in a column{', or name one of these' * bool(names)}."
        raise CorpusError(reason, remedy)
    if column:
        choice = f"Choose {' or '.join(map(quote, names[:12]))}." if any(names) else "Leave it out."
        raise SettingError(f"{quote(name)} has no column {quote(column)} that holds text.", choice)
    return names[0]
