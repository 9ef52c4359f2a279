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
from clsviz.sources.encodings import find_encoding

LARGEST_UNPACKED: Final = 2 * 2**30
LARGEST_RATIO: Final = 50
"""A file may hold 2 GiB, or 50 times its size if that is more: a small one must not fill a disk."""

LONGEST_LINE: Final = 64 * 2**20
"""Characters of a line, which is in memory as one."""

DAMAGED: Final = "\N{REPLACEMENT CHARACTER}"

CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class TextFile:
    """A file of text.

    n_damaged: characters that are not in the encoding, and are read as �.
    is_guess: the bytes make sense in other encodings too.
    """

    path: Path
    name: str
    encoding: str
    n_damaged: int = 0
    is_guess: bool = False

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
    if is_set:
        _check_encoding(encoding)
    else:
        encoding, is_guess = find_encoding(chunks(path, name, progress))
    if not encoding:
        raise _not_guessed(name)
    n_characters = n_controls = n_damaged = 0
    for text in decoded(path, name, encoding, progress):
        n_characters += len(text.strip())
        n_controls += len(CONTROLS.findall(text))
        n_damaged += text.count(DAMAGED)
    if n_characters == n_controls:
        raise no_text(name)
    if is_guess and n_controls > n_characters / 100:  # the halves of characters of UTF-16
        raise _not_guessed(name)
    if n_damaged:  # or the file holds � itself
        intact = decoded(path, name, encoding, errors="ignore")
        n_damaged -= sum(text.count(DAMAGED) for text in intact)
    if n_controls + n_damaged > n_characters / 10:
        if is_set:
            raise _not_in(encoding, name)
        remedy = "Choose one, or set its encoding, such as utf-16-le."
        raise CorpusError(f"{quote(name)} is not a file of text.", remedy)
    return TextFile(path, name, encoding, n_damaged, is_guess)


def _check_encoding(encoding: str) -> None:
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


def _not_guessed(name: str) -> CorpusError:
    reason = f"{quote(name)} is in an encoding that cannot be guessed, or is not text."
    return CorpusError(reason, "Set its encoding, such as utf-16-le, utf-16-be or iso2022_jp.")


def _not_in(encoding: str, name: str) -> SettingError:
    reason = f"{quote(name)} is not text in the encoding {quote(encoding)}."
    return SettingError(reason, "Set another one, or leave it out.")
