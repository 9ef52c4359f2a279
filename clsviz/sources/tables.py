"""Columns of a table: which of them hold text, likeliest first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clsviz.errors import CorpusError
from clsviz.settings import Reading, is_name, printable, shown
from clsviz.sources.paragraphs import Wrapped
from clsviz.sources.text_files import TextFile, no_text

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

    def texts(self, column: str = "") -> Iterator[list[str]]:
        """The same as `numbered_texts`, without the rows."""
        return (texts for texts, _ in self.numbered_texts(column))

    def numbered_texts(self, column: str = "") -> Iterator[tuple[list[str], list[int]]]:
        """The texts of a column, by default the likeliest, with the row of each, in batches of at most BATCH_SIZE.

        Runs of white space, including line breaks, become one space; blanks and nulls are left out. Raises CorpusError
        if there is no such column, and while reading if the file is damaged or the column holds no text at all.
        """
        if column and column not in self.columns:
            raise CorpusError(
                f"{printable(self.name)} has no column “{shown(column)}” that holds text. {self._choices()}"
            )
        return self._batches(column or next(iter(self.columns), ""))

    def cells(self, field: str) -> Values:
        """What every row has in one of the `fields`, as text; None where it is blank.

        Raises CorpusError if there is no such field, and while reading if the file is damaged.
        """
        if field not in self.fields or self._read_field is None:
            raise CorpusError(f"{printable(self.name)} has no column “{shown(field)}”.")
        return self._read_field(field)

    def values(self, field: str) -> Values:
        """The same, each as one line of up to 100 characters."""
        return (short_values(values) for values in self.cells(field))

    def _choices(self) -> str:
        if not self.columns:
            return "It has no columns: each line is a text."
        more = len(self.columns) - _SHOWN_COLUMNS
        names = ", ".join(map(shown, self.columns[:_SHOWN_COLUMNS])) + (f" and {more:,} more" if more > 0 else "")
        return f"Choose one of these: {names}."

    def _batches(self, column: str) -> Iterator[tuple[list[str], list[int]]]:
        is_empty, n_before = True, 0
        for values in self._read(column):
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
        if not is_name(column):
            continue  # no setting could hold such a name
        texts = _texts(values)
        if 2 * sum(any(map(str.isalpha, text)) for text in texts) > len(texts):
            ranks[column] = rank(column, sum(map(len, texts)) / len(texts))
    if not ranks:
        raise no_text(name)
    return tuple(sorted(ranks, key=ranks.__getitem__))


def _texts(values: Iterable[str | None]) -> list[str]:
    """The values that are not blank, with every run of white space made one space."""
    return [text for value in values if value and (text := " ".join(value.split()))]


def check_width(n_columns: int, file: TextFile) -> None:
    """Raise CorpusError if a table has too many columns to be one of texts."""
    if n_columns > (most := file.limits.columns):
        raise CorpusError(f"{file.name} has {n_columns:,} columns, and at most {most:,} are read. Leave some out.")
