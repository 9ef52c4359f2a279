"""Measured sentences on disk: slices, each written whole or not at all.

A folder for each measurement; in it a file for each slice, named by its first sentence and its end.
"""

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz import files
from clsviz.errors import StoreError, quote
from clsviz.measurements import SCHEMA, Arrays

BETWEEN_LOOKS: Final = 0.01  # part of the store's limit, after which its size is looked at
IN_USE_SECONDS: Final = 3600.0  # since its last use, for which a job may be about to continue it
MERGED: Final = 64  # slices of a measurement that are merged into one file


class Measurements:
    """The slices of all measurements.

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
        """Store the slice that begins with sentence number `start`; raises StoreError."""
        stop = start + n_sentences(arrays)
        folder = self.root / key
        if not os.path.isdir(folder):
            files.remove(folder)  # a file of this name is no measurement
        path = folder / f"{start:09}-{stop:09}.safetensors"
        files.write_arrays(path, arrays, _about(key, start, stop))
        self._n_new_bytes += sum(array.nbytes for array in arrays.values())
        if self._n_new_bytes > self.limit_bytes * BETWEEN_LOOKS:
            evict(self.root, self.limit_bytes)
            self._n_new_bytes = 0

    def read(self, key: str, n: int) -> list[Arrays]:
        """The arrays of the first n sentences, as far as slices reach without a gap.

        Raises StoreError where the folder may not be entered.
        """
        with contextlib.suppress(OSError):  # it is not stored, or belongs to somebody else
            os.utime(self.root / key)  # so that those that nobody reads are known
        slices: list[Arrays] = []
        end = 0
        for start, stop, arrays in self._sound(key, n):
            if start > end:
                break
            slices.append({name: array[end - start : n - start] for name, array in arrays.items()})
            end = stop
        return slices

    def read_from(self, key: str, begin: int, n: int) -> Arrays | None:
        """The arrays of sentence number `begin` and those after it, as one slice holds them.

        None where no slice holds it: of the first n sentences, another job may have measured more.
        """
        for start, stop, path in self._spans(key):
            if start <= begin < stop:
                arrays = self._read_sound(key, start, stop, path)
                if arrays:
                    return {
                        name: array[begin - start : n - start] for name, array in arrays.items()
                    }
        return None

    def missing(self, key: str, n: int) -> list[tuple[int, int]]:
        """Start and stop of each range of the first n sentences that no sound slice holds."""
        ranges, end = [], 0
        for start, stop, _ in self._sound(key, n):
            ranges.append((end, start))
            end = stop
        return [(start, stop) for start, stop in [*ranges, (end, n)] if start < stop]

    def merge(self, key: str, begin: int, slices: Sequence[Mapping[str, NDArray[Any]]]) -> Arrays:
        """Store consecutive slices, the first of which begins with `begin`, as one; returns it."""
        merged = {name: np.concatenate([part[name] for part in slices]) for name in slices[0]}
        end = begin + n_sentences(merged)
        self.append(key, begin, merged)
        for start, stop, path in self._spans(key):
            if begin <= start and stop <= end and stop - start < end - begin:
                self._remove(path)
        return merged

    def _sound(self, key: str, n: int) -> Iterator[tuple[int, int, Arrays]]:
        """The slices of the first n sentences that each reach beyond those before, in order.

        They may overlap, as two programs may have measured the same. A damaged one is deleted.
        """
        end = 0
        for start, stop, path in self._spans(key):
            if start < n and stop > end:
                arrays = self._read_sound(key, start, stop, path)
                if arrays:
                    yield start, stop, arrays
                    end = stop

    def _read_sound(self, key: str, start: int, stop: int, path: Path) -> Arrays | None:
        """The arrays of a slice; a damaged one is deleted."""
        content = files.read_arrays(path)
        if content and content[1] == _about(key, start, stop):
            return content[0]
        self._remove(path)
        return None

    def _spans(self, key: str) -> list[tuple[int, int, Path]]:
        """Start, stop and path of all slices; of those with the same start the longest first."""
        paths: list[Path] = []
        try:
            for root in filter(None, (self.shipped, self.root)):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    paths += (root / key).iterdir()  # whose errors glob ignores since Python 3.13
        except OSError as error:
            reason = f"The store {quote(self.root)} cannot be read ({error.strerror or error})."
            raise StoreError(reason, "Choose another folder, or let this one be read.") from error
        spans = []
        for path in paths:
            start, _, stop = path.stem.partition("-")
            is_slice = path.suffix == ".safetensors" and start.isdecimal() and stop.isdecimal()
            if is_slice and int(start) < int(stop):
                spans.append((int(start), int(stop), path))
        return sorted(spans, key=lambda span: (span[0], -span[1]))

    def _remove(self, path: Path) -> None:
        """Remove a slice, unless it is shipped."""
        if path.is_relative_to(self.root):
            files.remove(path)


def n_sentences(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Number of sentences whose measurements these are."""
    return len(arrays["n_tokens"])


def _about(key: str, start: int, stop: int) -> dict[str, str]:
    """The description of a slice in its own file, by which a misplaced one is known."""
    return {"schema": SCHEMA, "key": key, "sentences": f"{start}-{stop}"}


def evict(root: Path, limit_bytes: float) -> None:
    """Remove what was used longest ago, until the rest of the store has at most so many bytes.

    That is measurements, each as a whole, copies of corpora, and results. Uploads have a lifetime
    of their own.
    """
    parts = [*root.glob("*-*/"), *root.glob("corpora/*"), *root.glob("results/*.safetensors")]
    uses: list[tuple[float, int, Path]] = []
    for part in parts:
        with contextlib.suppress(OSError):  # another program has removed it
            content = part.iterdir() if part.is_dir() else [part]
            n_bytes = sum(path.stat().st_size for path in content)
            uses.append((part.stat().st_mtime, n_bytes, part))
    n_bytes = sum(size for _, size, _ in uses)
    for moment, size, part in sorted(uses):
        if n_bytes <= limit_bytes or moment > time.time() - IN_USE_SECONDS:
            return
        files.remove(part)
        n_bytes -= size
