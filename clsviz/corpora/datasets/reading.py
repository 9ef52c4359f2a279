"""Reading a split on the Hub: the footers of its files, and the texts of their row groups."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz import hub
from clsviz.corpora import formats
from clsviz.corpora.datasets.footers import checked_group_size, group_sizes, reporting_damage
from clsviz.corpora.datasets.listing import Listing
from clsviz.corpora.datasets.remote_file import RemoteFile
from clsviz.corpora.datasets.rounds import Limits, RowGroup
from clsviz.hub import File
from clsviz.progress import Progress, interruptible

T = TypeVar("T")

_BATCH_TEXTS, _BATCH_VALUES = 100, 1_000
"""Unpacked at once: a text may be stored once and repeated many times; values of another column are short."""


_HEAD_TEXTS, _HEAD_BYTES = 200, 2**17
"""How many texts of a column are read to see how long they are, and how many bytes are fetched at a time for that."""


_WHOLE_TEXTS, _WHOLE_BYTES = 1000, 2**20
"""How many texts of a file on this machine are passed on at once, and how many bytes are read of it at a time."""


_THREADS = 8


class Reader:
    """Reads the files of a split on the Hub; raises CorpusError where they cannot be read.

    It raises CancelledError as soon as the progress it is given is told to stop.
    """

    def __init__(
        self,
        listing: Listing,
        files: Sequence[File],
        limits: Limits,
        open_file: Callable[[Listing, File], RemoteFile],
    ) -> None:
        self._listing = listing
        self._files = files
        self._limits = limits
        self._open_file = open_file

    def footers(
        self, files: Sequence[int], progress: Progress, keep: Callable[[int, pq.FileMetaData, int], None]
    ) -> None:
        """Read the footers of files, and `keep` each as it comes, with its file's number and the bytes it took."""

        def read(index: int) -> None:
            progress.check()
            with self._opened(index) as stream:
                footer = pq.ParquetFile(stream).metadata
            keep(index, footer, stream.n_bytes)

        def read_all() -> None:
            with ThreadPoolExecutor(_THREADS) as pool:
                for done, _ in enumerate(pool.map(read, files), 1):
                    progress.advance(done)

        progress.begin(f"Looking into {self._listing.repo}", len(files))
        interruptible(read_all, progress)

    def mean_characters(self, file: int, footer: pq.FileMetaData, column: str, progress: Progress) -> tuple[float, int]:
        """Mean length of the first texts of a column, and how many bytes it took to read them."""

        def read() -> tuple[float, int]:
            filled = [group for group in range(footer.num_row_groups) if footer.row_group(group).num_rows]
            with (
                self._opened(file) as stream,
                pq.ParquetFile(stream, metadata=footer, buffer_size=_HEAD_BYTES, pre_buffer=False) as table,
            ):
                batches = table.iter_batches(_HEAD_TEXTS, row_groups=filled[:1], columns=[column])
                lengths = [
                    len(text)
                    for batch in itertools.islice(batches, 1)
                    for text in formats.values_of(batch, column).to_pylist()
                    if text
                ]
                return sum(lengths) / max(1, len(lengths)), stream.n_bytes

        progress.begin(f"Looking into {self._listing.repo}")
        return interruptible(read, progress)

    def texts(
        self, groups: Sequence[RowGroup], footers: Mapping[int, pq.FileMetaData], column: str, progress: Progress
    ) -> tuple[list[list[tuple[int, str]]], int]:
        """The texts of each row group with their rows in it, in order, and how many bytes it took to read them."""

        def read(group: RowGroup, stream: RemoteFile) -> list[tuple[int, str]]:
            return self._texts(stream, footers[group.file], group.number, column)

        return self._of_groups(groups, read, progress)

    def values(
        self,
        rows: Mapping[RowGroup, NDArray[np.int64]],
        footers: Mapping[int, pq.FileMetaData],
        field: str,
        progress: Progress,
    ) -> tuple[list[list[str | None]], int]:
        """What another column has in some rows of row groups, and how many bytes it took to read it.

        rows: of each row group, ascending. Numbers that stand for classes are given by the names of these.
        """

        def read(group: RowGroup, stream: RemoteFile) -> list[str | None]:
            return self._values(stream, footers[group.file], group.number, field, rows[group])

        return self._of_groups([*rows], read, progress)

    def _of_groups(
        self, groups: Sequence[RowGroup], read: Callable[[RowGroup, RemoteFile], T], progress: Progress
    ) -> tuple[list[T], int]:
        """What is read of each row group, and how many bytes it took."""

        def read_one(group: RowGroup) -> tuple[T, int]:
            progress.check()  # those still waiting for their turn end at once
            with self._opened(group.file) as stream:
                return read(group, stream), stream.n_bytes

        def read_all() -> tuple[list[T], int]:
            of_groups: list[T] = []
            n_bytes = 0
            with ThreadPoolExecutor(_THREADS) as pool:
                for done, (found, n_read) in enumerate(pool.map(read_one, groups), 1):
                    of_groups.append(found)
                    n_bytes += n_read
                    progress.advance(done)
            return of_groups, n_bytes

        return interruptible(read_all, progress)

    def check_room(self, files: Sequence[int]) -> None:
        """Raise CorpusError if the disk has no room for these files."""
        hub.check_room(self._repository, [self._files[file] for file in files])

    def fetch(self, file: int, stage: str, progress: Progress) -> Path:
        """All of a file, in the user's cache of the Hub. stage: what `progress` is told."""
        return hub.fetch(self._repository, [self._files[file]], progress, stage=stage) / self._files[file].path

    def all_texts(self, path: Path, column: str, stage: str, progress: Progress) -> Iterator[list[str]]:
        """The texts of a file that was fetched, in their order, some at a time."""
        repo, n_done = self._listing.repo, 0
        with (
            reporting_damage(repo),
            pq.ParquetFile(
                path,
                buffer_size=_WHOLE_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[column],
            ) as table,
        ):
            group_sizes(table.metadata, column, repo)  # raises where there is no such column
            progress.begin(stage, table.metadata.num_rows, unit="texts")
            for batch in table.iter_batches(_WHOLE_TEXTS, columns=[column]):
                values = formats.values_of(batch, column)
                checked_group_size(formats.n_bytes_of(values), self._limits.group_bytes, repo)
                n_done += len(values)
                yield [*filter(None, values.to_pylist())]
                progress.advance(n_done)

    @property
    def _repository(self) -> hub.Repository:
        return hub.Repository(self._listing.repo, "dataset", self._listing.commit, tuple(self._files))

    def _texts(self, stream: RemoteFile, footer: pq.FileMetaData, group: int, column: str) -> list[tuple[int, str]]:
        """The texts of a row group; raises CorpusError if they turn out to be larger than the footer says."""
        texts: list[tuple[int, str]] = []
        n_bytes = n_rows = 0
        with pq.ParquetFile(
            stream, metadata=footer, page_checksum_verification=True, read_dictionary=[column]
        ) as table:
            for batch in table.iter_batches(_BATCH_TEXTS, row_groups=[group], columns=[column]):
                values = formats.values_of(batch, column)
                n_bytes = checked_group_size(
                    n_bytes + formats.n_bytes_of(values), self._limits.group_bytes, self._listing.repo
                )
                texts += [(row, text) for row, text in enumerate(values.to_pylist(), n_rows) if text]
                n_rows += len(values)
        return texts

    def _values(
        self, stream: RemoteFile, footer: pq.FileMetaData, group: int, field: str, rows: NDArray[np.int64]
    ) -> list[str | None]:
        """What a column has in some rows of a row group; raises CorpusError as `_texts` does."""
        found: list[str | None] = []
        n_bytes = n_rows = 0
        names = formats.class_names(footer, field)
        schema = footer.schema.to_arrow_schema()
        is_text = any(column.name == field and formats.is_text(column.type) for column in schema)
        with pq.ParquetFile(
            stream, metadata=footer, page_checksum_verification=True, read_dictionary=[field] if is_text else None
        ) as table:
            for batch in table.iter_batches(_BATCH_VALUES, row_groups=[group], columns=[field]):
                values = formats.values_of(batch, field) if is_text else formats.plain_values_of(batch, field)
                size = formats.n_bytes_of(values)
                n_bytes = checked_group_size(n_bytes + size, self._limits.group_bytes, self._listing.repo)
                first, last = np.searchsorted(rows, [n_rows, n_rows + len(values)])
                taken = values.take(pa.array(rows[first:last] - n_rows))
                found += formats.short_values(formats.as_text(taken, names))
                n_rows += len(values)
        return found

    @contextlib.contextmanager
    def _opened(self, index: int) -> Iterator[RemoteFile]:
        with (
            reporting_damage(self._listing.repo),
            self._open_file(self._listing, self._files[index]) as stream,
        ):
            yield stream
