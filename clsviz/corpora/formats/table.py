"""Texts out of local files: lines, tables with a header, JSON lines and Parquet, read piece by piece.

A table names its columns that hold text; which of them is read is the user's to choose.
"""

import os
import stat
from functools import partial
from pathlib import Path

from clsviz.corpora.formats.columns import Table, text_columns
from clsviz.corpora.formats.csv import open_csv
from clsviz.corpora.formats.encoding import decoded, find_encoding
from clsviz.corpora.formats.json_lines import json_values, sample_of_objects
from clsviz.corpora.formats.lines import TextFile, lines, megabytes, unreadable
from clsviz.corpora.formats.parquet import open_parquet
from clsviz.errors import CorpusError
from clsviz.settings import printable

SUFFIXES = (
    *(".txt", ".csv", ".tsv", ".jsonl", ".ndjson"),
    *(".txt.gz", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz", ".parquet"),
)
"""The endings of the files that are read, in small letters."""


MAX_FILE_BYTES = 200 * 2**20
"""Size of the largest file that is read."""


def open_table(path: Path, name: str = "") -> Table:
    """The texts of the file at `path`, in the format that the ending of `name`, or else of its own name, says.

    Texts are read only when asked for; but .txt, .csv and .tsv are gone through once, to tell their encoding. Raises
    CorpusError where the file cannot be read, is too large, damaged, of no known format or holds no text.
    """
    name = name or path.name
    check(path, name)
    file = TextFile(path, printable(name), is_packed=suffix(name).endswith(".gz"))
    match suffix(name).removesuffix(".gz"):
        case ".txt":
            encoding = find_encoding(file)
            characters = partial(decoded, file, encoding)
            return Table(path, name, encoding, (), lambda _: lines(characters(), "\n", file.name))
        case ".csv" | ".tsv" as kind:
            return open_csv(file, name, is_tsv=kind == ".tsv")
        case ".parquet":
            return open_parquet(file, name)
        case _:
            columns = text_columns(sample_of_objects(file), file.name)
            return Table(path, name, "utf-8", columns, lambda column: json_values(file, column))


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
        raise unreadable(printable(name), error) from None
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{printable(name)} cannot be read: it is no regular file. Name a file ending as it should.")
    if status.st_size > MAX_FILE_BYTES:
        raise CorpusError(f"{printable(name)} is larger than {megabytes(MAX_FILE_BYTES)}. Take a part of it.")
