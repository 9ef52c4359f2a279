"""What commands print and write, and how they show how far they are."""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz import analysis, export, words
from clsviz.atomic import new_file
from clsviz.errors import SettingError
from clsviz.progress import Progress
from clsviz.settings import printable

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.api.norms import NormResult


class Lines(Progress):
    """Progress as JSON lines on stderr: one for each stage, and one each second in it."""

    def __init__(self) -> None:
        super().__init__()
        self._told = 0.0

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        """Print the stage."""
        super().begin(stage, total, done, unit)
        self._tell()

    def advance(self, done: int) -> None:
        """Print how far it is, once a second."""
        super().advance(done)
        if time.monotonic() - self._told >= 1:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        line: dict[str, object] = {"stage": self.stage}
        if self.total:
            line |= {"done": self.done, "of": self.total}
        if self.rate:
            line |= {"per_second": self.rate, "seconds_left": self.seconds_left}
        print_line(line)


def print_line(line: Mapping[str, object]) -> None:
    """Print JSON on a line of stderr."""
    print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)


def progress(options: argparse.Namespace) -> contextlib.AbstractContextManager[Progress]:
    """Shows how far a run is, as its flags say."""
    from clsviz.api.inputs import Bar

    return contextlib.nullcontext(Lines()) if options.progress == "json" else Bar()


def one_line(text: str) -> str:
    """`text` as one line that cannot move the cursor of a terminal."""
    return printable(" ".join(text.split()))


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, a line each."""
    for note in notes:
        print(f"clsviz: {one_line(note)}", file=sys.stderr)


def print_json(result: Mapping[str, object]) -> None:
    """Print one object on one line."""
    print(json.dumps(result, ensure_ascii=False, allow_nan=False))


def check(path: Path | None, flag: str = "--output", suffixes: Sequence[str] = (".parquet", ".csv")) -> None:
    """Raise SettingError, before any work, where the file of the flag could not be written after it."""
    if path is None:
        return
    if len(os.fsencode(path.name)) > 200:
        raise SettingError(f"{flag} has a name of over 200 bytes. Choose a shorter one.")
    if path.suffix not in suffixes:
        raise SettingError(f"{flag} {path} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}.")
    if os.path.isdir(path) or not os.path.isdir(path.parent) or not os.access(path.parent, os.W_OK):
        raise SettingError(f"{flag} {path} cannot be written. Name a file in a folder that exists and is writable.")


def write(path: Path, table: "pd.DataFrame", about: Mapping[str, object]) -> None:
    """Write the table as CSV, as Markdown, or as Parquet with what it is about in its metadata."""
    if path.suffix == ".md":
        content = export.markdown(table).encode()
    else:
        content = export.to_csv(table) if path.suffix == ".csv" else export.to_parquet(table, about)
    with new_file(path) as temporary:
        temporary.write_bytes(content)


def write_plot(path: Path, result: "NormResult") -> None:
    """Write the scatter with the line that the answer is about, as an image of the kind that the file's name says."""
    from clsviz.figures import static  # plotly comes with it

    shown, experiment = analysis.select(result.found, result.experiment.view, cache=result.kept), result.experiment
    titles = words.length_title(experiment.view), words.axis_title(experiment)
    scatter = static.scatter_of(shown.lengths, shown.norms, titles, shown.fit)
    kind = path.suffix.removeprefix(".")
    content = static.image(scatter, words.question(experiment), result.answer, words.sharing.SITE, kind=kind)
    with new_file(path) as temporary:
        temporary.write_bytes(content)
