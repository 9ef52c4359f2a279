"""The folder in a bucket that a store shares with other machines: the only place that knows fsspec.

Whatever goes wrong there, or on the way to it, is a StoreError of one sentence.
"""

import contextlib
import errno
import functools
import hashlib
import inspect
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import platformdirs

from clsviz.atomic import new_file, open_regular
from clsviz.errors import StoreError, first_line, name_too_long
from clsviz.settings import shown

_SAME_SECONDS = 2.0
"""How long what a folder holds is taken to be the same, for pages that ask again and again."""

_PACKAGES = {"s3": "clsviz[s3]"}
"""What to install for a scheme, where fsspec's own sentence is not the one to give."""


_TOO_LONG = ("KeyTooLong", "File name too long")
"""What file systems say of a name, where they have no number for it."""


class Remote:
    """A folder that fsspec reaches. Paths are relative to it, with slashes; all methods raise StoreError."""

    def __init__(self, url: str) -> None:
        """url: such as s3://bucket/folder; it is not looked at before it is needed."""
        scheme, _, rest = url.partition("://")
        self.url = f"{scheme}://{rest.rstrip('/')}"
        self.name = re.sub(r"//[^/@]*@", "//", self.url)
        """Without a password: what people are told."""
        self._listed: dict[str, tuple[float, frozenset[str]]] = {}
        self._damaged: set[str] = set()

    def names(self, folder: str, *, fresh: bool = False) -> frozenset[str]:
        """The names in a folder; none if there is no such folder. fresh: as it is now, not as it was a moment ago."""
        until, names = self._listed.get(folder, (0.0, frozenset()))
        if fresh or time.monotonic() >= until:
            names = self._list(folder)
            now = time.monotonic()
            kept = {name: kept for name, kept in [*self._listed.items()] if kept[0] > now}
            self._listed = {**kept, folder: (now + _SAME_SECONDS, names)}
        return names

    def _list(self, folder: str) -> frozenset[str]:
        with self._reporting("read"):
            path = self._path(folder)
            self._files.invalidate_cache(path)
            try:
                found = {str(one).rstrip("/").rpartition("/")[2] for one in self._files.ls(path, detail=False)}
            except FileNotFoundError:
                found = set()
        return frozenset(name for name in found if f"{folder}/{name}" not in self._damaged)

    def create(self, path: str, content: bytes) -> bool:
        """Write a file, whole or not at all, unless it is there already; whether it was not.

        Of several that do so at once only one is told that it was not, if the file system can tell them apart.
        """
        with self._reporting("write to"):
            try:
                if self._is_exclusive:
                    self._files.pipe_file(self._path(path), content, mode="create")
                elif self._files.exists(self._path(path)):
                    return False
                else:
                    self._put(path, content)
            except FileExistsError:
                return False
        self._forget(path)
        return True

    def replace(self, path: str, content: bytes) -> None:
        """Write a file, whole or not at all, whatever there was before."""
        with self._reporting("write to"):
            self._put(path, content)
        self._forget(path)

    def _put(self, path: str, content: bytes) -> None:
        if self._is_exclusive:  # an object store, where what is not written to its end is not there
            self._files.pipe_file(self._path(path), content)
            return
        folder, _, name = self._path(path).rpartition("/")
        temporary = f"{folder}/.new-{secrets.token_hex(8)}"
        self._files.makedirs(folder, exist_ok=True)
        try:
            self._files.pipe_file(temporary, content)
            self._files.mv(temporary, f"{folder}/{name}")
        except BaseException:  # what was half written is removed, also at an interrupt
            with contextlib.suppress(Exception):  # whatever a file system raises
                self._files.rm_file(temporary)
            raise

    def read(self, path: str) -> bytes | None:
        """What a small file holds; None if there is none."""
        with self._reporting("read"):
            try:
                content: bytes = self._files.cat_file(self._path(path))
            except FileNotFoundError:
                return None
        return content

    def fetch(self, path: str, to: Path) -> bool:
        """Copy a file to this machine; whether there is one."""
        with self._reporting("read"):
            try:
                self._files.get_file(self._path(path), str(to))
            except FileNotFoundError:
                return False
        return True

    def drop(self, path: str) -> None:
        """Delete a file that is damaged; one that cannot be deleted is not seen again from here."""
        if not self.delete(path):
            self._damaged.add(path)

    def delete(self, path: str) -> bool:
        """Delete a file; whether it is gone. Raises nothing."""
        if sys.is_finalizing():  # fsspec would wait forever for a thread that has ended
            return False
        self._forget(path)
        try:
            self._files.rm_file(self._path(path))
        except FileNotFoundError:
            pass
        except Exception:  # whatever a file system raises
            return False
        return True

    def _forget(self, path: str) -> None:
        self._listed.pop(path.rpartition("/")[0], None)

    def _path(self, path: str) -> str:
        return f"{self._opened[1]}/{path}"

    @property
    def _files(self) -> Any:
        return self._opened[0]

    @functools.cached_property
    def _opened(self) -> tuple[Any, str]:
        """The file system, and the folder in it."""
        if not self.url.partition("://")[2]:
            raise StoreError(f"The store {self.name} names no bucket. Give one, as in s3://bucket/folder.")
        try:
            files, folder = fsspec.url_to_fs(self.url)
        except ValueError as error:
            reason = first_line(error).rstrip(".")
            raise StoreError(
                f"{self.name} cannot be a store ({reason}). Give a folder, or a URL such as s3://bucket/folder."
            ) from error
        return files, folder.rstrip("/")

    @functools.cached_property
    def _is_exclusive(self) -> bool:
        """Whether a file can be created in one step, or not at all if it is there: so it is with object stores."""
        kind = type(self._files)
        write = getattr(kind, "_pipe_file", kind.pipe_file)
        return write is not fsspec.AbstractFileSystem.pipe_file and "mode" in inspect.signature(write).parameters

    @contextlib.contextmanager
    def _reporting(self, doing: str) -> Iterator[None]:
        """Raise whatever goes wrong as a StoreError; each file system has errors of its own."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:  # each file system has its own
            if getattr(error, "errno", None) == errno.ENAMETOOLONG or any(said in str(error) for said in _TOO_LONG):
                raise name_too_long("store", self.name) from error
            raise StoreError(self._explained(error, doing)) from error

    def _explained(self, error: Exception, doing: str) -> str:
        reason = first_line(error).rstrip(".")
        if isinstance(error, ImportError):
            package = _PACKAGES.get(self.url.partition("://")[0])
            return f"The store {self.name} needs another package: " + (
                f"pip install {package}" if package else f"{reason}."
            )
        if "Invalid bucket name" in str(error):  # of several lines, of which the first says nothing
            return f"The store {shown(self.name)} cannot be used: no bucket can have this name. Correct it."
        if isinstance(error, PermissionError):
            return f"You may not {doing} the store {self.name} ({reason}). Give credentials that may do so."
        if isinstance(error, FileNotFoundError):
            return f"The store {self.name} is not there ({reason}). Create its bucket, or correct its name."
        return (
            f"The store {self.name} cannot be reached ({reason}). Check its name, the network and the credentials. "
            "What was measured is kept on this machine, and the next run puts it there."
        )


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
            with open_regular(self.root / path) as file:
                return file.read()
        except OSError as error:
            raise StoreError(f"{self.root / path} cannot be read ({error.strerror}). Try again.") from error

    def drop(self, path: str) -> None:
        """Delete a file there that is damaged; one that cannot be deleted is not seen again from here."""
        self._remote.drop(path)


class _NothingError(Exception):
    """There is no such file, or it is damaged."""
