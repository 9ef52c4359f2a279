"""The rounds in which row groups of a dataset on the Hub are drawn, how they are read, and what is kept of them.

Of a Parquet file on the Hub only what is read is fetched: its footer, and one column of some row groups.
"""

import contextlib
import hashlib
import io
import itertools
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import mark_used, read_file, write_file
from clsviz.errors import CorpusError, first_line
from clsviz.progress import Progress, interruptible
from clsviz.settings import is_name, printable
from clsviz.sources import files, hub, tables

T = TypeVar("T")

DRAWING = 2
"""Increase it when the same seed draws different sentences from the same files."""

SCHEMA = 2
"""Increase it when the meaning of what is kept changes."""

_MAX_GROUPS = 100
"""Row groups from which a mean is taken."""

_SHORT_BYTES = 2 * files.LONGEST_VALUE
"""Mean size of the texts of a column that are no longer than what is taken of them."""

_BATCH_TEXTS, _BATCH_VALUES = 100, 1_000
"""Unpacked at once: a text may be stored once and repeated many times; values of another column are short."""

_HEAD_TEXTS, _HEAD_BYTES = 200, 2**17
"""How many texts of a column are read to see how long they are, and how many bytes are fetched at a time for that."""

_WHOLE_TEXTS, _WHOLE_BYTES = 1000, 2**20
"""How many texts of a file on this machine are passed on at once, and how many bytes are read of it at a time."""

_THREADS = 8

_KEPT = re.compile(
    r"(footer-\d{6}|round-\d{6}|head-[0-9a-f]{16}|values-[0-9a-f]{16}-\d{6})"
    r"-(?P<n_bytes>\d+)-(?P<digest>[0-9a-f]{16})\.parquet"
)
"""A file's name: what it holds, how many bytes were read over the network for it, and the digest of its content."""


@dataclass(frozen=True)
class Limits:
    """How much of a dataset is mixed at once, and how much of it fits into memory.

    round_texts, round_bytes: rows, or bytes of text when unpacked, that fill a round. files_at_once: files, chosen at
    random, that are sampled together, since looking into each takes requests. group_bytes: the largest row group that
    is read, unpacked. Different limits draw different sentences.
    """

    round_texts: int = 20_000
    round_bytes: int = 32 * 2**20
    files_at_once: int = 64
    group_bytes: int = 512 * 2**20


class RowGroup(NamedTuple):
    """A row group of a file of the split, both by number."""

    file: int
    number: int

    @property
    def id(self) -> int:
        """One number for both."""
        return self.file << 32 | self.number

    @classmethod
    def of(cls, id: int) -> "RowGroup":  # noqa: A002
        """The row group with this `id`."""
        return cls(id >> 32, id & 0xFFFFFFFF)


def windows(sizes: Sequence[int], seed: int, files_at_once: int) -> Iterator[list[tuple[int, int, int]]]:
    """The files with these sizes in random order, a few parts at a time: (file, number of the part, number of parts).

    Large files come in parts about as large as a typical file; otherwise sentences in small files would be likelier to
    be drawn.
    """
    unit = max(statistics.median(sizes), sum(sizes) / (len(sizes) * files_at_once), 1)
    counts = [max(1, round(size / unit)) if len(sizes) > files_at_once else 1 for size in sizes]
    parts = [(file, number, count) for file, count in enumerate(counts) for number in range(count)]
    order = np.random.RandomState(seed).permutation(len(parts)).tolist()
    for start in range(0, len(order), files_at_once):
        yield [parts[index] for index in order[start : start + files_at_once]]


