"""Records of CSV files, also of those that no program wrote."""

import itertools
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

DELIMITERS: Final = (", ", "; ", ",", ";", "\t", "|")
"""The likelier of two that separate as evenly stands first: blanks are no part of a text."""

SAMPLE_LINES: Final = 200
MOST_ABOVE: Final = 10
"""Lines that show the layout of a file, and rows of a title above its header, at most."""

ESCAPED: Final = re.compile(r'\\"\w')
"""A mark after a backslash that neither closes a field nor is doubled."""

NO_DELIMITER: Final = "\x1f"
"""Stands between the fields of a file with a single column, so nowhere."""

FEWEST_SWALLOWED: Final = 2
"""Lines that all look like rows, from which on a quotation mark before them is never closed."""

LONGEST_FIELD: Final = 16 * 2**20
MOST_IN_VAIN: Final = 1_000_000
"""Characters of a field over several lines; lines looked through for ends that are not found."""


class Records:
    """The records of some lines, with their ends, as lists of fields; blank ones are left out.

    Quotation marks around a field may hold delimiters, line ends and doubled marks (RFC 4180); with
    has_escapes, marks after a backslash. A mark that nothing closes is part of a field that ends
    with its line: it must not swallow the rows after it. Nothing closes it if the next mark stands
    within a field, or only after many lines that have as many fields as the header. doubts: gets
    the number of such marks as “unclosed”, of fields over a few lines that could be rows as
    “doubtful”, and of records with marks after a backslash, but without has_escapes, as “escapes”.
    """

    def __init__(
        self,
        lines: Iterable[str],
        delimiter: str,
        n_fields: int,
        doubts: Counter[str],
        has_escapes: bool = False,
    ) -> None:
        """n_fields: of the header; 0 where it is not known."""
        self._lines, self._ahead = iter(lines), deque[str]()
        self._delimiter, self._n_delimiters, self._doubts = delimiter, n_fields - 1, doubts
        self._n_in_vain, self._has_escapes = 0, has_escapes
        end = rf"(?={re.escape(delimiter)}|[\r\n]*\Z)"
        within_marks = r'(?:[^"\\]++|\\.|"")*+' if has_escapes else r'(?:[^"]++|"")*+'
        self._pair = re.compile(r'[\\"]([\\"])' if has_escapes else '"(")')
        self._closed = re.compile(rf'"({within_marks})"{end}', re.DOTALL)
        # A quotation whose marks are not doubled, but no other field: "a "b" c"
        within = rf'[^"\r\n]*\s"(?:(?!{re.escape(delimiter)}")[^\r\n])*?'
        self._sloppy = re.compile(rf'"({within})"{end}')
        self._open = re.compile(rf'"{within_marks}\Z', re.DOTALL)
        self._before_mark = re.compile(within_marks, re.DOTALL)
        self._after_mark = re.compile(rf'"{end}')

    def __iter__(self) -> Iterator[list[str]]:
        while (line := self._next()) is not None:
            row = self._record(line) if '"' in line else line.rstrip("\r\n").split(self._delimiter)
            if any(map(str.strip, row)):
                yield row

    def _next(self) -> str | None:
        return self._ahead.popleft() if self._ahead else next(self._lines, None)

    def _record(self, record: str) -> list[str]:
        """The fields of the record that begins with a line."""
        literal = -1  # the place of a mark that nothing closes
        self._doubts["escapes"] += not self._has_escapes and bool(ESCAPED.search(record))
        while True:
            row, opening = self._fields(record, literal)
            if opening < 0:
                return row
            n = self._n_lines_to_end(record)
            record = "".join([record, *(self._ahead.popleft() for _ in range(n))])
            if not n:
                literal = opening
                self._doubts["unclosed"] += 1

    def _fields(self, record: str, literal: int) -> tuple[list[str], int]:
        """The fields, and the place of the mark that opens one without an end, else -1."""
        row: list[str] = []
        at = 0
        while True:
            field = None
            if record.startswith('"', at) and at != literal:
                field = self._closed.match(record, at)
                if not field and self._open.match(record, at):
                    return row, at
                field = field or self._sloppy.match(record, at)
            if field:
                stop = field.end()
                row.append(self._pair.sub(r"\1", field[1]))
            else:
                stop = record.find(self._delimiter, at)
                stop = len(record) if stop < 0 else stop
                row.append(record[at:stop].rstrip("\r\n"))
            if not record.startswith(self._delimiter, stop):
                return row, -1
            at = stop + len(self._delimiter)

    def _n_lines_to_end(self, record: str) -> int:
        """Lines ahead up to the end of the field that a record leaves open; 0 where it has none."""
        are_rows = record.count(self._delimiter) == self._n_delimiters
        n_characters = 0
        for n in itertools.count(1):
            self._ahead.extend(itertools.islice(self._lines, n - len(self._ahead)))
            if (
                len(self._ahead) < n
                or n_characters > LONGEST_FIELD
                or self._n_in_vain > MOST_IN_VAIN
            ):
                break
            line = self._ahead[n - 1]
            n_characters += len(line)
            are_rows = are_rows and line.count(self._delimiter) == self._n_delimiters
            text = self._before_mark.match(line)
            mark = text.end() if text else 0
            if mark < len(line):
                is_swallowing = are_rows and self._n_delimiters > 0 and n >= FEWEST_SWALLOWED
                if is_swallowing or not self._after_mark.match(line, mark):
                    break
                if are_rows:
                    self._doubts["doubtful"] += 1
                return n
        self._n_in_vain += n
        return 0


