"""Text in files: unpacked, decoded, a line at a time."""

import codecs
import gzip
import io
import itertools
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from clsviz.errors import ClsvizError, CorpusError, SettingError, quote
from clsviz.progress import Progress, silent

LARGEST_UNPACKED: Final = 2 * 2**30
LARGEST_RATIO: Final = 50
"""A file may hold 2 GiB, or 50 times its size if that is more: a small one must not fill a disk."""

LONGEST_LINE: Final = 64 * 2**20  # characters of a line, which is in memory as one

BOMS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

NEVER_GUESSED: Final = ("\n\0", "\0\n", "\x1b$")  # UTF-16, and Japanese or Korean in ASCII
SAMPLE_BYTES: Final = 2**16

LONG_ASCII: Final = re.compile(r"(?<=[\0-\x7f]{50})[\0-\x7f]{100,}")

DAMAGED: Final = "\N{REPLACEMENT CHARACTER}"

SURROGATES: Final = re.compile("[\ud800-\udfff]")  # each stands for a damaged character

codecs.register_error("clsviz.damaged", lambda error: ("\udcff", codecs.replace_errors(error)[1]))

CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1f\x7f]")

_DATA: Final = json.loads(files("clsviz.sources").joinpath("data", "encodings.json").read_bytes())

LATIN: Final[list[list[str]]] = _DATA["latin"]
"""Encodings with a language's letters beyond ASCII, likelier first: Turkish before Icelandic."""

OTHERS: Final[list[str]] = _DATA["others"]  # without cp949, which nearly any Japanese is valid in
SIGNS: Final = "“”„‟‘’‚«»‹›–—…•·€£§©®™°¿¡ºª\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class TextFile:
    """A file of text.

    n_damaged: characters that are not in the encoding, and are read as �; not any in the text.
    is_guess: the bytes make sense in other encodings too.
    """

    path: Path
    name: str
    encoding: str
    n_damaged: int = 0
    is_guess: bool = False

    def lines(self, progress: Progress = silent) -> Iterator[str]:
        r"""The lines with their ends, \n, \r\n or \r; raises CorpusError where one is too long."""
        rest, n_lines = "", 0
        for text in self.pieces(progress):
            lines = list(io.StringIO(rest + SURROGATES.sub(DAMAGED, text), newline=""))
            rest = lines.pop() if lines and not lines[-1].endswith("\n") else ""
            n_lines += len(lines)
            if len(rest) > LONGEST_LINE:
                place = f"Line {n_lines + 1:,} of {quote(self.name)}"
                raise CorpusError(f"{place} is over {LONGEST_LINE >> 20} MB long.", "Break it up.")
            yield from lines
        if rest:
            yield rest

    def pieces(self, progress: Progress = silent) -> Iterator[str]:
        """The text without a byte order mark; a surrogate is any character not in the encoding.

        Raises SettingError where Python lacks the encoding, or the file is not in it.
        """
        try:
            io.TextIOWrapper(io.BytesIO(), self.encoding)  # refuses those that are not of text
            decoder = codecs.getincrementaldecoder(self.encoding)("clsviz.damaged")
        except (LookupError, ValueError, TypeError):
            reason = f"Python does not know the encoding {quote(self.encoding)}."
            raise SettingError(reason, "Write one such as utf-8, cp1252 or shift_jis.") from None
        is_first = True
        for chunk in itertools.chain(chunks(self.path, self.name, progress), [b""]):
            try:
                text = decoder.decode(chunk, final=not chunk)
            except Exception:  # codecs raise what they like
                raise _not_in(self.encoding, self.name) from None
            if text and is_first:
                text, is_first = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), False
            yield text


def open_text(path: Path, name: str, encoding: str = "", progress: Progress = silent) -> TextFile:
    """A file of text in `encoding`, or else in the likeliest.

    Raises CorpusError where it holds no text, SettingError where it is not in the encoding.
    """
    chosen, is_guess = (encoding, False) if encoding else _find_encoding(path, name, progress)
    n_characters = n_controls = n_damaged = 0
    for text in TextFile(path, name, chosen).pieces(progress):
        n_characters += len(text.strip())
        n_controls += len(CONTROLS.findall(text))
        n_damaged += len(SURROGATES.findall(text))
    if n_characters == n_controls:
        raise no_text(name)
    most = n_characters / (100 if is_guess else 10)  # a guess may see halves of characters
    if n_controls > most or n_controls + n_damaged > n_characters / 10:
        raise _not_in(encoding, name)
    return TextFile(path, name, chosen, n_damaged, is_guess)


