"""Texts in local files: which format a file has, and its columns of text.

Adding a format is a row in `FORMATS` and a file beside this one.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clsviz.corpora import formats
from clsviz.corpora.formats.conversion import remedy_for
from clsviz.corpora.formats.files import Limits, TextFile, megabytes, unreadable
from clsviz.errors import CorpusError
from clsviz.settings import Reading, printable

if TYPE_CHECKING:
    from clsviz.corpora.formats.columns import Table


class Format(NamedTuple):
    """A format of local files; is_packable: whether a file may also be packed with gzip; is_plain: plain text."""

    open: "Callable[[TextFile], Table]"
    is_packable: bool = True
    is_plain: bool = False


FORMATS = {
    ".txt": Format(lambda file: formats.open_lines(file), is_plain=True),
    ".csv": Format(lambda file: formats.open_csv(file)),
    ".tsv": Format(lambda file: formats.open_tsv(file)),
    ".jsonl": Format(lambda file: formats.open_json_lines(file)),
    ".ndjson": Format(lambda file: formats.open_json_lines(file)),
    ".parquet": Format(lambda file: formats.open_parquet(file), is_packable=False),
}
"""The formats by the ending of a file's name. Each reader is imported when it first reads a file."""


SUFFIXES = (
    *(suffix for suffix, kind in FORMATS.items() if kind.is_packable),
    *(f"{suffix}.gz" for suffix, kind in FORMATS.items() if kind.is_packable),
    *(suffix for suffix, kind in FORMATS.items() if not kind.is_packable),
)
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
    kind = FORMATS[ending.removesuffix(".gz")]
    if reading is not Reading.AUTO and not kind.is_plain:
        raise CorpusError(f"{file.name} is a table, which is not read in {reading}. Leave out the setting reading.")
    return kind.open(file)


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
        formats.check_decoded(file)


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
