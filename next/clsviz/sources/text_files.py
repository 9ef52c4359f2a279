"""Text in files: unpacked, decoded, a line at a time."""

import codecs
import gzip
import io
import itertools
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources.code_pages import guess_code_page

LARGEST_UNPACKED: Final = 2 * 2**30
LARGEST_RATIO: Final = 50
"""A file may hold 2 GiB, or 50 times its size if that is more: a small one must not fill a disk."""

LONGEST_LINE: Final = 64 * 2**20
"""Characters of a line, which is in memory as one."""

SAMPLE_BYTES: Final = 2**16

DAMAGED: Final = "\N{REPLACEMENT CHARACTER}"

CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")

BOMS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

ESCAPES: Final = {b"\x1b$@": "iso2022_jp", b"\x1b$B": "iso2022_jp", b"\x1b$)C": "iso2022_kr"}
"""Beginnings of letters that are written in bytes of ASCII."""


@dataclass(frozen=True)
class TextFile:
    """A file of text.

    n_damaged: characters that are not in the encoding, and are read as �.
    is_guess: the bytes make sense in other encodings too.
    """

    path: Path
    name: str
    encoding: str
    n_damaged: int
    is_guess: bool

    def lines(self, progress: Progress = silent) -> Iterator[list[str]]:
        r"""The lines with their ends, \n, \r\n or \r, some at a time.

        Raises CorpusError where one is too long.
        """
        rest, n_lines = "", 0
        for text in decoded(self.path, self.name, self.encoding, progress):
            lines = list(io.StringIO(rest + text, newline=""))
            rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
            n_lines += len(lines)
            if len(rest) > LONGEST_LINE:
                place = f"Line {n_lines + 1:,} of {quote(self.name)}"
                raise CorpusError(f"{place} is over {LONGEST_LINE >> 20} MB long.", "Break it up.")
            yield lines
        if rest:
            yield [rest]


def open_text(path: Path, name: str, encoding: str = "", progress: Progress = silent) -> TextFile:
    """A file of text in `encoding`, or else in the likeliest.

    Raises CorpusError where it holds no text, SettingError where it is not in the encoding.
    """
    is_guess, is_set = False, bool(encoding)
    if encoding:
        check_encoding(encoding)
    else:
        encoding, is_guess = _find_encoding(path, name, progress)
    n_characters = n_controls = n_damaged = 0
    for text in decoded(path, name, encoding, progress):
        n_characters += len(text.strip())
        n_controls += len(CONTROLS.findall(text))
        n_damaged += text.count(DAMAGED)
    if n_characters == n_controls:
        raise no_text(name)
    if n_damaged:  # or the file holds � itself
        intact = decoded(path, name, encoding, errors="ignore")
        n_damaged -= sum(text.count(DAMAGED) for text in intact)
    if n_controls + n_damaged > n_characters / 10:
        raise _not_in(encoding, name) if is_set else _not_text(name)
    return TextFile(path, name, encoding, n_damaged, is_guess)


def check_encoding(encoding: str) -> None:
    """Raise SettingError unless Python can decode text in it."""
    try:
        b"a".decode(encoding, "replace")
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError, TypeError):
        reason = f"Python does not know the encoding {quote(encoding)}."
        raise SettingError(reason, "Write one such as utf-8, cp1252 or shift_jis.") from None


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


def chunks(path: Path, name: str, progress: Progress = silent) -> Iterator[bytes]:
    """The content of a file, unpacked if gzip packed it; raises CorpusError where it is damaged."""
    size = check_file(path).st_size
    n_bytes = 0
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if is_packed else file
            while chunk := stream.read(2**20):
                n_bytes += len(chunk)
                check_size(n_bytes, size, name)
                progress(file.tell() >> 20, size >> 20, "MB")
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = f"{quote(name)} is not a complete gzip file ({error})."
        raise CorpusError(reason, "Pack or copy it again.") from None
    except OSError as error:
        raise unreadable(name, error) from None


