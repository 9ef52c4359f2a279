"""Local files of text, plain or packed, read piece by piece, and their lines."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import AnyStr

from clsviz.errors import CorpusError, first_line

MAX_TEXT_BYTES = 2 * 2**30
"""Of what a packed file holds: with less, a small file could fill the memory."""


MAX_ROW_BYTES = 4 * 2**20
"""Of a line, row or object; so much, and a few times as much, is in memory at once."""


CHUNK_BYTES = 2**20
"""What is read from a file at once."""


@dataclass(frozen=True)
class TextFile:
    """Where bytes come from; `name` may stand in a message."""

    path: Path
    name: str
    is_packed: bool

    def chunks(self) -> Iterator[bytes]:
        """What the file holds, unpacked; raises CorpusError where it cannot be read or is a bomb."""
        n_bytes = 0
        try:
            with gzip.open(self.path) if self.is_packed else self.path.open("rb") as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    n_bytes += len(chunk)
                    if n_bytes > MAX_TEXT_BYTES:
                        raise too_much_text(self.name)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CorpusError(
                f"{self.name} is no whole gzip file ({first_line(error)}). Pack or copy it again."
            ) from None
        except OSError as error:
            raise unreadable(self.name, error) from None


def lines(chunks: Iterable[AnyStr], newline: AnyStr, name: str) -> Iterator[list[AnyStr]]:
    """The lines of a file, blank ones too, as many at once as a chunk holds; raises CorpusError at an endless one."""
    rest = newline[:0]
    count = 0
    for chunk in chunks:
        lines = (rest + chunk).split(newline)
        rest = lines.pop()
        count += len(lines)
        if len(rest) > MAX_ROW_BYTES:
            raise CorpusError(f"Line {count + 1:,} of {name} is over {megabytes(MAX_ROW_BYTES)} long. Break it.")
        yield lines
    yield [rest]


def no_text(name: str) -> CorpusError:
    """What to raise of a file without text."""
    return CorpusError(f"{name} holds no text. Give one with a text a line, or a column of texts under its name.")


def too_much_text(name: str) -> CorpusError:
    """What to raise of a file over MAX_TEXT_BYTES, unpacked."""
    return CorpusError(f"{name} holds over {megabytes(MAX_TEXT_BYTES)} when unpacked. Take a part of it.")


def unreadable(name: str, error: Exception) -> CorpusError:
    """What to raise of a file that the system does not let one read."""
    reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
    return CorpusError(f"{name} cannot be read: {reason}. Name another file, or make it readable.")


def megabytes(n_bytes: int) -> str:
    """A size, as a file manager shows it."""
    return f"{n_bytes / 2**20:,.0f} MB"
