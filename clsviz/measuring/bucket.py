"""A bucket that machines share, and the folder on this one that is a copy of what it needed of it.

What is put there is what lies here. Nothing there is ever changed but for censuses, so what was fetched once
need not be looked at again.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import platformdirs

from clsviz.atomic import new_file
from clsviz.errors import StoreError
from clsviz.measuring.remote import Remote


class Bucket:
    """The files of a store that other machines see. Paths are relative to it, with slashes."""

    def __init__(self, url: str) -> None:
        self._remote = Remote(url)
        self.url = self._remote.url
        digest = hashlib.sha256(self._remote.url.encode()).hexdigest()[:24]
        self.root = platformdirs.user_cache_path("clsviz") / "buckets" / digest
        """The copy on this machine."""

    def names(self, folder: str, *, fresh: bool = False) -> frozenset[str]:
        """The names in a folder; raises StoreError. fresh: as it is now, not as it was a moment ago."""
        return self._remote.names(folder, fresh=fresh)

    def fetch(self, path: str, is_whole: Callable[[Path], bool] = lambda _: True) -> bool:
        """Copy a file to this machine; whether there is one that is whole. Raises StoreError."""
        try:
            with new_file(self.root / path) as temporary:
                if not self._remote.fetch(path, temporary) or not is_whole(temporary):
                    raise _NothingError
        except _NothingError:
            return False
        return True

    def put(self, path: str) -> None:
        """Copy a file of this machine there, unless there is one of the same name; raises StoreError."""
        self._remote.create(path, self._content(path))

    def replace(self, path: str) -> None:
        """Copy a file of this machine there, whatever there was before; raises StoreError."""
        self._remote.replace(path, self._content(path))

    def _content(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError as error:
            raise StoreError(f"{self.root / path} cannot be read ({error.strerror}). Try again.") from error

    def drop(self, path: str) -> None:
        """Delete a file there that is damaged; one that cannot be deleted is not seen again from here."""
        self._remote.drop(path)


class _NothingError(Exception):
    """There is no such file, or it is damaged."""
