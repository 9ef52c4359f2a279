"""Text files with one text per line."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import AnyStr

from clsviz.corpora.formats.columns import Table
from clsviz.corpora.formats.encoding import decoded, find_encoding
from clsviz.corpora.formats.files import TextFile, megabytes
from clsviz.errors import CorpusError


def open_lines(file: TextFile) -> Table:
    """The lines of a text file; raises CorpusError if it is in no known encoding or holds no text."""
    encoding = find_encoding(file)
    characters = partial(decoded, file, encoding)
    return Table(file.path, file.name, encoding, (), lambda _: lines(characters(), "\n", file))


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
