"""The encoding of a local text file, and its characters."""

import codecs
import io
import itertools
from collections.abc import Iterator

import charset_normalizer

from clsviz.corpora.formats.files import TextFile, no_text
from clsviz.errors import CorpusError

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
