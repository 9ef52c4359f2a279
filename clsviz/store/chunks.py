"""Measured sentences on disk: chunks, each written whole or not at all.

A folder for each measurement; in it a file for each chunk, named by its first sentence and its end.
"""

import contextlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clsviz import files
from clsviz.errors import StoreError, quote
from clsviz.measurements import SCHEMA, Arrays
from clsviz.store import sealed
from clsviz.store.evict import evict

BETWEEN_LOOKS = 0.01
"""The store is compared with its limit after so large a part of it was written."""

MERGED = 64
"""Slices of a measurement that become one chunk."""


class Span(NamedTuple):
    """A chunk on disk: sentences start to stop."""

    start: int
    stop: int
    path: Path


class Chunks:
    """The chunks of all measurements.

    shipped: a second folder of the same form, which is never written. limit_bytes: of the store;
    when it has more, what was used longest ago is removed.
    """

    def __init__(
        self, root: Path, shipped: Path | None = None, limit_bytes: float = math.inf
    ) -> None:
        self.root = root
        self.shipped = shipped
        self.limit_bytes = limit_bytes
        self._n_new_bytes = math.inf  # since the store was last within its limit

    def append(self, key: str, start: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store the chunk that begins with sentence number `start`; raises StoreError."""
        stop = start + n_sentences(arrays)
        path = self.root / key / f"{start:09}-{stop:09}.safetensors"
        sealed.write(path, arrays, _about(key, start, stop))
        self._n_new_bytes += sum(array.nbytes for array in arrays.values())
        if self._n_new_bytes > self.limit_bytes * BETWEEN_LOOKS:
            evict(self.root, self.limit_bytes)
            self._n_new_bytes = 0

    def read(self, key: str, n: int) -> list[Arrays]:
        """The arrays of the first n sentences, as far as chunks reach without a gap.

        Chunks may overlap, as two programs may have measured the same. A damaged one is deleted.
        Raises StoreError where the folder may not be entered.
        """
        with contextlib.suppress(OSError):  # it is not stored, or belongs to somebody else
            os.utime(self.root / key)  # so that those that nobody reads are known
        chunks: list[Arrays] = []
        end = 0
        for span in self._spans(key):
            if end >= n or span.start > end:
                break
            arrays = self._load(key, span) if span.stop > end else None
            if arrays is not None:
                rows = slice(end - span.start, n - span.start)
                chunks.append({name: array[rows] for name, array in arrays.items()})
                end = min(span.stop, n)
        return chunks

    def missing(self, key: str, n: int) -> list[tuple[int, int]]:
        """Start and stop of each range of the first n sentences that no sound chunk holds."""
        ranges = []
        end = 0
        for span in self._spans(key):
            if span.start < n and span.stop > end and self._load(key, span) is not None:
                ranges.append((end, span.start))
                end = span.stop
        return [(start, stop) for start, stop in [*ranges, (end, n)] if start < stop]

    def merge(self, key: str, begin: int, chunks: Sequence[Mapping[str, NDArray[Any]]]) -> Arrays:
        """Store consecutive chunks, the first of which begins with `begin`, as one; returns it."""
        merged = join(chunks)
        end = begin + n_sentences(merged)
        self.append(key, begin, merged)
        for start, stop, path in self._spans(key):
            is_part = begin <= start and stop <= end and stop - start < end - begin
            if is_part and path.is_relative_to(self.root):
                files.remove(path)
        return merged

    def _spans(self, key: str) -> list[Span]:
        """All chunks of a measurement; of those with the same start the longest comes first.

        Raises StoreError where the folder may not be entered.
        """
        roots = [root for root in (self.shipped, self.root) if root is not None]
        try:
            paths = [path for root in roots for path in (root / key).glob("*-*.safetensors")]
        except OSError as error:
            reason = f"The store {quote(self.root)} cannot be read ({error.strerror or error})."
            raise StoreError(reason, "Choose another folder, or let this one be read.") from error
        spans = [span for path in paths if (span := _span(path)) is not None]
        return sorted(spans, key=lambda span: (span.start, -span.stop))

    def _load(self, key: str, span: Span) -> Arrays | None:
        """The arrays of a chunk, or None where it is damaged: then it is deleted."""
        content = sealed.read(span.path)
        if content is not None and content[1] == _about(key, span.start, span.stop):
            return content[0]
        if span.path.is_relative_to(self.root):
            files.remove(span.path)
        return None


def n_sentences(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Number of sentences whose measurements these are."""
    return len(arrays["n_tokens"])


def join(chunks: Iterable[Mapping[str, NDArray[Any]]]) -> Arrays:
    """Consecutive chunks as one."""
    chunks = list(chunks)
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def _about(key: str, start: int, stop: int) -> dict[str, str]:
    """The description of a chunk in its own file, by which a misplaced one is known."""
    return {"schema": SCHEMA, "key": key, "sentences": f"{start}-{stop}"}


def _span(path: Path) -> Span | None:
    """The sentences in a file's name; None where it is not the name of a chunk."""
    start, _, stop = path.stem.partition("-")
    if start.isdecimal() and stop.isdecimal() and int(start) < int(stop):
        return Span(int(start), int(stop), path)
    return None
