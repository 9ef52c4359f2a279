"""What a command prints and writes."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz import export
from clsviz.atomic import new_file
from clsviz.errors import SettingError
from clsviz.settings import printable

if TYPE_CHECKING:
    import pandas as pd


def one_line(text: str) -> str:
    """`text` as one line that cannot move the cursor of a terminal."""
    return printable(" ".join(text.split()))


def print_notes(notes: Iterable[str]) -> None:
    """On stderr, one line each."""
    for note in notes:
        print(f"clsviz: {one_line(note)}", file=sys.stderr)


def print_json(result: Mapping[str, object]) -> None:
    """As one object on one line."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def check(path: Path | None) -> None:
    """Raise SettingError, before any work, where the output could not be written after it."""
    if path is None:
        return
    if len(os.fsencode(path.name)) > 200:
        raise SettingError("--output has a name of over 200 bytes. Choose a shorter one.")
    if path.suffix not in (".csv", ".parquet"):
        raise SettingError(f"--output {path} must end in .parquet or .csv.")
    if os.path.isdir(path) or not os.path.isdir(path.parent) or not os.access(path.parent, os.W_OK):
        raise SettingError(f"--output {path} cannot be written. Name a file in a folder that exists and is writable.")


def write(path: Path | None, table: "pd.DataFrame", about: Mapping[str, object]) -> None:
    """Write the table as CSV, or as Parquet with what it is about in its metadata; nothing where no path is given."""
    if path is None:
        return
    content = export.to_csv(table) if path.suffix == ".csv" else export.to_parquet(table, about)
    with new_file(path) as temporary:
        temporary.write_bytes(content)