def _find_encoding(path: Path, name: str, progress: Progress) -> tuple[str, bool]:
    """The likeliest encoding of a file, and True if it is a guess; raises CorpusError.

    A few damaged characters make UTF-8 no other encoding, in which all the rest would be wrong.
    """
    beginning = next(chunks(path, name), b"")
    for bom, encoding in BOMS.items():
        if beginning.startswith(bom):
            return encoding, False
    n_damaged = n_beyond = 0
    for text in TextFile(path, name, "utf-8").pieces(progress):
        if any(sign in text for sign in NEVER_GUESSED):
            raise _not_in("", name)
        n_damaged += len(SURROGATES.findall(text))
        n_beyond += len(re.findall(r"[^\0-\x7f]", text))
    if 3 * n_damaged <= n_beyond:
        return "utf-8", False
    sample = ""
    for line in TextFile(path, name, "latin-1").lines():
        if len(sample) > SAMPLE_BYTES:
            break
        if not line.isascii():  # long lines are cut where they are far from the letters in question
            sample += LONG_ASCII.sub("\n", line.rstrip("\r\n")) + "\n"
    return _guess_code_page(sample[:SAMPLE_BYTES].encode("latin-1")), True


def _guess_code_page(sample: bytes) -> str:
    """The likeliest encoding of lines that are not UTF-8.

    Texts in Latin letters have most of them in ASCII, and nearly all others are of one language.
    """
    scores = [_share(sample.decode(encoding, "replace"), letters) for encoding, letters in LATIN]
    score, latin = max(scores), LATIN[scores.index(max(scores))][0]
    n_high, n_ascii = (len(re.findall(kind, sample)) for kind in (rb"[\x80-\xff]", rb"[A-Za-z]"))
    if n_high < n_ascii and score > 0.9:
        return latin
    import charset_normalizer

    for end in range(len(sample), len(sample) - 4, -1):  # the last character may be cut
        for choices in (OTHERS, None):
            if match := charset_normalizer.from_bytes(sample[:end], cp_isolation=choices).best():
                return match.encoding
    return latin


def _share(text: str, letters: str) -> float:
    """Share of the characters beyond ASCII that are letters of a language, or signs."""
    beyond = re.sub(r"[\0-\x7f]", "", text.lower())
    return len(re.findall(f"[{letters}{SIGNS}]", beyond)) / max(1, len(beyond))


def check_file(path: Path) -> os.stat_result:
    """The status of a regular file; raises CorpusError where there is none: a pipe would block."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise CorpusError(f"There is no file {quote(path)}.", "Name an existing one.") from None
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None
    if stat.S_ISDIR(status.st_mode):
        raise CorpusError(f"{quote(path)} is a folder.", "Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise CorpusError(f"{quote(path)} is not a regular file.", "Name a file of texts.")
    return status


def chunks(path: Path, name: str, progress: Progress = silent) -> Iterator[bytes]:
    """The content of a file, unpacked if gzip packed it; raises CorpusError where it is damaged."""
    size, n_bytes = check_file(path).st_size, 0
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


def check_size(n_bytes: int, file_size: int, name: str) -> None:
    """Raise CorpusError if a file of this size holds too many bytes when unpacked."""
    limit = max(LARGEST_UNPACKED, LARGEST_RATIO * file_size)
    if n_bytes > limit:
        reason = f"{quote(name)} holds over {limit / 2**30:,.0f} GiB when unpacked."
        raise CorpusError(reason, "Choose a part of it.")


def unreadable(name: str, error: Exception) -> CorpusError:
    """The error for a file that the system does not read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    remedy = "Make it readable, or choose another file."
    return CorpusError(f"{quote(name)} cannot be read ({reason}).", remedy)


def no_text(name: str) -> CorpusError:
    """The error for a file without text."""
    remedy = "Choose a file with a text per line, or with a column of texts under its name."
    return CorpusError(f"{quote(name)} holds no text.", remedy)


def _not_in(encoding: str, name: str) -> ClsvizError:
    """The error for a file that is not text in an encoding; "": in none that is guessed."""
    if encoding:
        reason = f"{quote(name)} is not text in the encoding {quote(encoding)}."
        return SettingError(reason, "Set another one, or leave it out.")
    reason = f"{quote(name)} is in an encoding that cannot be guessed, or is not text."
    remedy = "Set its encoding, such as utf-16-le or iso2022_jp, or choose a file of text."
    return CorpusError(reason, remedy)
