"""SHA-256 of files of one's own; that of a large one is remembered for as long as the file stays as it is."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from clsviz.atomic import mark_used, new_file, sha256
from clsviz.errors import CorpusError, StoreError
from clsviz.settings import printable

_LARGE = 64 * 2**20
"""Bytes from which a digest is remembered: below, it is computed in a moment."""

_SETTLED_NS = 2 * 10**9
"""What was changed more recently may be changed again, and yet have the same times."""


def digest_of(path: Path, folder: Path) -> str:
    """SHA-256 of a file, remembered in `folder` if it is large; raises CorpusError if the file cannot be read."""
    try:
        state = _state(path)
        remembered = folder / f"digest-{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.json"
        if state["size"] < _LARGE:
            return sha256(path)
        if digest := _remembered(remembered, state):
            return digest
        digest = sha256(path)
        if _state(path) == state and time.time_ns() - max(state["modified"], state["changed"]) > _SETTLED_NS:
            content = json.dumps({"of": state, "digest": digest})
            with contextlib.suppress(StoreError), new_file(remembered) as temporary:  # it is computed again then
                temporary.write_text(f"{hashlib.sha256(content.encode()).hexdigest()}\n{content}")
    except OSError as error:
        raise CorpusError(f"{printable(path.name)} cannot be read: {error.strerror}. Make it readable.") from None
    return digest


def _state(path: Path) -> dict[str, int]:
    """What is another if the file is: nobody sets the time of its last change by hand."""
    status = os.stat(path)
    return {
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
        "inode": status.st_ino,
    }


def _remembered(path: Path, state: dict[str, int]) -> str | None:
    """The digest that is remembered of a file in that state."""
    try:
        own, _, content = path.read_text().partition("\n")
        known = json.loads(content)
        if own != hashlib.sha256(content.encode()).hexdigest() or known["of"] != state:
            return None
        mark_used(path)
        return str(known["digest"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