def row_groups_of(part: tuple[int, int, int], n_row_groups: int, seed: int) -> list[RowGroup]:
    """The row groups in a part, as `windows` gives it, of a file that has `n_row_groups`."""
    file, number, n_parts = part
    order = list(range(n_row_groups))
    if n_parts > 1:
        order = np.random.RandomState([seed, file, 1]).permutation(n_row_groups).tolist()
    start, stop = (at * n_row_groups // n_parts for at in (number, number + 1))
    return [RowGroup(file, group) for group in order[start:stop]]


def filled_rounds(
    groups: Sequence[RowGroup],
    size_of: Callable[[RowGroup], tuple[int, int]],
    random: np.random.RandomState,
    limits: Limits,
) -> Iterator[list[RowGroup]]:
    """The row groups in random order, as many at a time as fill a round.

    size_of: how many texts, and how many bytes of text, a row group holds.
    """
    picked: list[RowGroup] = []
    n_texts = n_bytes = 0
    for index in random.permutation(len(groups)):
        picked.append(groups[index])
        texts, size = size_of(groups[index])
        n_texts += texts
        n_bytes += size
        if n_texts >= limits.round_texts or n_bytes >= limits.round_bytes:
            yield picked
            picked, n_texts, n_bytes = [], 0, 0
    if picked:
        yield picked


class Storage:
    """A folder that keeps what was read, each under a name and with the bytes that it took to read it.

    A damaged file counts as missing and is removed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._footers: dict[int, pq.FileMetaData] = {}

    def below(self, name: str) -> "Storage":
        """Storage in a subfolder."""
        return Storage(self._folder / name)

    def footer(self, file: int) -> pq.FileMetaData | None:
        """The footer of the file with this number."""
        if file not in self._footers and (kept := self.load(f"footer-{file:06}")):
            self._footers[file] = pq.read_metadata(pa.BufferReader(kept[0]))
        return self._footers.get(file)

    def keep_footer(self, file: int, footer: pq.FileMetaData, n_bytes: int) -> None:
        """Keep the footer of a file."""
        content = io.BytesIO()
        footer.write_metadata_file(content)
        self.keep(f"footer-{file:06}", content.getvalue(), n_bytes)
        self._footers[file] = footer

    def table(self, name: str) -> tuple[pa.Table, int] | None:
        """A table that is kept, and the bytes it took."""
        kept = self.load(name)
        return kept and (pq.read_table(pa.BufferReader(kept[0])), kept[1])

    def keep_table(self, name: str, table: pa.Table, n_bytes: int) -> None:
        """Keep a table."""
        content = io.BytesIO()
        pq.write_table(table, content, use_dictionary=False)
        self.keep(name, content.getvalue(), n_bytes)

    def bytes_looked_into(self, files: Iterable[int]) -> int:
        """How many bytes were read for the footers of files and the lengths of texts."""
        patterns = [*(f"footer-{file:06}-*" for file in files), "head-*"]
        matches = [_KEPT.fullmatch(path.name) for pattern in patterns for path in self._folder.glob(pattern)]
        return sum(int(match["n_bytes"]) for match in matches if match)

    def keep(self, name: str, content: bytes, n_bytes: int) -> None:
        """Keep some bytes."""
        digest = hashlib.sha256(content).hexdigest()[:16]
        path = self._folder / f"{name}-{n_bytes}-{digest}.parquet"
        write_file(path, content)
        for before in self._folder.glob(f"{name}-*.parquet"):
            if before != path:
                before.unlink(missing_ok=True)

    def load(self, name: str) -> tuple[bytes, int] | None:
        """What `keep` was given under this name."""
        for path in self._folder.glob(f"{name}-*.parquet"):
            with contextlib.suppress(OSError):
                content, match = read_file(path), _KEPT.fullmatch(path.name)
                if match and hashlib.sha256(content).hexdigest()[:16] == match["digest"]:
                    mark_used(path)
                    return content, int(match["n_bytes"])
                path.unlink()
        return None


class RemoteFile(io.RawIOBase):
    """A file on the Hub; n_bytes: how much of it was fetched."""

    def __init__(self, repository: hub.Repository, file: hub.File) -> None:
        self.n_bytes = self._position = 0
        self._repository, self._file = repository, file

    def readable(self) -> bool:  # noqa: D102
        return True

    def seekable(self) -> bool:  # noqa: D102
        return True

    def tell(self) -> int:  # noqa: D102
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:  # noqa: D102
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """The next `size` bytes, fewer if the file ends before; raises CorpusError if they do not arrive."""
        stop = self._file.size if size is None or size < 0 else min(self._position + size, self._file.size)
        if stop <= self._position:
            return b""
        found = hub.read_range(self._repository, self._file.path, self._position, stop)
        self._position = stop
        self.n_bytes += len(found)
        return found


@contextlib.contextmanager
def reporting_damage(repo: str) -> Iterator[None]:
    """Raise whatever is wrong with a dataset's file as a CorpusError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{repo} has a damaged file ({printable(first_line(error))}). Choose another dataset."
        ) from error


