"""Buckets in tests: in memory or in a folder, seen from several machines, and misbehaving when asked to."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from clsviz.store import Store

Machine = Callable[[str], Store]
"""A store in the bucket of a test, as the machine of that name has it."""


class Faulty(MemoryFileSystem):
    """A bucket in memory whose methods raise what a test has put beside their names."""

    protocol = "faulty"
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    faults: dict[str, Exception] = {}  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012
    """Which methods were called."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("ls", "pipe_file", "get_file", "cat_file", "rm_file"):
            Faulty.asked.append(name)
            if name in Faulty.faults:
                raise Faulty.faults[name]
        return super().__getattribute__(name)


fsspec.register_implementation("faulty", Faulty, clobber=True)


def emptied() -> None:
    """Let there be nothing in memory, and no faults."""
    for kind in (MemoryFileSystem, Faulty):
        kind.store.clear()
        kind.pseudo_dirs[:] = [""]
    Faulty.faults.clear()
    Faulty.asked.clear()


def machine_of(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Machines whose caches are below a folder."""

    def machine(name: str) -> Store:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / name))
        return Store(url)

    return machine


def contents(url: str) -> dict[str, bytes]:
    """All files in a bucket, by their paths; without those that are deleted meanwhile."""
    files, root = fsspec.url_to_fs(url)
    files.invalidate_cache()
    found = {}
    for path in files.find(root):
        with contextlib.suppress(FileNotFoundError):
            found[path.removeprefix(root).strip("/")] = files.cat_file(path)
    return found


def bucket_urls(folder: Path) -> Iterator[str]:
    """A bucket where a file can be created in one step, and one that has nothing but renaming."""
    yield "memory://bucket/store"
    yield f"file://{folder / 'bucket'}"


def overwrite(url: str, path: str, content: bytes) -> None:
    """Put a file into a bucket, whatever is in its place."""
    files, root = fsspec.url_to_fs(url)
    files.makedirs(f"{root}/{path}".rpartition("/")[0], exist_ok=True)
    files.pipe_file(f"{root}/{path}", content)
