"""Files that visitors bring, each under a name that nobody else can guess.

The folder of one also has the copies that corpora make of it, which are hidden files.
"""

import contextlib
import re
import secrets
import time
from pathlib import Path
from typing import Final

from clsviz import limits
from clsviz.errors import CorpusError
from clsviz.files import remove, replacing
from clsviz.sources import copies, tables

PREFIX: Final = "upload-"

NAME: Final = re.compile(rf"(?:[\w. ()-]+ \()?({PREFIX}[\w-]{{10,40}})\)?")
"""The name of a corpus that was brought: the visitor's name of the file, and that of its folder."""


def store(root: Path, file_name: str, content: bytes) -> str:
    """Store a file that was brought; returns the name of its corpus.

    file_name: the visitor's name of it, whose ending tells the format. Raises CorpusError where the
    ending or a limit forbids it, and StoreError.
    """
    own = Path(file_name).name[-100:]
    safe = re.sub(r"[^\w. ()-]|^(?=\.)", "_", own)  # copies begin with a dot
    tables.suffix_of(safe)
    n_mb, most = len(content) / 1e6, limits.number("upload_bytes") / 1e6
    if n_mb > most:
        reason = f"The file has {n_mb:,.0f} MB, and the server takes {most:,g} MB."
        raise CorpusError(reason, "Upload a part of it.")
    delete_old(root)
    check_space(root, len(content))
    folder = f"{PREFIX}{secrets.token_urlsafe(16)}"
    with replacing(root / "uploads" / folder / safe) as file:
        file.write(content)
    return f"{safe} ({folder})"


def is_upload(name: str) -> bool:
    """True if a corpus of this name was brought."""
    return name.startswith(PREFIX) or NAME.fullmatch(name) is not None


def check_space(root: Path, n_bytes: int = 0) -> None:
    """Raise CorpusError where uploads and their copies take all the space that is for them.

    n_bytes: that come. A copy may be many times as large as its upload, and each way to read it
    makes another one.
    """
    stored = n_bytes
    for path in (root / "uploads").glob("*/*"):
        with contextlib.suppress(FileNotFoundError):  # another visit deletes it
            stored += path.stat().st_size
    if stored > limits.number("uploads_bytes"):
        raise CorpusError("The server has no space for uploads.", "Try again in some hours.")


def find(root: Path, name: str) -> Path:
    """The file of an upload; raises CorpusError where it is gone, or never was."""
    match = NAME.fullmatch(name)
    paths = sorted((root / "uploads" / match[1]).glob("[!.]*")) if match else []
    for path in paths:
        if path.is_file() and path.suffix != ".tmp":
            path.parent.touch()
            return path
    raise CorpusError("This uploaded file is no longer stored.", "Upload it again.")


def delete_old(root: Path) -> None:
    """Delete uploads whose last use is too long ago, with all copies: for use as a visit begins."""
    oldest = time.time() - 3600 * limits.number("upload_hours")
    for folder in (root / "uploads").glob(f"{PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # another visit deletes it
            if folder.stat().st_mtime < oldest:
                remove(folder)
                copies.forget()