@dataclass(frozen=True)
class Layout:
    """The layout of a CSV file.

    n_above: records above its header. has_escapes: marks stand after backslashes, not doubled.
    """

    delimiter: str
    header: tuple[str, ...]
    n_above: int
    has_escapes: bool


def find_layout(lines: Sequence[str], delimiter: str = "") -> Layout:
    """The layout that the first lines of a file show; a delimiter that they lack is not heeded."""
    n_above = 0
    has_escapes = any(map(ESCAPED.search, lines))
    if sep := re.match(r'"?sep=([,;\t|])"?$', lines[0], re.IGNORECASE):
        n_above, delimiter = 1, sep[1]
    if not delimiter or not any(delimiter in line for line in lines):
        delimiter = _find_delimiter(lines, has_escapes)
    rows = _rows(lines[n_above:], delimiter, has_escapes) or [["text"]]
    # Titles stand alone in their rows; the header below names every column that the rows have.
    is_title = [not any(map(str.strip, row[1:])) for row in rows[:MOST_ABOVE]]
    header = is_title.index(False) if False in is_title else 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if len(rows[header]) != width or not all(any(map(str.isalpha, name)) for name in rows[header]):
        header = 0
    return Layout(delimiter, _unique(rows[header]), n_above + header, has_escapes)


def _rows(lines: Iterable[str], delimiter: str, has_escapes: bool) -> list[list[str]]:
    return list(Records(lines, delimiter, 0, Counter(), has_escapes))


def _find_delimiter(lines: Sequence[str], has_escapes: bool) -> str:
    """The one that most rows have as often as the header, which may stand below titles of words."""
    evenness = {NO_DELIMITER: 0.0}
    for delimiter in DELIMITERS:
        counts = [len(row) for row in _rows(lines, delimiter, has_escapes)] or [1]
        below = list(itertools.dropwhile(lambda n: n == 1, counts)) or [1]
        share = below.count(below[0]) / len(below)
        is_titled = counts[0] == 1 and " " in lines[0].strip() and share > 0.9
        if below[0] > 1 and (counts[0] > 1 or is_titled):
            evenness[delimiter] = share
    return max(evenness, key=evenness.__getitem__)


def _unique(header: Iterable[str]) -> tuple[str, ...]:
    """The names of a header, none of them empty, and each only once."""
    names: list[str] = []
    for number, cell in enumerate(header, 1):
        stem = " ".join(cell.split()) or f"column {number}"
        copies = itertools.chain([stem], (f"{stem} ({n})" for n in itertools.count(2)))
        names.append(next(name for name in copies if name not in names))
    return tuple(names)
