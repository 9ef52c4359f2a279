"""Local files of text, plain or packed: read piece by piece, their encoding, and what cannot be read."""

import codecs
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clsviz.atomic import open_regular
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
            with open_regular(self.path) as file, gzip.open(file) if self.is_packed else file as stream:
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


PIECE_BYTES = 2**18
"""How much of a file its encoding and its delimiter are guessed from."""

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16's, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class BadByteError(CorpusError):
    """A byte cannot be decoded; offset: where it is in the unpacked file."""

    def __init__(self, name: str, encoding: str, byte: int, line: int, offset: int = 0) -> None:
        super().__init__(
            f"Line {line:,} of {name} is damaged: its byte {byte:#04x} is not {_label(encoding)}, which the rest of "
            "the file is in. Mend the line, or leave it out."
        )
        self.offset = offset


def find_encoding(file: TextFile) -> str:
    """The encoding in which the whole file can be read; raises CorpusError if there is none, or the file has no text.

    A UTF-8 file with a stray byte is not read in another encoding, in which everything else would be wrong.
    """
    head = _range(file, 0, 4096)
    for bom, encoding in _BOMS.items():
        if head.startswith(bom):
            return _checked(file, encoding)
    if b"\0" in head:
        raise CorpusError(f"{file.name} is not a text file. Give one, or a name with the ending of its format.")
    try:
        return _checked(file, "utf-8")
    except BadByteError as fault:
        if _is_damaged_utf8(file):
            raise
        import charset_normalizer

        matches = charset_normalizer.from_bytes(_piece_around(file, fault.offset))
        # Its best guess for a few sentences in a Western language is often Baltic or Central European.
        best = next((match for match in matches if match.encoding == "cp1252"), None) or matches.best()
    if best is None:
        raise CorpusError(f"{file.name} is in no known text encoding. Save it as UTF-8.")
    return _checked(file, best.encoding)


def _checked(file: TextFile, encoding: str) -> str:
    """`encoding`, if the whole file can be read in it and holds text; raises CorpusError otherwise."""
    holds_text = False
    for text in decoded(file, encoding):
        holds_text = holds_text or bool(text.strip())
    if not holds_text:
        raise no_text(file.name)
    return encoding


def decoded(file: TextFile, encoding: str) -> Iterator[str]:
    """The characters of a file, with every line break as a line feed; raises CorpusError at a bad byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    newlines = io.IncrementalNewlineDecoder(decoder, translate=True)
    line, offset = 1, 0
    for chunk in itertools.chain(file.chunks(), [b""]):
        try:
            text = newlines.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            start = error.start - (len(error.object) - len(chunk))  # in this chunk; below 0 in an earlier one
            if start < 0:
                decoder.reset()  # drops the broken character, which would raise again
            line += newlines.decode(chunk[: max(start, 0)], final=True).count("\n")
            raise BadByteError(file.name, encoding, error.object[error.start], line, offset + start) from None
        line += text.count("\n")
        offset += len(chunk)
        yield text


def _is_damaged_utf8(file: TextFile) -> bool:
    """Whether a text that is not UTF-8 seems meant to be: it has far more valid characters beyond ASCII than faults."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    faults = characters = 0
    for chunk in itertools.chain(file.chunks(), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        faults += text.count("\N{REPLACEMENT CHARACTER}")
        characters += len(text) - len(text.encode("ascii", "ignore"))
    return characters > 2 * faults


def _piece_around(file: TextFile, offset: int) -> bytes:
    """The part of a file around a byte, in whole lines unless they are too long."""
    start = max(0, offset - PIECE_BYTES // 2)
    piece = _range(file, start, PIECE_BYTES)
    first = piece.find(b"\n", 0, offset - start) if start else -1  # the first character may be cut in two
    last = piece.rfind(b"\n", offset - start)
    return piece[first + 1 : last + 1 if last >= 0 and len(piece) == PIECE_BYTES else None]


def _range(file: TextFile, start: int, size: int) -> bytes:
    """`size` bytes of a file from `start` on, fewer if it ends before."""
    found = bytearray()
    for chunk in file.chunks():
        found += chunk[start:]
        start = max(0, start - len(chunk))
        if len(found) >= size:
            break
    return bytes(found[:size])


def _label(encoding: str) -> str:
    """The name of an encoding as people write it."""
    return encoding.removesuffix("-sig").upper().replace("_", "-")