def mean_sizes(footer: pq.FileMetaData, repo: str) -> dict[str, float]:
    """The columns that hold text, likeliest first, with the mean size of a value in bytes; raises CorpusError."""
    with reporting_damage(repo):
        sizes = {name: _mean_bytes(footer, leaf) for name, leaf in _columns(footer, tables.is_text).items()}
    if not sizes:
        raise CorpusError(f"{repo} has no column that holds text. Choose another dataset.")
    return {name: sizes[name] for name in sorted(sizes, key=lambda name: files.rank(name, sizes[name]))}


def fields_of(footer: pq.FileMetaData, repo: str) -> tuple[str, ...]:
    """The columns that have a number, a time or a short text in each row; raises CorpusError."""
    with reporting_damage(repo):
        texts = _columns(footer, tables.is_text)
        leaves = _columns(footer, tables.is_field)
        return files.usable_fields(
            name for name, leaf in leaves.items() if name not in texts or _mean_bytes(footer, leaf) <= _SHORT_BYTES
        )


def group_sizes(footer: pq.FileMetaData, column: str, repo: str, *, is_field: bool = False) -> list[int]:
    """Bytes of a column in every row group, unpacked; raises CorpusError if it does not hold text.

    is_field: True if numbers, truth values and times will do.
    """
    with reporting_damage(repo):
        leaf = _columns(footer, tables.is_field if is_field else tables.is_text).get(column)
        if leaf is not None:
            groups = map(footer.row_group, range(footer.num_row_groups))
            return [group.column(leaf).total_uncompressed_size for group in groups]
    lacks, remedy = (
        ("is not plain", "Colour by another one") if is_field else ("does not hold text", "Choose another column")
    )
    raise CorpusError(f"{repo} has files without the column “{printable(column)}”, or where it {lacks}. {remedy}.")


def checked_group_size(n_bytes: int, group_bytes: int, repo: str) -> int:
    """`n_bytes` in the texts of a row group; raises CorpusError if that is over `group_bytes`."""
    if n_bytes > group_bytes:
        raise CorpusError(
            f"{repo} is stored in row groups of over {group_bytes / 2**20:,.0f} MB, any of which would fill the "
            "memory. Choose another dataset."
        )
    return n_bytes


def _columns(footer: pq.FileMetaData, is_one: Callable[[pa.DataType], bool]) -> dict[str, int]:
    """The columns of some types, and the number that the footer gives each."""
    leaves: dict[str, int] = {}
    for index in range(footer.num_columns):
        leaves.setdefault(footer.schema.column(index).path, index)
    names = [field.name for field in footer.schema.to_arrow_schema() if is_one(field.type)]
    return {name: leaves[name] for name in names if name in leaves and is_name(name)}


def _mean_bytes(footer: pq.FileMetaData, leaf: int) -> float:
    """Mean size of a column's values, unpacked."""
    chunks = [footer.row_group(group).column(leaf) for group in range(min(footer.num_row_groups, _MAX_GROUPS))]
    n_bytes, n_values = (sum(getattr(c, name) for c in chunks) for name in ("total_uncompressed_size", "num_values"))
    return float(n_bytes / max(1, n_values))


