"""The bucket that a store shares with other machines, and its copy on this one: the only place that knows fsspec.

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

from clsviz.atomic import new_file, read_file
from clsviz.errors import StoreError, first_line, name_too_long
from clsviz.settings import shown

_SAME_SECONDS = 2.0
"""How long what a folder holds is taken to be the same, for pages that ask again and again."""

_PACKAGES = {"s3": "clsviz[s3]"}
"""What to install for a scheme, where fsspec's own sentence is not the one to give."""


_TOO_LONG = ("KeyTooLong", "File name too long")
"""What file systems say of a name, where they have no number for it."""


class _NothingError(Exception):
    """There is no such file, or it is damaged."""


class Bucket:
    """A folder that fsspec reaches. Paths are relative to it, with slashes; all methods raise StoreError."""

    def __init__(self, url: str) -> None:
        """url: such as s3://bucket/folder; it is not looked at before it is needed."""
        scheme, _, rest = url.partition("://")
        self.url = f"{scheme}://{rest.rstrip('/')}"
        self.name = re.sub(r"//[^/@]*@", "//", self.url)
        """Without a password: what people are told."""
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:24]
        self.root = platformdirs.user_cache_path("clsviz") / "buckets" / digest
        """The copy on this machine."""
        self._listed: dict[str, tuple[float, frozenset[str]]] = {}
        self._damaged: set[str] = set()

    def names(self, folder: str, *, fresh: bool = False) -> frozenset[str]:
        """The names in a folder; none if there is no such folder. fresh: as it is now, not as it was a moment ago."""
        until, names = self._listed.get(folder, (0.0, frozenset()))
        if fresh or time.monotonic() >= until:
            with self._reporting("read"):
                self._files.invalidate_cache(self._path(folder))
                try:
                    found = {
                        str(one).rstrip("/").rpartition("/")[2]
                        for one in self._files.ls(self._path(folder), detail=False)
                    }
                except FileNotFoundError:
                    found = set()
            names = frozenset(name for name in found if f"{folder}/{name}" not in self._damaged)
            now = time.monotonic()
            kept = {name: kept for name, kept in [*self._listed.items()] if kept[0] > now}
            self._listed = {**kept, folder: (now + _SAME_SECONDS, names)}
        return names

    def put(self, path: str, *, replace: bool = False) -> None:
        """Copy a file of this machine there, whole or not at all; one that is there stays, unless `replace`."""
        try:
            content = read_file(self.root / path)
        except OSError as error:
            raise StoreError(f"{self.root / path} cannot be read ({error.strerror}). Try again.") from error
        with self._reporting("write to"), contextlib.suppress(FileExistsError):
            if self._is_exclusive and not replace:
                self._files.pipe_file(self._path(path), content, mode="create")
            elif replace or not self._files.exists(self._path(path)):
                self._write(path, content)
        self._listed.pop(path.rpartition("/")[0], None)

    def _write(self, path: str, content: bytes) -> None:
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

    def fetch(self, path: str, is_whole: Callable[[Path], bool] = lambda _: True) -> bool:
        """Copy a file to this machine; whether there is one that is whole."""
        try:
            with new_file(self.root / path) as temporary:
                with self._reporting("read"):
                    try:
                        self._files.get_file(self._path(path), str(temporary))
                    except FileNotFoundError:
                        raise _NothingError from None
                if not is_whole(temporary):
                    raise _NothingError
        except _NothingError:
            return False
        return True

    def drop(self, path: str) -> None:
        """Delete a file that is damaged; one that cannot be deleted is not seen again from here. Raises nothing."""
        self._listed.pop(path.rpartition("/")[0], None)
        if sys.is_finalizing():  # fsspec would wait forever for a thread that has ended
            return
        try:
            self._files.rm_file(self._path(path))
        except FileNotFoundError:
            pass
        except Exception:  # whatever a file system raises
            self._damaged.add(path)

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
        except (StoreError, _NothingError):
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
