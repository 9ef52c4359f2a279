"""Texts in local files: which format a file has, its lines or its JSON objects.

Adding a format is an ending in `SUFFIXES` and a case in `open_table`.
"""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz.errors import CorpusError
from clsviz.settings import Reading, printable
from clsviz.sources.text_files import Limits, TextFile, megabytes, unreadable

if TYPE_CHECKING:
    from clsviz.sources.tables import Table
import codecs
import itertools
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePath
from typing import Any, AnyStr

import orjson

from clsviz.sources.paragraphs import SAMPLE_CHARACTERS, Wrapped, is_wrapped
from clsviz.sources.tables import SAMPLE_ROWS, Table, Values, check_width, text_columns
from clsviz.sources.text_files import BadByteError, decoded, find_encoding

_PLAIN = (".txt",)

_PACKABLE = (*_PLAIN, ".csv", ".tsv", ".jsonl", ".ndjson")

SUFFIXES = (*_PACKABLE, *(f"{suffix}.gz" for suffix in _PACKABLE), ".parquet")
"""The endings of the files that are read, in small letters."""

VECTOR_SUFFIXES = (".parquet", ".npy", ".npz", ".safetensors")
"""The endings of files of vectors, in small letters."""


def open_table(path: Path, name: str = "", limits: Limits | None = None, reading: Reading = Reading.AUTO) -> "Table":
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
            from clsviz.sources import csv_files

            return csv_files.open_csv(file) if kind == ".csv" else csv_files.open_tsv(file)
        case ".parquet":
            from clsviz.sources import parquet_files

            return parquet_files.open_parquet(file)
    return open_json_lines(file)


def is_plain_text(name: str) -> bool:
    """True if the ending of a file's name is that of plain text, packed or not; raises CorpusError as `suffix` does."""
    return suffix(name).removesuffix(".gz") in _PLAIN


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
    if ending == ".parquet":
        from clsviz.sources import parquet_files

        parquet_files.check_decoded(file)


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


def open_lines(file: TextFile) -> Table:
    """The lines of a text file, or its paragraphs, as `file.reading` says.

    Raises CorpusError if it is in no known encoding or holds no text.
    """
    encoding = find_encoding(file)
    characters = partial(decoded, file, encoding)
    beginning = _beginning(characters())
    if file.reading is Reading.LINES or (file.reading is Reading.AUTO and not is_wrapped(beginning)):
        return Table(file.path, file.name, encoding, (), lambda _: lines(characters(), "\n", file))
    wrapped = Wrapped(beginning)
    return Table(
        file.path, file.name, encoding, (), lambda _: wrapped.paragraphs(lines(characters(), "\n", file)), wrapped
    )


def _beginning(chunks: Iterable[str]) -> list[str]:
    """The whole lines at the beginning of a file."""
    piece = ""
    for chunk in chunks:
        piece += chunk
        if len(piece) > SAMPLE_CHARACTERS:
            return piece.split("\n")[:-1]
    return piece.split("\n")


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


def open_json_lines(file: TextFile) -> Table:
    """A file of JSON objects, their keys being the columns; raises CorpusError if none holds text."""
    sample, fields = _sample(file)
    columns = text_columns(sample, file.name)
    read, read_field = partial(_values, file), partial(_plain_values, file)
    return Table(file.path, file.name, "utf-8", columns, read, None, fields, read_field)


def _sample(file: TextFile) -> tuple[dict[str, list[str]], list[str]]:
    """The strings in the first lines, by their keys; and the keys of strings, numbers and truth values."""
    sample: dict[str, list[str]] = {}
    fields: dict[str, None] = {}
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
            if isinstance(value, str | int | float):
                fields[key] = None
    check_width(len(sample), file)
    return sample, [*fields]


def _values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [value if isinstance(value := found.get(key), str) else None for found in objects]


def _plain_values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [str(value) if isinstance(value := found.get(key), str | int | float) else None for found in objects]


def _objects(file: TextFile) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file, as many at a time as a chunk holds; raises CorpusError at a line that is not one."""
    number = 0
    for found in lines(file.chunks(), b"\n", file):
        objects = []
        for line in found:
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
            raise BadByteError(name, "utf-8", line[fault.start], number) from None
        problem = f"is not valid JSON at its character {error.colno:,}"
    else:
        if isinstance(value, dict):
            return value
        problem = "is not a JSON object"
    raise CorpusError(f'Line {number:,} of {name} {problem}. Give one object per line, as in {{"text": "…"}}.')
