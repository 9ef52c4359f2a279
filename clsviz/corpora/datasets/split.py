"""Text datasets of the Hugging Face Hub: a fair sample of them that leaves most unread.

They are Parquet files, which are made of row groups, each of which can be read by itself. A sample is drawn in rounds:
the row groups in random order, as many as make a round, and then what is in them in random order. Every round is kept,
so that a larger sample goes on where a smaller one ended.
"""

import contextlib
import hashlib
import io
import itertools
import json
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz import corpora
from clsviz.corpora import formats
from clsviz.corpora.datasets.listing import Listing
from clsviz.corpora.datasets.remote_file import RemoteFile
from clsviz.corpora.datasets.rounds import (
    DRAWING,
    FILES_AT_ONCE,
    ROUND_BYTES,
    ROUND_TEXTS,
    SCHEMA,
    FilePart,
    NotKeptError,
    Round,
    RowGroup,
    bytes_to_read,
    keep_content,
    keep_round,
    load_kept,
    load_round,
    row_groups_of,
)
from clsviz.errors import CorpusError, first_line
from clsviz.progress import Progress, interruptible
from clsviz.settings import is_name, printable

_LARGEST_GROUP_BYTES = 512 * 2**20


_BATCH_TEXTS = 100
"""Unpacked at once: a text may be stored once and meant many times."""


_HEAD_TEXTS, _HEAD_BYTES = 200, 2**17
"""Read of a column to see how long its texts are, and how much of it is fetched at once for that."""


_READERS = 8


@dataclass(frozen=True)
class Draw:
    """What was drawn: sentences in random order, and what it took.

    n_row_groups: how many row groups they come from, of n_row_groups_known, those in the n_files looked into.
    n_bytes: read for them over the network, by this and by earlier runs.
    """

    sentences: list[str]
    n_row_groups: int
    n_row_groups_known: int
    n_files: int
    n_bytes: int