def decoded(
    path: Path, name: str, encoding: str, progress: Progress = silent, errors: str = "replace"
) -> Iterator[str]:
    """The text of a file without a byte order mark, and with � where it is not in the encoding.

    Raises SettingError where the encoding cannot do that.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    is_first = True
    for chunk in itertools.chain(chunks(path, name, progress), [b""]):
        try:
            text = decoder.decode(chunk, final=not chunk)
        except Exception:  # codecs raise what they like
            raise _not_in(encoding, name) from None
        if text and is_first:
            text, is_first = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), False
        yield text


def check_size(n_bytes: int, file_size: int, name: str) -> None:
    """Raise CorpusError if a file of this size holds too many bytes when unpacked."""
    limit = max(LARGEST_UNPACKED, LARGEST_RATIO * file_size)
    if n_bytes > limit:
        reason = f"{quote(name)} holds over {limit / 2**30:,.0f} GiB when unpacked."
        raise CorpusError(reason, "Choose a part of it.")


def unreadable(name: str, error: Exception) -> CorpusError:
    """The error for a file that the system does not read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return CorpusError(
        f"{quote(name)} cannot be read ({reason}).", "Make it readable, or choose another file."
    )


def no_text(name: str) -> CorpusError:
    """The error for a file without text."""
    remedy = "Choose a file with a text per line, or with a column of texts under its name."
    return CorpusError(f"{quote(name)} holds no text.", remedy)


def _not_text(name: str) -> CorpusError:
    return CorpusError(f"{quote(name)} is not a file of text.", "Choose one, or set its encoding.")


def _not_in(encoding: str, name: str) -> SettingError:
    reason = f"{quote(name)} is not text in the encoding {quote(encoding)}."
    return SettingError(reason, "Set another one, or leave it out.")


def _find_encoding(path: Path, name: str, progress: Progress) -> tuple[str, bool]:
    """The likeliest encoding of a file, and whether it is a guess.

    A few damaged characters make UTF-8 no other encoding, in which all the rest would be wrong.
    """
    head = next(chunks(path, name), b"")[:4096]
    for bom, encoding in BOMS.items():
        if head.startswith(bom):
            return encoding, False
    has_wide_ends = b"\n\0" in head or b"\0\n" in head
    if head.count(0) > len(head) / (100 if has_wide_ends else 20):
        return _wide_encoding(head, name), True
    n_valid = n_damaged = 0
    escape = b""
    sample, rest = b"", b""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for chunk in itertools.chain(chunks(path, name, progress), [b""]):
        text = decoder.decode(chunk, final=not chunk)
        escape = escape or next((sign for sign in ESCAPES if sign in chunk), b"")
        n_damaged += len(re.findall("[\udc80-\udcff]", text))
        n_valid += len(re.findall("[^\0-\x7f\udc80-\udcff]", text))
        if n_damaged and len(sample) < SAMPLE_BYTES:
            lines = (rest + chunk).splitlines()
            ended = lines[:-1] if chunk and len(lines) > 1 else lines
            sample += b"\n".join(line for line in ended if not line.isascii()) + b"\n"
        rest = chunk[chunk.rfind(b"\n") + 1 :]
    if escape and not n_valid and not n_damaged:
        return ESCAPES[escape], False
    if 2 * n_damaged <= n_valid:
        return "utf-8", False
    sample = re.sub(
        rb"(?<=[\0-\x7f]{50})[\0-\x7f]{100,}", b"\n", sample
    )  # far from the letters in question
    end = sample.rfind(b"\n", 0, SAMPLE_BYTES)
    return guess_code_page(sample[: end if end > 0 else SAMPLE_BYTES]), True


def _wide_encoding(head: bytes, name: str) -> str:
    """UTF-16 or UTF-32 without a byte order mark, by the places of the zeros in it."""
    first, second, third, last = (head[at::4].count(0) for at in range(4))
    if min(first, second) > 4 * max(1, last):
        return "utf-32-be"
    if min(third, last) > 4 * max(1, first):
        return "utf-32-le"
    if first + third > 4 * (second + last):
        return "utf-16-be"
    if second + last > 4 * (first + third):
        return "utf-16-le"
    raise _not_text(name)
