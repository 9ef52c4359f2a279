"""Local files of texts: which are read, and how much of them; their encoding and lines; which columns hold text."""

import codecs
import gzip
import io
import itertools
import os
import shlex
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import AnyStr

from clsviz.atomic import open_regular
from clsviz.errors import CorpusError, first_line
from clsviz.settings import Reading, is_name, printable, shown
from clsviz.sources.segmentation import Wrapped

_NO_LIMIT = 2**63


@dataclass(frozen=True)
class Limits:
    """What is read of a local file, so that no file can fill the memory.

    file_bytes: size of the file. text_bytes: of what it holds when unpacked. Both are for uploads: of a file that is
    read where it lies, whatever its size, little is in memory at once. row_bytes: of a line, row or object; a few times
    as much is in memory at once. columns: of a table, whether they hold text or not. column_bytes: of a column in a row
    group of a Parquet file. batch_bytes: of the texts read from it at once. chunk_bytes: read from disk at once.
    """

    file_bytes: int = _NO_LIMIT
    text_bytes: int = _NO_LIMIT
    row_bytes: int = 4 * 2**20
    columns: int = 1000
    column_bytes: int = 512 * 2**20
    batch_bytes: int = 64 * 2**20
    chunk_bytes: int = 2**20


@dataclass(frozen=True)
class TextFile:
    """A file, its name as messages show it, how much of it may be read, and what is one text in it."""

    path: Path
    name: str
    is_packed: bool
    limits: Limits
    reading: Reading = Reading.AUTO

    def chunks(self) -> Iterator[bytes]:
        """The file's content, unpacked; raises CorpusError if it cannot be read or unpacks to too much."""
        n_bytes = 0
        try:
            with open_regular(self.path) as file, gzip.open(file) if self.is_packed else file as stream:
                while chunk := stream.read(self.limits.chunk_bytes):
                    n_bytes += len(chunk)
                    if n_bytes > self.limits.text_bytes:
                        raise too_much_text(self)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CorpusError(
                f"{self.name} is not a complete gzip file ({first_line(error)}). Pack or copy it again."
            ) from None
        except OSError as error:
            raise unreadable(self.name, error) from None


def no_text(name: str) -> CorpusError:
    """The error for a file without text."""
    return CorpusError(
        f"{name} holds no text. Give a file with one text per line, or with a column of texts under its name."
    )


def too_much_text(file: TextFile) -> CorpusError:
    """The error for a file that holds more than `text_bytes` when unpacked."""
    return CorpusError(f"{file.name} holds over {megabytes(file.limits.text_bytes)} when unpacked. Take a part of it.")


def unreadable(name: str, error: Exception) -> CorpusError:
    """The error for a file that the system refuses to read."""
    reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
    return CorpusError(f"{name} cannot be read: {reason}. Name another file, or make it readable.")


def megabytes(n_bytes: int) -> str:
    """A size, as a file manager shows it."""
    return f"{n_bytes / 2**20:,.0f} MB"


PIECE_BYTES = 2**18
"""How much of a file its encoding and its delimiter are guessed from."""

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16's, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class BadByteError(CorpusError):
    """A byte cannot be decoded; offset: where it is in the unpacked file."""

    def __init__(self, name: str, encoding: str, byte: int, line: int, offset: int = 0) -> None:
        label = encoding.removesuffix("-sig").upper().replace("_", "-")  # as people write it
        super().__init__(
            f"Line {line:,} of {name} is damaged: its byte {byte:#04x} is not {label}, which the rest of "
            "the file is in. Mend the line, or leave it out."
        )
        self.offset = offset


def find_encoding(file: TextFile) -> str:
    """The encoding in which the whole file can be read; raises CorpusError if there is none, or the file has no text.

    A UTF-8 file with a stray byte is not read in another encoding, in which everything else would be wrong.
    """
    head = _range(file, 0, 4096)
    for bom, encoding in _BOMS.items():
        if head.startswith(bom):
            return _checked(file, encoding)
    if b"\0" in head:
        raise CorpusError(f"{file.name} is not a text file. Give one, or a name with the ending of its format.")
    try:
        return _checked(file, "utf-8")
    except BadByteError as fault:
        if _is_damaged_utf8(file):
            raise
        import charset_normalizer

        matches = charset_normalizer.from_bytes(_piece_around(file, fault.offset))
        # Its best guess for a few sentences in a Western language is often Baltic or Central European.
        best = next((match for match in matches if match.encoding == "cp1252"), None) or matches.best()
    if best is None:
        raise CorpusError(f"{file.name} is in no known text encoding. Save it as UTF-8.")
    return _checked(file, best.encoding)