class Reader:
    """Reads the files of a split on the Hub; raises CorpusError where they cannot be read.

    It raises CancelledError as soon as the progress it is given is told to stop. group_bytes: the largest row group
    that is read, unpacked.
    """

    def __init__(self, repository: hub.Repository, group_bytes: int) -> None:
        self._repository, self._repo, self._files = repository, repository.name, repository.files
        self._group_bytes = group_bytes

    @contextlib.contextmanager
    def _opened(self, file: int) -> Iterator[RemoteFile]:
        with reporting_damage(self._repo), RemoteFile(self._repository, self._files[file]) as stream:
            yield stream

    def footers(
        self, files: Sequence[int], progress: Progress, keep: Callable[[int, pq.FileMetaData, int], None]
    ) -> None:
        """Read the footers of files, and `keep` each as it comes, with its file's number and the bytes it took."""

        def read(file: int) -> None:
            with self._opened(file) as stream:
                footer = pq.ParquetFile(stream).metadata
            keep(file, footer, stream.n_bytes)

        progress.begin(f"Looking into {self._repo}", len(files))
        self._each(files, read, progress)

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
                    for text in tables.column_of(batch, column).to_pylist()
                    if text
                ]
                return sum(lengths) / max(1, len(lengths)), stream.n_bytes

        progress.begin(f"Looking into {self._repo}")
        return interruptible(read, progress)

    def texts(
        self, groups: Sequence[RowGroup], footers: Mapping[int, pq.FileMetaData], column: str, progress: Progress
    ) -> list[tuple[list[tuple[int, str]], int]]:
        """The texts of each row group with their rows in it, in order, and how many bytes it took to read them.

        Raises CorpusError if they turn out to be larger than the footer says.
        """

        def read(group: RowGroup) -> tuple[list[tuple[int, str]], int]:
            with self._opened(group.file) as stream:
                runs = self._runs(stream, group, footers[group.file], column, _BATCH_TEXTS)
                found = [(row, text) for first, run in runs for row, text in enumerate(run.to_pylist(), first) if text]
                return found, stream.n_bytes

        return self._each(groups, read, progress)

    def values(
        self,
        rows: Mapping[RowGroup, NDArray[np.int64]],
        footers: Mapping[int, pq.FileMetaData],
        field: str,
        progress: Progress,
    ) -> list[tuple[list[str | None], int]]:
        """What another column has in some rows of each row group, and how many bytes it took to read it.

        rows: of each row group, ascending. Numbers that stand for classes are given by the names of these. Raises
        CorpusError as `texts` does.
        """

        def read(group: RowGroup) -> tuple[list[str | None], int]:
            found: list[str | None] = []
            footer = footers[group.file]
            names = tables.class_names(footer, field)
            with self._opened(group.file) as stream:
                for first, run in self._runs(stream, group, footer, field, _BATCH_VALUES):
                    start, stop = np.searchsorted(rows[group], [first, first + len(run)])
                    taken = run.take(pa.array(rows[group][start:stop] - first))
                    found += files.short_values(tables.as_text(taken, names))
                return found, stream.n_bytes

        return self._each([*rows], read, progress)

    def _runs(
        self, stream: RemoteFile, group: RowGroup, footer: pq.FileMetaData, column: str, n: int
    ) -> Iterator[tuple[int, pa.Array]]:
        """The values of a row group's column, n at a time, with the row of the first; repeated texts are held once."""
        coded = [column] if column in _columns(footer, tables.is_text) else None
        n_bytes = n_rows = 0
        with pq.ParquetFile(stream, metadata=footer, page_checksum_verification=True, read_dictionary=coded) as table:
            for batch in table.iter_batches(n, row_groups=[group.number], columns=[column]):
                run = tables.column_of(batch, column)
                n_bytes = checked_group_size(n_bytes + tables.n_bytes_of(run), self._group_bytes, self._repo)
                yield n_rows, run
                n_rows += len(run)

    def _each(self, items: Sequence[int] | Sequence[RowGroup], read: Callable[..., T], progress: Progress) -> list[T]:
        """What is read of each of some files or row groups."""

        def read_one(item: int | RowGroup) -> T:
            progress.check()  # those still waiting for their turn end at once
            return read(item)

        def read_all() -> list[T]:
            found: list[T] = []
            with ThreadPoolExecutor(_THREADS) as pool:
                for one in pool.map(read_one, items):
                    found.append(one)
                    progress.advance(len(found))
            return found

        return interruptible(read_all, progress)

    def check_room(self, files: Sequence[int]) -> None:
        """Raise CorpusError if the disk has no room for these files."""
        hub.check_room(self._repository, [self._files[file] for file in files])

    def all_texts(self, file: int, column: str, progress: Progress) -> Iterator[list[str]]:
        """The texts of a file, in their order, some at a time. All of it is fetched first."""
        which = f"{self._repo}, file {file + 1:,} of {len(self._files):,}"
        folder = hub.fetch(self._repository, [self._files[file]], progress, stage=f"Downloading {which}")
        n_done = 0
        with (
            reporting_damage(self._repo),
            pq.ParquetFile(
                folder / self._files[file].path,
                buffer_size=_WHOLE_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[column],
            ) as table,
        ):
            group_sizes(table.metadata, column, self._repo)  # raises where there is no such column
            progress.begin(f"Reading {which}", table.metadata.num_rows, unit="texts")
            for batch in table.iter_batches(_WHOLE_TEXTS, columns=[column]):
                values = tables.column_of(batch, column)
                checked_group_size(tables.n_bytes_of(values), self._group_bytes, self._repo)
                n_done += len(values)
                yield [*filter(None, values.to_pylist())]
                progress.advance(n_done)
