"""Files that visitors bring, each under a name that nobody else can guess."""

import re
import secrets
import time
from pathlib import Path
from typing import Final

from clsviz.errors import CorpusError
from clsviz.files import replacing

PREFIX: Final = "upload-"

LIFETIME_SECONDS: Final = 24 * 3600
"""Uploads that were last used longer ago are deleted."""


def store(root: Path, file_name: str, content: bytes) -> str:
    """Store a file that was brought; returns the name of its corpus. Raises StoreError.

    file_name: the visitor's name of it, whose ending tells the format.
    """
    _delete_old(root)
    name = f"{PREFIX}{secrets.token_urlsafe(16)}"
    safe = re.sub(r"[^\w. -]", "_", Path(file_name).name)[-100:]
    with replacing(root / "uploads" / name / safe) as file:
        file.write(content)
    return name


def find(root: Path, name: str) -> Path:
    """The file of an upload; raises CorpusError where it is gone, or never was."""
    is_name = re.fullmatch(rf"{PREFIX}[\w-]{{10,40}}", name)
    paths = sorted((root / "uploads" / name).glob("[!.]*")) if is_name else []
    for path in paths:
        if path.is_file() and path.suffix != ".tmp":
            path.parent.touch()
            return path
    raise CorpusError("This uploaded file is no longer stored.", "Upload it again.")


def _delete_old(root: Path) -> None:
    oldest = time.time() - LIFETIME_SECONDS
    for folder in (root / "uploads").glob(f"{PREFIX}*"):
        if folder.stat().st_mtime < oldest:
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            folder.rmdir()