def _checked(file: TextFile, encoding: str) -> str:
    """`encoding`, if the whole file can be read in it and holds text; raises CorpusError otherwise."""
    holds_text = False
    for text in decoded(file, encoding):
        holds_text = holds_text or bool(text.strip())
    if not holds_text:
        raise no_text(file.name)
    return encoding


def decoded(file: TextFile, encoding: str) -> Iterator[str]:
    """The characters of a file, with every line break as a line feed; raises CorpusError at a bad byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    newlines = io.IncrementalNewlineDecoder(decoder, translate=True)
    line, offset = 1, 0
    for chunk in itertools.chain(file.chunks(), [b""]):
        try:
            text = newlines.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            start = error.start - (len(error.object) - len(chunk))  # in this chunk; below 0 in an earlier one
            if start < 0:
                decoder.reset()  # drops the broken character, which would raise again
            line += newlines.decode(chunk[: max(start, 0)], final=True).count("\n")
            raise BadByteError(file.name, encoding, error.object[error.start], line, offset + start) from None
        line += text.count("\n")
        offset += len(chunk)
        yield text


def _is_damaged_utf8(file: TextFile) -> bool:
    """Whether a text that is not UTF-8 seems meant to be: it has far more valid characters beyond ASCII than faults."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    faults = characters = 0
    for chunk in itertools.chain(file.chunks(), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        faults += text.count("\N{REPLACEMENT CHARACTER}")
        characters += len(text) - len(text.encode("ascii", "ignore"))
    return characters > 2 * faults


def _piece_around(file: TextFile, offset: int) -> bytes:
    """The part of a file around a byte, in whole lines unless they are too long."""
    start = max(0, offset - PIECE_BYTES // 2)
    piece = _range(file, start, PIECE_BYTES)
    first = piece.find(b"\n", 0, offset - start) if start else -1  # the first character may be cut in two
    last = piece.rfind(b"\n", offset - start)
    return piece[first + 1 : last + 1 if last >= 0 and len(piece) == PIECE_BYTES else None]


def _range(file: TextFile, start: int, size: int) -> bytes:
    """`size` bytes of a file from `start` on, fewer if it ends before."""
    found = bytearray()
    for chunk in file.chunks():
        found += chunk[start:]
        start = max(0, start - len(chunk))
        if len(found) >= size:
            break
    return bytes(found[:size])


BATCH_SIZE = 10_000
"""The most texts that are passed on at once."""

SAMPLE_ROWS = 200
"""Rows at the beginning of a table that show which columns hold text."""

_SHOWN_COLUMNS = 12

_KNOWN_NAMES = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Names that the main column of text tends to have, likeliest first."""

Values = Iterator[Sequence[str | None]]
"""The values of a column, piece by piece, as they are in the file; None where a row has no text."""

_MOST_FIELDS, LONGEST_VALUE = 100, 100
"""The most columns that are named, and the most characters that are taken of a value which is not read as a text."""


@dataclass(frozen=True)
class Table:
    """A local file of texts; name: as messages show it.

    columns: those that hold text, likeliest first; none if the file is plain text. wrapped: how the lines of plain text
    are wrapped; None if each is a text.
    """

    path: Path
    name: str
    encoding: str
    columns: tuple[str, ...]
    _read: Callable[[str], Values] = field(repr=False, compare=False)
    wrapped: Wrapped | None = field(default=None, repr=False, compare=False)
    _fields: Sequence[str] = ()
    _read_field: Callable[[str], Values] | None = field(default=None, repr=False, compare=False)

    @property
    def fields(self) -> tuple[str, ...]:
        """The first of its columns that hold text, numbers or times."""
        return usable_fields(self._fields)

    @property
    def reading(self) -> Reading:
        """What is one text in it; AUTO where there is nothing to decide."""
        if self.wrapped:
            return Reading.PARAGRAPHS
        return Reading.AUTO if self.columns else Reading.LINES

    def numbered_texts(self, column: str = "") -> Iterator[tuple[list[str], list[int]]]:
        """The texts of a column, by default the likeliest, with the row of each, in batches of at most BATCH_SIZE.

        Runs of white space, including line breaks, become one space; blanks and nulls are left out. Raises CorpusError
        if there is no such column, and while reading if the file is damaged or the column holds no text at all.
        """
        if column and column not in self.columns:
            more = len(self.columns) - _SHOWN_COLUMNS
            names = ", ".join(map(shown, self.columns[:_SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
            choices = f"Choose one of these: {names}." if names else "It has no columns: each line is a text."
            raise CorpusError(f"{printable(self.name)} has no column “{shown(column)}” that holds text. {choices}")
        is_empty, n_before = True, 0
        for values in self._read(column or next(iter(self.columns), "")):
            for start in range(0, len(values), BATCH_SIZE):
                texts = [" ".join(value.split()) if value else "" for value in values[start : start + BATCH_SIZE]]
                rows = [row for row, text in enumerate(texts, n_before + start) if text]
                if rows:
                    is_empty = False
                    yield [text for text in texts if text], rows
            n_before += len(values)
        if is_empty and self.wrapped:
            raise CorpusError(
                f"{printable(self.name)} holds no paragraphs of prose. Choose to read each of its lines as one text."
            )
        if is_empty:
            raise no_text(printable(self.name))

    def cells(self, field: str) -> Values:
        """What every row has in one of the `fields`, as text; None or "" where it is blank.

        Raises CorpusError if there is no such field, and while reading if the file is damaged.
        """
        if field not in self.fields or self._read_field is None:
            raise CorpusError(f"{printable(self.name)} has no column “{shown(field)}”.")
        return self._read_field(field)


def usable_fields(names: Iterable[str]) -> tuple[str, ...]:
    """The first of some columns whose names a setting can hold, each once."""
    return tuple(filter(is_name, dict.fromkeys(names)))[:_MOST_FIELDS]


def short_values(values: Iterable[str | None]) -> list[str | None]:
    """Each as one line of up to 100 characters, None where it is blank."""
    return [(value and " ".join(value[: 4 * LONGEST_VALUE].split())[:LONGEST_VALUE]) or None for value in values]


def rank(column: str, mean_length: float) -> tuple[int, float]:
    """A key that sorts columns of text, the main one first: by known names, then by length."""
    known = column.strip().casefold()
    return (_KNOWN_NAMES.index(known) if known in _KNOWN_NAMES else len(_KNOWN_NAMES)), -mean_length


def text_columns(sample: Mapping[str, Iterable[str | None]], name: str) -> tuple[str, ...]:
    """The columns whose first values hold text, likeliest first; raises CorpusError if there is none."""
    ranks: dict[str, tuple[int, float]] = {}
    for column, values in sample.items():
        texts = [text for value in values if value and (text := " ".join(value.split()))]
        if is_name(column) and 2 * sum(any(map(str.isalpha, text)) for text in texts) > len(texts):
            ranks[column] = rank(column, sum(map(len, texts)) / len(texts))  # no setting could hold another name
    if not ranks:
        raise no_text(name)
    return tuple(sorted(ranks, key=ranks.__getitem__))


def check_width(n_columns: int, file: TextFile) -> None:
    """Raise CorpusError if a table has too many columns to be one of texts."""
    if n_columns > (most := file.limits.columns):
        raise CorpusError(f"{file.name} has {n_columns:,} columns, and at most {most:,} are read. Leave some out.")


_PLAIN = (".txt",)

_PACKABLE = (*_PLAIN, ".csv", ".tsv", ".jsonl", ".ndjson")

SUFFIXES = (*_PACKABLE, *(f"{suffix}.gz" for suffix in _PACKABLE), ".parquet")
"""The endings of the files that are read, in small letters."""

VECTOR_SUFFIXES = (".parquet", ".npy", ".npz", ".safetensors")
"""The endings of files of vectors, in small letters."""


def is_plain_text(name: str) -> bool:
    """True if the ending of a file's name is that of plain text, packed or not; raises CorpusError as `suffix` does."""
    return suffix(name).removesuffix(".gz") in _PLAIN


def suffix(name: str) -> str:
    """The ending of a file's name, one of SUFFIXES; raises CorpusError, which says how to convert it, if it is none."""
    found = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
    if found is None:
        remedy = remedy_for(name) or f"Give a file ending in {', '.join(SUFFIXES)}."
        raise CorpusError(f"{printable(name)} is in no known format. {remedy}")
    return found


def check(path: Path, name: str, limits: Limits | None = None) -> None:
    """Raise CorpusError if there is no regular file at `path`, or one that is too large; a pipe would block."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise CorpusError(f"There is no file “{printable(str(path))}”. Name an existing one.") from None
    except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
        raise unreadable(printable(name), error) from None
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{printable(name)} cannot be read: it is not a regular file. Name a file of text.")
    check_size(status.st_size, name, limits or Limits())


def check_size(n_bytes: int, name: str, limits: Limits) -> None:
    """Raise CorpusError if a file of this size is larger than `limits` allow."""
    if n_bytes > limits.file_bytes:
        raise CorpusError(f"{printable(name)} is larger than {megabytes(limits.file_bytes)}. Take a part of it.")


_TO_TEXT = "pandoc {file} --to plain --wrap none --output {text}"

_TO_TABLE = "soffice --headless --convert-to csv {file}"

_COMMANDS = {
    **dict.fromkeys([".md", ".markdown", ".rst", ".tex", ".docx", ".odt", ".rtf", ".epub"], _TO_TEXT),
    **dict.fromkeys([".html", ".htm", ".xhtml", ".ipynb"], _TO_TEXT),
    ".pdf": "pdftotext {file} {text}",
    ".doc": "soffice --headless --convert-to txt:Text {file}",
    **dict.fromkeys([".xlsx", ".xls", ".ods"], _TO_TABLE),
    ".json": "jq --compact-output '.[]' {file} > {lines}",
    ".zip": "unzip {file}",
    ".bz2": "bunzip2 {file}",
    ".xz": "unxz {file}",
    ".zst": "unzstd {file}",
    **dict.fromkeys([".tar", ".tar.gz", ".tgz"], "tar --extract --file {file}"),
}
"""Commands that convert a file, by the ending of its name."""

_SAVED_AS = {
    **dict.fromkeys([".docx", ".doc", ".odt", ".rtf"], "plain text"),
    **dict.fromkeys([".xlsx", ".xls", ".ods"], "CSV"),
}
"""What the program that such a file is from can save instead."""


def remedy_for(name: str) -> str:
    """What to do with a file of this name, in a sentence; "" where that is not known."""
    file = PurePath(printable(name)).name
    ending = next((ending for ending in _COMMANDS if file.lower().endswith(ending)), None)
    if ending is None:
        return ""
    stem = file[: -len(ending)] or "text"
    command = _COMMANDS[ending].format(
        file=shlex.quote(file), text=shlex.quote(f"{stem}.txt"), lines=shlex.quote(f"{stem}.jsonl")
    )
    kind = _SAVED_AS.get(ending)
    how = f"Save it as {kind} in the program that it is from, or convert it" if kind else "Convert it first"
    return f"{how}, for example with: {command}"


def lines(chunks: Iterable[AnyStr], newline: AnyStr, file: TextFile) -> Iterator[list[AnyStr]]:
    """The lines of a file, including blank ones, as many at a time as a chunk holds.

    Raises CorpusError at a line that is too long.
    """
    rest = newline[:0]
    count = 0
    for chunk in chunks:
        found = (rest + chunk).split(newline)
        rest = found.pop()
        count += len(found)
        if len(rest) > file.limits.row_bytes:
            raise CorpusError(
                f"Line {count + 1:,} of {file.name} is over {megabytes(file.limits.row_bytes)} long. Break it up."
            )
        yield found
    yield [rest]
