"""Copies of sentences in the store, which are mapped into memory."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from clsviz.files import replacing

T = TypeVar("T")


class Fingerprint:
    """SHA-256 of sentences in their order, in whatever pieces they come."""

    def __init__(self) -> None:
        self._lengths, self._texts = hashlib.sha256(), hashlib.sha256()

    def add(self, table: pa.Table) -> pa.Table:
        """Add the column `sentence`, large_string without nulls; returns the table."""
        for chunk in filter(len, table["sentence"].chunks):
            offsets = np.frombuffer(chunk.buffers()[1], "<i8")[chunk.offset :][: len(chunk) + 1]
            self._lengths.update(np.diff(offsets).tobytes())
            if offsets[-1] > offsets[0]:
                self._texts.update(memoryview(chunk.buffers()[2])[offsets[0] : offsets[-1]])
        return table

    def __str__(self) -> str:
        return hashlib.sha256(self._lengths.digest() + self._texts.digest()).hexdigest()


def digest(*parts: Any) -> str:
    """SHA-256 of names and numbers."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def fingerprint(table: pa.Table) -> str:
    """The fingerprint of the column `sentence`."""
    sha = Fingerprint()
    sha.add(table)
    return str(sha)


def write(
    path: Path, schema: pa.Schema, tables: Iterable[pa.Table], describe: Callable[[], Any]
) -> None:
    """Write tables of sentences, and at their end what is known of them then.

    Raises StoreError where the disk is full or may not be written.
    """
    sha = Fingerprint()
    with replacing(path) as file, pa.ipc.new_file(file, schema) as writer:
        for table in map(sha.add, tables):
            writer.write_table(table)
        about = {"fingerprint": str(sha), "about": describe()}
        end = pa.RecordBatch.from_pylist([], schema)
        writer.write_batch(end, custom_metadata={"clsviz": json.dumps(about)})


def read(path: Path, form: Callable[..., T]) -> tuple[pa.Table, str, T] | None:
    """The table in a copy, its fingerprint, and what is known of it; None without an intact one.

    form: takes what was described, as keywords; a copy that has others is none of ours.
    """
    try:
        if not path.is_file():
            return None
        os.utime(path)  # so that those that nobody opens are known
        table, sha, about = _read(path, path.stat().st_ino)
        return table, sha, form(**about)
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError, RecursionError):
        return None


def forget() -> None:
    """Close all copies, so that the disk loses those that were deleted."""
    _read.cache_clear()


@lru_cache(maxsize=100)
def _read(path: Path, inode: int) -> tuple[pa.Table, str, Any]:
    """inode: so that a copy that was replaced is opened again; its number is free no sooner."""
    # Only our own file is mapped: one that others truncate would kill the process.
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    end = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
    content = json.loads(end.custom_metadata[b"clsviz"])
    table = reader.read_all()
    table.validate(full=True)
    if content["fingerprint"] != fingerprint(table):
        raise ValueError("The copy is damaged.")
    about = {k: tuple(v) if isinstance(v, list) else v for k, v in content["about"].items()}
    return table, content["fingerprint"], about
