"""Local files of text, plain or packed, read piece by piece; and what to say of those that cannot be read."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clsviz.errors import CorpusError, first_line
from clsviz.settings import Reading

_NO_LIMIT = 2**63


@dataclass(frozen=True)
class Limits:
    """What is read of a local file, so that no file can fill the memory.

    file_bytes: size of the file. text_bytes: of what it holds when unpacked. Both are for uploads: of a file that is
    read where it lies, whatever its size, little is in memory at once. row_bytes: of a line, row or object; a few times
    as much is in memory at once. columns: of a table, whether they hold text or not. column_bytes: of a column in a row
    group of a Parquet file. batch_bytes: of the texts read from it at once. chunk_bytes: read from disk at once.
    """

    file_bytes: int = _NO_LIMIT
    text_bytes: int = _NO_LIMIT
    row_bytes: int = 4 * 2**20
    columns: int = 1000
    column_bytes: int = 512 * 2**20
    batch_bytes: int = 64 * 2**20
    chunk_bytes: int = 2**20


@dataclass(frozen=True)
class TextFile:
    """A file, its name as messages show it, how much of it may be read, and what is one text in it."""

    path: Path
    name: str
    is_packed: bool
    limits: Limits
    reading: Reading = Reading.AUTO

    def chunks(self) -> Iterator[bytes]:
        """The file's content, unpacked; raises CorpusError if it cannot be read or unpacks to too much."""
        n_bytes = 0
        try:
            with gzip.open(self.path) if self.is_packed else self.path.open("rb") as stream:
                while chunk := stream.read(self.limits.chunk_bytes):
                    n_bytes += len(chunk)
                    if n_bytes > self.limits.text_bytes:
                        raise too_much_text(self)
                    yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CorpusError(
                f"{self.name} is not a complete gzip file ({first_line(error)}). Pack or copy it again."
            ) from None
        except OSError as error:
            raise unreadable(self.name, error) from None


def no_text(name: str) -> CorpusError:
    """The error for a file without text."""
    return CorpusError(
        f"{name} holds no text. Give a file with one text per line, or with a column of texts under its name."
    )


def too_much_text(file: TextFile) -> CorpusError:
    """The error for a file that holds more than `text_bytes` when unpacked."""
    return CorpusError(f"{file.name} holds over {megabytes(file.limits.text_bytes)} when unpacked. Take a part of it.")


def unreadable(name: str, error: Exception) -> CorpusError:
    """The error for a file that the system refuses to read."""
    reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
    return CorpusError(f"{name} cannot be read: {reason}. Name another file, or make it readable.")


def megabytes(n_bytes: int) -> str:
    """A size, as a file manager shows it."""
    return f"{n_bytes / 2**20:,.0f} MB"
