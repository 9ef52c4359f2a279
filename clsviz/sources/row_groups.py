"""Row groups of Parquet files on the Hub: an order that is fair to all, and the texts of some.

A row group is the part of a Parquet file of which one column can be read alone.
"""

import contextlib
import multiprocessing
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clsviz.errors import CorpusError
from clsviz.progress import Progress
from clsviz.sources import hub, tables

THREADS: Final = 8
POLL_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Limits:
    """The size of a round, and patience; sizes other than the default ones draw other sentences.

    round_rows, round_bytes: that fill a round. files_at_once: files, chosen at random, that are
    sampled together, since each takes a request. group_bytes: of the texts in the largest row group
    that is read, unpacked. patience: seconds without a byte.
    """

    round_rows: int = 20_000
    round_bytes: int = 32 * 2**20
    files_at_once: int = 64
    group_bytes: int = 512 * 2**20
    patience: float = hub.PATIENCE


class RowGroup(NamedTuple):
    """A row group: its file, its number there, its rows, and the bytes of its texts, unpacked."""

    path: str
    number: int
    n_rows: int
    n_bytes: int


class Part(NamedTuple):
    """One of `n_parts` parts of a file."""

    path: str
    number: int = 0
    n_parts: int = 1


def windows(sizes: dict[str, int], seed: int, files_at_once: int) -> Iterator[list[Part]]:
    """All files in random order, at most `files_at_once` parts of them at a time.

    sizes: bytes of each file. Where there are several windows, large files come in parts about as
    large as a typical file: else texts in small files would be likelier to be in the first one.
    """
    typical = statistics.median(sizes.values())
    unit = max(1, typical, sum(sizes.values()) / len(sizes) / files_at_once)
    parts: list[Part] = []
    for path, size in sizes.items():
        n_parts = max(1, round(size / unit)) if len(sizes) > files_at_once else 1
        parts += [Part(path, number, n_parts) for number in range(n_parts)]
    order = np.random.RandomState(seed).permutation(len(parts))
    for start in range(0, len(order), files_at_once):
        yield [parts[index] for index in order[start : start + files_at_once]]


def deal(
    window: Sequence[Part], footers: Mapping[str, pq.FileMetaData], column: str, seed: Sequence[int]
) -> tuple[list[RowGroup], set[str]]:
    """The row groups of parts in random order, and the files without such a column of text.

    footers: of the files that can be read. Every beginning has about the same share of each part:
    its n row groups get n places that are evenly spaced from 0 to 1 and shifted at random, so that
    all are equally likely to come early, and differences between files even out.
    """
    random = np.random.RandomState(seed)
    groups: list[RowGroup] = []
    places: list[float] = []
    unread: set[str] = set()
    for part in window:
        footer = footers.get(part.path)
        leaf = tables.text_leaves(footer, part.path).get(column) if footer else None
        if footer is None or leaf is None:
            unread.add(part.path)
            continue
        n = footer.num_row_groups
        order = np.random.RandomState([seed[0], n]).permutation(n)  # a file may be sorted
        numbers = order[part.number :: part.n_parts].tolist()
        for number in numbers:
            about = footer.row_group(number)
            n_bytes = about.column(leaf).total_uncompressed_size
            groups.append(RowGroup(part.path, number, about.num_rows, n_bytes))
        spaced = random.permutation(len(numbers)) + random.random_sample()
        places += (spaced / len(numbers)).tolist()
    return [groups[index] for index in np.argsort(places, kind="stable")], unread


def rounds(groups: Iterable[RowGroup], limits: Limits) -> Iterator[list[RowGroup]]:
    """Consecutive row groups, as many at a time as fill a round."""
    picked: list[RowGroup] = []
    for group in groups:
        picked.append(group)
        n_rows = sum(group.n_rows for group in picked)
        n_bytes = sum(group.n_bytes for group in picked)
        if n_rows >= limits.round_rows or n_bytes >= limits.round_bytes:
            yield picked
            picked = []
    if picked:
        yield picked


class Files:
    """Reads Parquet files of a repository: their ends, and a column of some of their row groups.

    Raises CorpusError, HubError, and what `progress` raises, at once.
    """

    def __init__(self, repository: hub.Repository, progress: Progress, limits: Limits) -> None:
        from huggingface_hub import HfFileSystem

        self._system = HfFileSystem()
        self._repository, self._progress, self._limits = repository, progress, limits
        self._footers: dict[str, pq.FileMetaData] = {}

    def footers(self, paths: Iterable[str]) -> dict[str, pq.FileMetaData]:
        """The metadata of files by path, without those that cannot be read."""
        missing = [path for path in paths if path not in self._footers]
        footers = self._each(self._footer, missing, "files")
        self._footers |= {p: f for p, f in zip(missing, footers, strict=True) if f is not None}
        return {path: self._footers[path] for path in paths if path in self._footers}

    def texts(self, groups: Sequence[RowGroup], column: str) -> list[pa.ChunkedArray | None]:
        """The texts of row groups; None for one that cannot be read."""
        return self._each(lambda group: self._texts(group, column), groups, "row groups")

    def _footer(self, path: str) -> pq.FileMetaData:
        with self._open(path) as file:
            footer = pq.read_metadata(file)
        tables.text_leaves(footer, path)  # raises where it is damaged
        return footer

    def _texts(self, group: RowGroup, column: str) -> pa.ChunkedArray:
        self._check_size(max(group.n_bytes, 16 * group.n_rows))  # repeated rows have no bytes
        options: dict[str, Any] = {"pre_buffer": True, "page_checksum_verification": True}
        footer = self._footers[group.path]
        with self._open(group.path) as file:
            table = pq.ParquetFile(file, metadata=footer, read_dictionary=[column], **options)
            values = table.read_row_group(group.number, columns=[column])[column]
        n_bytes = pc.sum(tables.byte_lengths(values.chunks)).as_py() or 0
        self._check_size(n_bytes + 8 * len(values))
        texts = values.cast(pa.large_string())
        texts.validate(full=True)
        return texts

    def _open(self, path: str) -> Any:
        address = f"datasets/{self._repository.name}@{self._repository.commit}/{path}"
        size = self._repository.sizes[path]
        return self._system.open(address, size=size, cache_type="none", block_size=2**16)

    def _check_size(self, n_bytes: int) -> None:
        if n_bytes > self._limits.group_bytes:
            raise CorpusError(
                f"{self._repository.name} has row groups of {n_bytes / 2**20:,.0f} MB of text.",
                "They would fill the memory: choose another dataset or column.",
            )

    def _each(self, read: Callable[[Any], Any], items: Sequence[Any], unit: str) -> list[Any]:
        """The value for each item, read by several threads; None where the file is damaged."""
        from huggingface_hub.errors import HfHubHTTPError

        def attempt(item: Any) -> Any:
            try:
                return read(item)
            except (HfHubHTTPError, TimeoutError):
                raise
            except (pa.ArrowException, UnicodeDecodeError, OSError):
                return None

        values: list[Any] = []
        name, commit = self._repository.name, self._repository.commit
        asking = hub.asking(name, "dataset", commit, self._limits.patience)
        with ThreadPool(THREADS) as pool, asking:
            results = pool.imap(attempt, items)
            while len(values) < len(items):
                self._progress(len(values), len(items), unit)  # which may cancel
                with contextlib.suppress(multiprocessing.TimeoutError):
                    values.append(results.next(POLL_SECONDS))
        return values
