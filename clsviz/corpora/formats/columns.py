"""Columns of a table: which hold text, and which of them is the likeliest."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from clsviz.corpora.formats.lines import no_text
from clsviz.errors import CorpusError
from clsviz.settings import is_name, printable, shown

MAX_COLUMNS = 1000
"""Of a table, strings or not; one of more is not about texts."""


BATCH_SIZE = 10_000
"""Texts that are handed on at once, at most."""


SAMPLE_ROWS = 200
"""First rows of a table, from which the columns that hold text are told."""


_SHOWN_COLUMNS = 12


_KNOWN_NAMES = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Of columns that hold the text a table is about, likeliest first."""


Values = Iterator[Sequence[str | None]]
"""What a column holds, piece by piece, as it stands in the file."""


@dataclass(frozen=True)
class Table:
    """A local file of texts, under the name to show in messages.

    columns: those that hold text, likeliest first; none where the file is a text a line.
    """

    path: Path
    name: str
    encoding: str
    columns: tuple[str, ...]
    _read: Callable[[str], Values] = field(repr=False, compare=False)

    def texts(self, column: str = "") -> Iterator[list[str]]:
        """The texts of a column, the likeliest if none is named, in batches of at most BATCH_SIZE.

        Runs of white space, line breaks included, are one space; blanks and nulls are left out. Raises CorpusError
        where there is no such column, and on the way where the file is damaged or the column holds no text at all.
        """
        if column and column not in self.columns:
            raise CorpusError(
                f"{printable(self.name)} has no column “{shown(column)}” that holds text. {self._choices()}"
            )
        return self._batches(column or next(iter(self.columns), ""))

    def _choices(self) -> str:
        if not self.columns:
            return "It has no columns: it is a text a line."
        more = len(self.columns) - _SHOWN_COLUMNS
        names = ", ".join(map(shown, self.columns[:_SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
        return f"Choose one of these: {names}."

    def _batches(self, column: str) -> Iterator[list[str]]:
        is_empty = True
        for values in self._read(column):
            for start in range(0, len(values), BATCH_SIZE):
                if texts := _texts(values[start : start + BATCH_SIZE]):
                    is_empty = False
                    yield texts
        if is_empty:
            raise no_text(printable(self.name))


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type may hold text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def rank(column: str, mean_length: float) -> tuple[int, float]:
    """What sorts columns of text by how likely they hold what a table is about: known names, then long texts, first."""
    known = column.strip().casefold()
    return (_KNOWN_NAMES.index(known) if known in _KNOWN_NAMES else len(_KNOWN_NAMES)), -mean_length


# Columns, texts and messages


def text_columns(sample: Mapping[str, Iterable[str | None]], name: str) -> tuple[str, ...]:
    """The columns that hold text by their first values, likeliest first; raises CorpusError where there is none.

    They come in the order of the known names, then of the mean length of a value.
    """
    ranks: dict[str, tuple[int, float]] = {}
    for column, values in sample.items():
        if not is_name(column):
            continue  # no setting could hold it
        texts = _texts(values)
        if 2 * sum(any(map(str.isalpha, text)) for text in texts) > len(texts):
            ranks[column] = rank(column, sum(map(len, texts)) / len(texts))
    if not ranks:
        raise no_text(name)
    return tuple(sorted(ranks, key=ranks.__getitem__))


def _texts(values: Iterable[str | None]) -> list[str]:
    """The values that are not blank, every run of white space in them one space."""
    return [text for value in values if value and (text := " ".join(value.split()))]


def check_width(n_columns: int, name: str) -> None:
    if n_columns > MAX_COLUMNS:
        raise CorpusError(f"{name} has {n_columns:,} columns, and at most {MAX_COLUMNS:,} are read. Leave some out.")
