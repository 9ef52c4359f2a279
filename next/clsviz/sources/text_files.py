"""Text of files: unpacked, decoded, a line at a time."""

import codecs
import gzip
import itertools
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources.code_pages import guess_code_page

CHUNK_BYTES = 2**20

LARGEST_UNPACKED, LARGEST_RATIO = 2 * 2**30, 50
"""Content may take 2 GiB, or 50 times its file if that is more: a small file must not fill the disk."""

LONGEST_LINE = 64 * 2**20
"""Characters of a line, which is in memory at once."""

BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

REPLACED = "\N{REPLACEMENT CHARACTER}"

SAMPLE_BYTES = 2**16


@dataclass(frozen=True)
class TextFile:
    """A file of text in an encoding.

    newline: end of a line; a carriage return before it is part of the line.
    n_damaged: characters that are not in the encoding, and read as �. is_guess: the encoding is the
    likeliest of several in which the bytes make sense.
    """

    path: Path
    name: str
    encoding: str
    newline: str = "\n"
    n_damaged: int = 0
    is_guess: bool = False

    def lines(self, progress: Progress = silent) -> Iterator[list[str]]:
        """The lines as they end in `newline`, without it, some at a time; raises CorpusError if one is too long."""
        rest, n_lines = "", 0
        for text in decoded(chunks(self.path, self.name, progress), self.encoding):
            *lines, rest = (rest + text).split(self.newline)
            n_lines += len(lines)
            if len(rest) > LONGEST_LINE:
                reason = f"Line {n_lines + 1:,} of {quote(self.name)} is over {LONGEST_LINE >> 20} MB long."
                raise CorpusError(reason, "Break it up.")
            yield lines
        yield [rest] if rest else []


def unreadable(name: str, error: Exception) -> CorpusError:
    """The error for a file that the system does not read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return CorpusError(
        f"{quote(name)} cannot be read ({reason}).", "Choose another file, or make it readable."
    )


def check_file(path: Path) -> os.stat_result:
    """The status of a regular file; raises CorpusError where there is none: a pipe would block."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise CorpusError(f"There is no file {quote(path)}.", "Name an existing one.") from None
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{quote(path)} is not a regular file.", "Name a file of texts.")
    return status


def largest_content(n_bytes: int) -> int:
    """Bytes that a file of n_bytes may hold when unpacked."""
    return max(LARGEST_UNPACKED, LARGEST_RATIO * n_bytes)


def too_large(name: str, limit: int) -> CorpusError:
    """The error for a file whose content exceeds `largest_content`."""
    reason = f"{quote(name)} holds over {limit / 2**30:,.0f} GiB when unpacked."
    return CorpusError(reason, "Choose a part of it.")


def chunks(path: Path, name: str, progress: Progress = silent) -> Iterator[bytes]:
    """The content of a file, unpacked if it is a gzip file; raises CorpusError where it is damaged."""
    size = check_file(path).st_size
    limit, n_bytes = largest_content(size), 0
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.open(file) if is_packed else file
            while chunk := stream.read(CHUNK_BYTES):
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise too_large(name, limit)
                progress(file.tell() // 2**20, size // 2**20, "MB")
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = f"{quote(name)} is not a complete gzip file ({error})."
        raise CorpusError(reason, "Pack or copy it again.") from None
    except OSError as error:
        raise unreadable(name, error) from None


def decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[str]:
    """The text of bytes, with � where they are not in the encoding, and without a byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    is_first = True
    for piece in itertools.chain(pieces, [b""]):
        text = decoder.decode(piece, final=not piece)
        if text and is_first:
            text, is_first = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), False
        yield text


def open_text(path: Path, name: str, encoding: str = "", progress: Progress = silent) -> TextFile:
    """A file of text in `encoding`, or in the likeliest one.

    Raises CorpusError where it holds no text, SettingError where Python does not know the encoding.
    """
    is_guess = False
    if encoding:
        check_encoding(encoding)
    else:
        encoding, is_guess = _find_encoding(path, name, progress)
    n_damaged, newline, is_empty = 0, "\r", True
    for text in decoded(chunks(path, name, progress), encoding):
        n_damaged += text.count(REPLACED)
        newline = "\n" if "\n" in text else newline
        is_empty = is_empty and not text.strip("\0 \t\r\n")
    if is_empty:
        raise no_text(name)
    return TextFile(path, name, encoding.removesuffix("-sig"), newline, n_damaged, is_guess)


def no_text(name: str) -> CorpusError:
    """The error for a file without text."""
    remedy = "Choose a file with a text per line, or with a column of texts under its name."
    return CorpusError(f"{quote(name)} holds no text.", remedy)


def check_encoding(encoding: str) -> None:
    """Raise SettingError unless Python can decode text in it."""
    try:
        codecs.getincrementaldecoder(encoding)("replace").decode(b"a")
        b"".decode(encoding)
    except (LookupError, UnicodeError, ValueError, TypeError):
        reason = f"Python does not know the encoding {quote(encoding)}."
        raise SettingError(reason, "Write one such as utf-8, cp1252 or shift_jis.") from None


def _find_encoding(path: Path, name: str, progress: Progress) -> tuple[str, bool]:
    """The likeliest encoding of a file, and whether it is a guess.

    A few damaged characters don't make UTF-8 another encoding, in which all the others would be wrong.
    """
    head = next(chunks(path, name), b"")[:4096]
    for bom, encoding in BOMS.items():
        if head.startswith(bom):
            return encoding, False
    if b"\0" in head and (encoding := _wide_encoding(head)):
        return encoding, True
    n_valid = n_damaged = 0
    sample: list[bytes] = []
    room, rest = SAMPLE_BYTES, b""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for chunk in itertools.chain(chunks(path, name, progress), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        n_faults = text.count(REPLACED)
        n_damaged += n_faults
        n_valid += len(text) - len(text.encode("ascii", "ignore")) - n_faults
        if room > 0 and n_faults:
            lines = (rest + chunk).splitlines(keepends=True)
            sample += [line[:room] for line in lines if not line.isascii()]
            room = SAMPLE_BYTES - sum(map(len, sample))
        rest = chunk[chunk.rfind(b"\n") + 1 :]
    if 2 * n_damaged <= n_valid:
        return "utf-8", False
    if head.count(b"\0") > len(head) / 20:
        raise CorpusError(
            f"{quote(name)} is not a file of text.", "Choose one, or set its encoding."
        )
    return guess_code_page(b"".join(sample)[:SAMPLE_BYTES]), True


def _wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32 without a byte order mark, by where the zeros of its ASCII characters stand."""
    for encoding, step, zeros in (
        ("utf-32-le", 4, (1, 2, 3)),
        ("utf-32-be", 4, (0, 1, 2)),
        ("utf-16-le", 2, (1,)),
        ("utf-16-be", 2, (0,)),
    ):
        n = len(head) // step
        counts = [head[at::step].count(0) for at in range(step)]
        if all((counts[at] > 0.5 * n) == (at in zeros) for at in range(step)):
            return encoding
    return ""
