"""Text files with one text per line, or with paragraphs whose lines are wrapped."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import AnyStr

from clsviz.corpora.formats.columns import Table
from clsviz.corpora.formats.encoding import decoded, find_encoding
from clsviz.corpora.formats.files import TextFile, megabytes
from clsviz.corpora.formats.wrapping import SAMPLE_CHARACTERS, Wrapped, is_wrapped
from clsviz.errors import CorpusError
from clsviz.settings import Reading


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