class Split:
    """One split of one configuration, of which samples are drawn; what is read of it is kept in a folder of its own."""

    def __init__(self, listing: Listing, configuration: str, split: str, folder: Path) -> None:
        """Reads nothing. Raises CorpusError where the dataset has no such configuration or split."""
        self.configuration, self.split = listing.choose(configuration, split)
        self.files = listing.splits[self.configuration][self.split]
        self.is_conversion = listing.is_conversion
        self._listing = listing
        self._folder = folder / f"hub-{self.fingerprint[:32]}"
        self._loaded: dict[int, pq.FileMetaData] = {}

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the dataset's name and its files' digests, in hexadecimal."""
        content = [self._listing.repo, [[file.path, file.digest] for file in self.files]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def n_bytes(self) -> int:
        """Of all its files."""
        return sum(file.size for file in self.files)

    def columns(self, progress: Progress, *, download: bool) -> dict[str, float] | None:
        """The columns that hold text, likeliest first, with the mean size of a text in bytes, by its largest file.

        None where that file's footer is not kept and `download` is false. Raises CorpusError.
        """
        try:
            (footer,) = self._footers([self._largest], progress, download)
        except NotKeptError:
            return None
        with self._unpacking():
            sizes = {name: _mean_bytes(footer, leaf) for name, leaf in _text_columns(footer).items()}
        if not sizes:
            raise CorpusError(f"{self._listing.repo} has no column that holds text. Choose another dataset.")
        return {name: sizes[name] for name in sorted(sizes, key=lambda name: formats.rank(name, sizes[name]))}

    def mean_characters(self, column: str, progress: Progress, *, download: bool) -> float | None:
        """Mean length of the first texts of a column of the largest file; None where it is not kept, as in `columns`.

        The texts are read for it: what a footer says of their size counts a text that is repeated only once.
        """
        name = f"head-{hashlib.sha256(column.encode()).hexdigest()[:16]}"
        kept = load_kept(self._folder, name)
        if kept is None:
            if not download:
                return None
            progress.begin(f"Looking into {self._listing.repo}")
            found, n_bytes = interruptible(lambda: self._read_head(column, progress), progress)
            kept = str(found).encode(), n_bytes
            keep_content(self._folder, name, n_bytes, kept[0])
        return float(kept[0])

    def _read_head(self, column: str, progress: Progress) -> tuple[float, int]:
        (footer,) = self._footers([self._largest], progress, download=True)
        filled = [group for group in range(footer.num_row_groups) if footer.row_group(group).num_rows]
        with (
            self._opened(self._largest) as stream,
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

    @property
    def _largest(self) -> int:
        """Number of the largest file."""
        return max(range(len(self.files)), key=lambda index: self.files[index].size)

    def draw(self, size: int, seed: int, column: str, progress: Progress, *, cut: bool, download: bool) -> Draw | None:
        """The first `size` sentences, or all if there are fewer, in the order that `seed` draws.

        column: one that holds text. cut: whether texts are cut into sentences. None where not all of it is kept and
        `download` is false. Raises CorpusError, and CancelledError as soon as `progress` is asked to stop: what was
        drawn by then is kept.
        """
        version = [SCHEMA, DRAWING, column, corpora.segmentation.VERSION if cut else "", seed]
        folder = self._folder / hashlib.sha256(json.dumps(version).encode()).hexdigest()[:16]
        sentences: list[str] = []
        n_bytes = n_groups = n_known = 0
        files: frozenset[int] = frozenset()
        try:
            for number, planned in enumerate(self._plan(seed, column, progress, download)):
                groups, n_known, files = planned
                drawn = load_round(folder, number)
                if drawn is None:
                    if not download:
                        return None
                    stage = f"Reading {self._listing.repo}, after {len(sentences):,} of {size:,} sentences:"
                    progress.begin(stage, len(groups), unit="row groups")
                    texts, n_read = interruptible(lambda: self._read(groups, column, progress), progress)  # noqa: B023
                    random = np.random.RandomState([seed, number])
                    texts = [texts[index] for index in random.permutation(len(texts))]
                    found = corpora.segmentation.sentences(texts, cut=cut)
                    drawn = [found[index] for index in random.permutation(len(found))] if cut else found, n_read
                    keep_round(folder, number, *drawn)
                sentences += drawn[0]
                n_bytes += drawn[1]
                n_groups += len(groups)
                if len(sentences) >= size:
                    break
        except NotKeptError:
            return None
        if not sentences:
            raise CorpusError(f"{self._listing.repo} holds no text in “{printable(column)}”. Choose another column.")
        looked_into = [*(f"footer-{file:06}-*" for file in files), "head-*"]
        n_bytes += sum(bytes_to_read(path) for pattern in looked_into for path in self._folder.glob(pattern))
        return Draw(sentences[:size], n_groups, n_known, len(files), n_bytes)

    def _plan(self, seed: int, column: str, progress: Progress, download: bool) -> Iterator[Round]:
        """What every round is made of."""
        n_known = 0
        files: set[int] = set()
        for window, parts in enumerate(self._windows(seed)):
            numbers = sorted({part.file for part in parts})
            footers = dict(zip(numbers, self._footers(numbers, progress, download), strict=True))
            sizes = {number: self._sizes(footer, column) for number, footer in footers.items()}
            groups = [
                RowGroup(part.file, number)
                for part in parts
                for number in row_groups_of(part, len(sizes[part.file]), seed)
            ]
            n_known += len(groups)
            files |= footers.keys()
            picked: list[RowGroup] = []
            n_texts = n_bytes = 0
            for index in np.random.RandomState([seed, window, 0]).permutation(len(groups)):
                group = groups[index]
                picked.append(group)
                n_texts += footers[group.file].row_group(group.number).num_rows
                n_bytes += self._checked(sizes[group.file][group.number])
                if n_texts >= ROUND_TEXTS or n_bytes >= ROUND_BYTES:
                    yield Round(picked, n_known, frozenset(files))
                    picked, n_texts, n_bytes = [], 0, 0
            if picked:
                yield Round(picked, n_known, frozenset(files))

    def _windows(self, seed: int) -> Iterator[list[FilePart]]:
        """The files, in random order and a few at a time.

        Large ones come in parts of the size of a common one, or what is in small ones would be likelier to be drawn.
        """
        sizes = [file.size for file in self.files]
        unit = max(statistics.median(sizes), sum(sizes) / (len(sizes) * FILES_AT_ONCE), 1)
        counts = [max(1, round(size / unit)) if len(sizes) > FILES_AT_ONCE else 1 for size in sizes]
        parts = [FilePart(file, number, count) for file, count in enumerate(counts) for number in range(count)]
        order = np.random.RandomState(seed).permutation(len(parts)).tolist()
        for start in range(0, len(order), FILES_AT_ONCE):
            yield [parts[index] for index in order[start : start + FILES_AT_ONCE]]

    def _read(self, groups: Sequence[RowGroup], column: str, progress: Progress) -> tuple[list[str], int]:
        """The texts of row groups, in their order, and how many bytes it took to read them."""

        def read(group: RowGroup) -> tuple[list[str], int]:
            progress.check()  # those that wait for their turn end at once
            (footer,) = self._footers([group.file], progress, download=True)
            with self._opened(group.file) as stream:
                return self._texts(stream, footer, group.number, column), stream.n_bytes

        texts: list[str] = []
        n_bytes = 0
        with ThreadPoolExecutor(_READERS) as pool:
            for done, (found, n_read) in enumerate(pool.map(read, groups), 1):
                texts += found
                n_bytes += n_read
                progress.advance(done)
        return texts, n_bytes

    def _texts(self, stream: "RemoteFile", footer: pq.FileMetaData, group: int, column: str) -> list[str]:
        """The texts of a row group; raises CorpusError where they turn out to be larger than it says."""
        texts: list[str] = []
        n_bytes = 0
        with pq.ParquetFile(
            stream, metadata=footer, page_checksum_verification=True, read_dictionary=[column]
        ) as table:
            for batch in table.iter_batches(_BATCH_TEXTS, row_groups=[group], columns=[column]):
                values = formats.values_of(batch, column)
                n_bytes = self._checked(n_bytes + formats.n_bytes_of(values))
                texts += filter(None, values.to_pylist())
        return texts

    def _sizes(self, footer: pq.FileMetaData, column: str) -> list[int]:
        """Bytes of the texts of every row group, unpacked; raises CorpusError where the column is not of texts."""
        with self._unpacking():
            leaf = _text_columns(footer).get(column)
            if leaf is not None:
                groups = map(footer.row_group, range(footer.num_row_groups))
                return [group.column(leaf).total_uncompressed_size for group in groups]
        raise CorpusError(
            f"{self._listing.repo} has files without the column “{printable(column)}”, or where it is not of texts. "
            "Choose another column."
        )

    def _checked(self, n_bytes: int) -> int:
        """`n_bytes` of a row group's texts; raises CorpusError where they cannot be read at once."""
        if n_bytes > _LARGEST_GROUP_BYTES:
            raise CorpusError(
                f"{self._listing.repo} is kept in row groups of over {_LARGEST_GROUP_BYTES / 2**20:,.0f} MB, of which "
                "one fills the memory. Choose another dataset."
            )
        return n_bytes

    def _footers(self, files: Sequence[int], progress: Progress, download: bool) -> list[pq.FileMetaData]:
        """What the footers of files say; raises _NotKeptError where one is not kept and `download` is false."""
        missing = [index for index in files if not self._load_footer(index)]
        if missing and not download:
            raise NotKeptError
        if missing:
            progress.begin(f"Looking into {self._listing.repo}", len(missing))
            interruptible(lambda: self._fetch_footers(missing, progress), progress)
        return [self._loaded[index] for index in files]

    def _fetch_footers(self, files: Sequence[int], progress: Progress) -> None:
        def fetch(index: int) -> None:
            progress.check()
            with self._opened(index) as stream:
                footer = pq.ParquetFile(stream).metadata
            self._keep_footer(index, footer, stream.n_bytes)

        with ThreadPoolExecutor(_READERS) as pool:
            for done, _ in enumerate(pool.map(fetch, files), 1):
                progress.advance(done)

    def _keep_footer(self, index: int, footer: pq.FileMetaData, n_bytes: int) -> None:
        content = io.BytesIO()
        footer.write_metadata_file(content)
        keep_content(self._folder, f"footer-{index:06}", n_bytes, content.getvalue())
        self._loaded[index] = footer

    def _load_footer(self, index: int) -> bool:
        """Whether the footer of a file is kept."""
        if index not in self._loaded and (kept := load_kept(self._folder, f"footer-{index:06}")):
            self._loaded[index] = pq.read_metadata(pa.BufferReader(kept[0]))
        return index in self._loaded

    @contextlib.contextmanager
    def _opened(self, index: int) -> Iterator["RemoteFile"]:
        """A file of the split, of which only what is read is fetched; raises CorpusError at what is damaged."""
        with self._unpacking(), RemoteFile(self._listing, self.files[index]) as stream:
            yield stream

    @contextlib.contextmanager
    def _unpacking(self) -> Iterator[None]:
        """What is wrong with a file of the split, as a CorpusError."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise CorpusError(
                f"{self._listing.repo} has a damaged file ({printable(first_line(error))}). Choose another dataset."
            ) from error


def _text_columns(footer: pq.FileMetaData) -> dict[str, int]:
    """The columns that hold text, and the number by which the footer calls each."""
    leaves: dict[str, int] = {}
    for index in range(footer.num_columns):
        leaves.setdefault(footer.schema.column(index).path, index)
    names = [field.name for field in footer.schema.to_arrow_schema() if formats.is_text(field.type)]
    return {name: leaves[name] for name in names if name in leaves and is_name(name)}


def _mean_bytes(footer: pq.FileMetaData, leaf: int) -> float:
    """Of a column's values, unpacked."""
    chunks = [footer.row_group(group).column(leaf) for group in range(min(footer.num_row_groups, 100))]
    n_bytes, n_values = (sum(getattr(c, name) for c in chunks) for name in ("total_uncompressed_size", "num_values"))
    return float(n_bytes / max(1, n_values))
