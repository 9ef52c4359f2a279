"""Records of CSV files, also of those that no program wrote."""

import csv
import itertools
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from clsviz.errors import CorpusError
from clsviz.sources.sentences import n_words

DELIMITERS: Final = (", ", "; ", ",", ";", "\t", "|")  # the likelier first: no blanks
SAMPLE_LINES: Final = 200
MOST_ABOVE: Final = 10
"""Lines that show the layout of a file, and rows of a title above its header, at most."""

NO_DELIMITER: Final = "\x1f"  # stands between the fields of a file with a single column, so nowhere
MOST_COLUMNS: Final = 1000

FEWEST_SWALLOWED: Final = 3  # lines like rows from which on a mark over them is unclosed
LONGEST_RECORD: Final = 16 * 2**20
csv.field_size_limit(LONGEST_RECORD)

NUMBER: Final = re.compile(r"[+-]?\d[\d\s.,:/%+-]*")  # a number, a date or a time

KNOWN_NAMES: Final = (
    *("text", "sentence", "content", "premise", "document", "review", "comment", "body"),
    *("sentence1", "question", "article", "abstract", "message", "tweet", "description", "title"),
)
"""Names that the main column of texts tends to have, likeliest first."""

NAMES: Final = frozenset(
    [
        *(*KNOWN_NAMES, "id", "_id", "ids", "query", "query_id", "corpus_id", "label", "score"),
        *("answer", "author", "category", "date", "headline", "index", "language", "name", "url"),
    ]
)
"""Names of columns that are no values of their own."""

ESCAPES: Final = (None, "\\")  # before a mark within quotation marks; else it is doubled


class Records:
    """The records of some lines, with their ends, as lists of fields; blank ones are left out.

    Quotation marks around a field may hold delimiters, line ends, and marks that are doubled or
    stand after a backslash. A mark that nothing closes is part of a field that ends with its line:
    it must not swallow the rows after it. Nothing closes it if the next mark stands within a field,
    or only after many lines that have as many fields as the header. doubts: gets the number of such
    rows as “unclosed”, and of fields over two lines that could be rows as “doubtful”.
    """

    def __init__(
        self, lines: Iterable[str], delimiter: str, n_fields: int, doubts: Counter[str]
    ) -> None:
        """n_fields: of the header; 0 where it is not known."""
        self._lines, self._ahead = iter(lines), deque[str]()
        self._delimiter, self._n_fields, self._doubts = delimiter, n_fields, doubts
        end = rf"(?={re.escape(delimiter)}|\Z)"
        closed = r'"((?:[^"]++|"")*+)"'
        undoubled = rf'"([^"]*\s"(?:(?!{re.escape(delimiter)}").)*?)"'  # "a "b" c", not "a" b "c"
        self._field = re.compile(rf"(?:{closed}|{undoubled}|(.*?)){end}", re.DOTALL)

    def __iter__(self) -> Iterator[list[str]]:
        while line := self._next():
            is_quoted = '"' in line
            row = self._quoted(line) if is_quoted else line.rstrip("\r\n").split(self._delimiter)
            if any(map(str.strip, row)):
                yield row

    def _next(self) -> str:
        return self._ahead.popleft() if self._ahead else next(self._lines, "")

    def _quoted(self, line: str) -> list[str]:
        """The fields of the record that begins with a line."""
        is_spaced = len(self._delimiter) > 1
        form: dict[str, Any] = {
            "delimiter": self._delimiter[0],
            "skipinitialspace": is_spaced,
            "strict": True,
        }
        for escape in ESCAPES:
            lines = [line]
            marks: dict[str, Any] = {"escapechar": escape, "doublequote": not escape}
            try:
                row = next(csv.reader(self._add(lines), **form, **marks))
                n_fields = {one.count(self._delimiter) + 1 for one in lines}
                could_be_rows = len(lines) > 1 and n_fields == {self._n_fields} != {1}
                if not could_be_rows or len(lines) < FEWEST_SWALLOWED:
                    self._doubts["doubtful"] += could_be_rows
                    return row
            except (csv.Error, StopIteration):
                pass
            self._ahead.extendleft(reversed(lines[1:]))
            if not any('\\"' in one for one in lines):
                break
        return self._odd(line.rstrip("\r\n"))

    def _add(self, lines: list[str]) -> Iterator[str]:
        """The line, and those after it, which are added to the list as they are needed."""
        yield lines[0]
        n_characters = 0
        while n_characters < LONGEST_RECORD and (line := self._next()):
            lines.append(line)
            n_characters += len(line)
            yield line

    def _odd(self, line: str) -> list[str]:
        """The fields of a line whose quotation marks are not as they should be."""
        row, at = [], 0
        while match := self._field.match(line, at):
            closed, undoubled, literal = match.groups()
            row.append(closed.replace('""', '"') if closed is not None else undoubled or literal)
            at = match.end() + len(self._delimiter)
            if match.end() == len(line):
                break
        self._doubts["unclosed"] += any(cell[:1] == '"' and cell.count('"') % 2 for cell in row)
        return row


