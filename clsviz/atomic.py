"""Files that are either whole or absent: written beside their place, synced and renamed; and how they are read."""

import contextlib
import errno
import functools
import hashlib
import io
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from clsviz.errors import StoreError, name_too_long

_TEMPORARY = ".new-"


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; what the block writes there replaces `path` when the block succeeds.

    Raises StoreError if the place cannot be written. Then, or if the block raises, nothing is left behind.
    """
    temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise name_too_long("file", path) from error
        raise StoreError(f"{path} cannot be written ({error.strerror or error}). Choose another place.") from error
    finally:
        with contextlib.suppress(OSError):  # where nothing could be written, there is nothing to remove
            temporary.unlink(missing_ok=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; raises StoreError."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)


def remove_temporary(folder: Path, older_than_seconds: float) -> int:
    """Remove the temporary files in `folder`, not below it, that killed processes left; returns how many.

    older_than_seconds: the time after which no process can still be writing one.
    """
    n_removed = 0
    for path in folder.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime >= older_than_seconds:
                path.unlink()
                n_removed += 1
    return n_removed


def mark_used(path: Path) -> None:
    """Let the time of a file be that of its last use, so that what is longest unused can be told; if it can be."""
    with contextlib.suppress(OSError):
        os.utime(path)


class NotRegularError(OSError):
    """What lies in the place of a file is a pipe, a device, a folder or a socket."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read it; raises OSError, of which NotRegularError where reading might never end."""
    _check_regular(os.stat(path), path)  # before it is opened, as opening a device may do something
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(os.fstat(handle), path)
        return os.fdopen(handle, "rb")
    except BaseException:  # an interrupt too must not leave it open; nothing is held back
        os.close(handle)
        raise


def read_file(path: Path) -> bytes:
    """All that a file holds; raises OSError as `open_regular` does."""
    with open_regular(path) as file:
        return file.read()


def _check_regular(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "Not a regular file", str(path))


def sha256(path: Path) -> str:
    """SHA-256 of a file in hexadecimal, computed once while its size and time stay the same; raises OSError."""
    status = os.stat(path)
    return _sha256_of(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _sha256_of(path: Path, size: int, modified_ns: int) -> str:
    """Digest of the file while it has that size and time: hashing a model takes a second per gigabyte."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` outlast a power cut, where the system can (Windows cannot open folders)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