class Layout(NamedTuple):
    """The layout of a CSV file; n_above: records above its texts, with the header, if any.

    Without a header, columns are called 1, 2 and so on.
    """

    delimiter: str
    header: tuple[str, ...]
    n_above: int
    has_header: bool


def find_layout(lines: Sequence[str], delimiter: str = "") -> Layout:
    """The layout that the first lines of a file show; a delimiter that they lack is not heeded."""
    n_above = 0
    if sep := re.match(r'"?sep=([,;\t|])"?$', lines[0], re.IGNORECASE):
        n_above, delimiter = 1, sep[1]
    if not any(delimiter in line for line in lines if delimiter):
        delimiter = _find_delimiter(lines)
    rows = list(Records(lines[n_above:], delimiter, 0, Counter())) or [["text"]]
    # Titles stand alone in their rows; the header below names every column that the rows have.
    is_title = [not any(map(str.strip, row[1:])) for row in rows[:MOST_ABOVE]]
    header = is_title.index(False) if False in is_title else 0
    width = Counter(map(len, rows)).most_common(1)[0][0]
    if len(rows[header]) != width or not all(any(map(str.isalpha, name)) for name in rows[header]):
        header = 0
    check_width(len(rows[header]))
    if not is_header(rows[header], rows[header + 1 :]):
        return Layout(delimiter, tuple(map(str, range(1, width + 1))), n_above + header, False)
    names: list[str] = []
    for number, cell in enumerate(rows[header], 1):
        name = stem = " ".join(cell.split()) or f"column {number}"
        copies = (f"{stem} ({n})" for n in itertools.count(2))
        while name in names:
            name = next(copies)
        names.append(name)
    return Layout(delimiter, tuple(names), n_above + header + 1, True)


def is_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """True if a row names the columns below it, and does not look like one of them.

    It does with a number above numbers, a value that comes again below it, also with other digits,
    or a sentence that is no shorter than a tenth of the texts below it.
    """
    as_pandas = [*map(str, range(len(first)))], ["", *map(str, range(len(first) - 1))]
    if not below or {simple(cell) for cell in first} & NAMES or [*first] in as_pandas:
        return True
    is_like_those_below = False
    for number, cell in enumerate(map(str.strip, first)):
        column = list(filter(str.strip, (row[number] for row in below if len(row) > number)))
        if not column or not cell:
            continue
        is_of_numbers = sum(map(bool, map(NUMBER.fullmatch, column))) > 0.9 * len(column)
        if is_of_numbers and not NUMBER.fullmatch(cell):
            return True
        form, *forms = (re.sub(r"\d+", "0", other.strip()) for other in (cell, *column))
        is_value = form in forms and (cell in column or forms.count(form) > 0.9 * len(forms))
        least, n = sorted(map(len, column))[len(column) // 10], n_words(cell)
        is_sentence = n > 4 or (n > 2 and cell[-1] in ".!?…。！？")
        is_like_those_below |= is_of_numbers or is_value or (is_sentence and len(cell) >= least)
    return not is_like_those_below


def simple(name: str) -> str:
    """The name of a column in small letters, with underscores for spaces and hyphens."""
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def check_width(n_columns: int) -> None:
    """Raise CorpusError if a table has too many columns."""
    if n_columns > MOST_COLUMNS:
        raise CorpusError(f"The file has over {MOST_COLUMNS:,} columns.", "Leave some out.")


def _find_delimiter(lines: Sequence[str]) -> str:
    """The one that most rows have as often as the header, which may stand below titles of words."""
    evenness = {NO_DELIMITER: 0.0}
    beginning = re.sub(r'"[^"]*"', "", "\n".join(lines[:MOST_ABOVE]))
    for delimiter in filter(beginning.__contains__, DELIMITERS):
        counts = [len(row) for row in Records(lines, delimiter, 0, Counter())] or [1]
        below = list(itertools.dropwhile(lambda n: n == 1, counts)) or [1]
        share = below.count(below[0]) / len(below)
        is_titled = counts[0] == 1 and " " in lines[0].strip() and share > 0.9
        if below[0] > 1 and (counts[0] > 1 or is_titled):
            evenness[delimiter] = share
    return max(evenness, key=evenness.__getitem__)
