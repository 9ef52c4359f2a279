"""Datasets on the Hugging Face Hub: their splits, and the samples drawn from them.

Parquet files are made of row groups, each of which can be read by itself. A sample is drawn in rounds: the row groups
in random order, as many as fill a round, and then their sentences in random order. Every round is kept, so that a
larger sample continues where a smaller one ended.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable
from clsviz.sources import hub, segmentation
from clsviz.sources.catalogue import CORPORA, Corpus, Dataset, label, not_downloaded, refuse_reading, resembles_upload
from clsviz.sources.hub_listing import Listing, NotKeptError, listed, open_listing
from clsviz.sources.hub_rounds import (
    DRAWING,
    SCHEMA,
    Limits,
    Reader,
    RowGroup,
    Storage,
    checked_group_size,
    fields_of,
    filled_rounds,
    group_sizes,
    mean_sizes,
    row_groups_of,
    windows,
)
from clsviz.sources.uploads import not_here

_SENTENCE_BYTES = 100
"""About how long a sentence of running text is."""


@dataclass(frozen=True)
class Draw:
    """What was drawn: sentences in random order, and what it took.

    row_groups: the `RowGroup.id` of each sentence.
    n_row_groups: how many row groups they come from, out of n_row_groups_known in the n_files looked into.
    n_bytes: read for them over the network, by this run and earlier ones.
    """

    sentences: list[str]
    row_groups: list[int]
    n_row_groups: int
    n_row_groups_known: int
    n_files: int
    n_bytes: int


class _Round(NamedTuple):
    """Row groups that are mixed; n_row_groups in `files` are known by then."""

    groups: list[RowGroup]
    n_row_groups: int
    files: frozenset[int]


class _Drawing(NamedTuple):
    """What decides the order of a split's sentences; cut: whether texts are cut into sentences."""

    seed: int
    column: str
    cut: bool

    @property
    def digest(self) -> str:
        version = segmentation.VERSION if self.cut else ""
        content = json.dumps([SCHEMA, DRAWING, self.column, version, self.seed])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


class Split:
    """One split of one configuration, from which samples are drawn; what is read of it is kept below `folder`.

    configuration, split: "" is the dataset's default. Its methods raise NotKeptError where something is missing, unless
    `online`, CorpusError where the split cannot be read, and CancelledError as soon as `progress` is told to stop.
    """

    def __init__(
        self,
        listing: Listing,
        configuration: str,
        split: str,
        folder: Path,
        limits: Limits | None = None,
        *,
        online: bool,
    ) -> None:
        self.configuration, self.split = listing.choose(configuration, split)
        self.files = listing.splits[self.configuration][self.split]
        self.is_conversion = listing.is_conversion
        self.repo = listing.repo
        self._limits = limits or Limits()
        repository = hub.Repository(listing.repo, "dataset", listing.commit, tuple(self.files))
        self._reader = Reader(repository, self._limits.group_bytes) if online else None
        self._storage = Storage(folder / self.folder_name)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the dataset's name and its files' digests, in hexadecimal."""
        content = [self.repo, [[file.path, file.digest] for file in self.files]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def folder_name(self) -> str:
        """Where below a folder what was read of it is kept."""
        return f"hub-{self.fingerprint[:32]}"

    @property
    def n_bytes(self) -> int:
        """Size of all its files."""
        return sum(file.size for file in self.files)

    def columns(self, progress: Progress) -> dict[str, float]:
        """The columns of the largest file that hold text, likeliest first, with the mean size of a value in bytes."""
        return mean_sizes(self.footer(progress), self.repo)

    def mean_characters(self, column: str, progress: Progress) -> float:
        """Mean length of the first texts of a column of the largest file.

        The texts are read for it, because the sizes in a footer count a repeated text once.
        """
        name = f"head-{hashlib.sha256(column.encode()).hexdigest()[:16]}"
        if kept := self._storage.load(name):
            return float(kept[0])
        reader = self.reader
        mean, n_bytes = reader.mean_characters(self.largest, self.footer(progress), column, progress)
        self._storage.keep(name, str(mean).encode(), n_bytes)
        return mean

    def draw(self, size: int, seed: int, column: str, progress: Progress, *, cut: bool) -> Draw:
        """The first `size` sentences, or all if there are fewer, in the order that `seed` draws.

        column: one that holds text. cut: whether texts are cut into sentences. Whatever was drawn before an error or a
        cancellation is kept.
        """
        drawing = _Drawing(seed, column, cut)
        sentences: list[str] = []
        row_groups: list[NDArray[np.int64]] = []
        n_bytes = n_groups = 0
        planned = _Round([], 0, frozenset())
        for number, planned in enumerate(self._plan(drawing, progress)):
            stage = f"Reading {self.repo}, after {len(sentences):,} of {size:,} sentences:"
            table, n_bytes_of_round = self._round(planned.groups, number, drawing, stage, progress)
            sentences += table["sentence"].to_pylist()
            row_groups.append(table["row_group"].to_numpy())
            n_bytes += n_bytes_of_round
            n_groups += len(planned.groups)
            if len(sentences) >= size:
                break
        if not sentences:
            raise CorpusError(f"{self.repo} holds no text in “{printable(column)}”. Choose another column.")
        n_bytes += self._storage.bytes_looked_into(planned.files)
        of_sentences = np.concatenate(row_groups)[:size].tolist()
        return Draw(sentences[:size], of_sentences, n_groups, planned.n_row_groups, len(planned.files), n_bytes)

    def values(
        self, field: str, size: int, seed: int, column: str, progress: Progress, *, cut: bool
    ) -> list[str | None]:
        """What the column `field` has beside each sentence that `draw` gives with the rest; None where it is blank.

        Of the row groups that were drawn this column is read, once, and of no others.
        """
        drawing = _Drawing(seed, column, cut)
        storage = self._storage.below(drawing.digest)
        values: list[str | None] = []
        for number, planned in enumerate(self._plan(drawing, progress)):
            name = f"values-{hashlib.sha256(field.encode()).hexdigest()[:16]}-{number:06}"
            kept = storage.table(name)
            if kept is None:
                stage = f"Reading {self.repo} again:"
                table, _ = self._round(planned.groups, number, drawing, stage, progress)
                found, n_bytes = self._values(field, table, progress)
                kept = pa.table({"value": pa.array(found, pa.string())}), n_bytes
                storage.keep_table(name, *kept)
            values += kept[0]["value"].to_pylist()
            if len(values) >= size:
                break
        return values[:size]

    def _values(self, field: str, table: pa.Table, progress: Progress) -> tuple[list[str | None], int]:
        """What another column has beside the sentences of a round, and how many bytes it took to read it."""
        row_groups, rows = table["row_group"].to_numpy(), table["row"].to_numpy()
        reader = self.reader
        of_groups = {RowGroup.of(id): np.flatnonzero(row_groups == id) for id in np.unique(row_groups).tolist()}  # noqa: A001
        footers = self._footers(sorted({group.file for group in of_groups}), progress)
        sizes = {file: group_sizes(footer, field, self.repo, is_field=True) for file, footer in footers.items()}
        for group in of_groups:
            checked_group_size(sizes[group.file][group.number], self._limits.group_bytes, self.repo)
        places = {group: np.unique(rows[at], return_inverse=True) for group, at in of_groups.items()}
        progress.begin(f"Reading “{printable(field)}” of {self.repo}", len(of_groups), unit="row groups")
        found = reader.values({group: rows for group, (rows, _) in places.items()}, footers, field, progress)
        values = np.full(len(rows), None, object)
        for (group, at), (of_rows, _) in zip(of_groups.items(), found, strict=True):
            values[at] = np.array(of_rows, object)[places[group][1]]
        return values.tolist(), sum(n_bytes for _, n_bytes in found)

    def _plan(self, drawing: _Drawing, progress: Progress) -> Iterator[_Round]:
        """What every round is made of."""
        n_known = 0
        looked_into: set[int] = set()
        limits, seed = self._limits, drawing.seed
        for window, parts in enumerate(windows([file.size for file in self.files], seed, limits.files_at_once)):
            footers = self._footers(sorted({file for file, *_ in parts}), progress)
            sizes = {file: group_sizes(footer, drawing.column, self.repo) for file, footer in footers.items()}
            groups = [group for part in parts for group in row_groups_of(part, len(sizes[part[0]]), seed)]
            n_known += len(groups)
            looked_into |= footers.keys()

            def size_of(group: RowGroup) -> tuple[int, int]:
                n_bytes = checked_group_size(sizes[group.file][group.number], limits.group_bytes, self.repo)  # noqa: B023
                return footers[group.file].row_group(group.number).num_rows, n_bytes  # noqa: B023

            for picked in filled_rounds(groups, size_of, np.random.RandomState([seed, window, 0]), limits):
                yield _Round(picked, n_known, frozenset(looked_into))

    def _round(
        self, groups: Sequence[RowGroup], number: int, drawing: _Drawing, stage: str, progress: Progress
    ) -> tuple[pa.Table, int]:
        """The sentences of a round in random order, with the row group and the row of each; and the bytes read for it.

        stage: what `progress` is told where they have to be read.
        """
        storage, name = self._storage.below(drawing.digest), f"round-{number:06}"
        if kept := storage.table(name):
            return kept
        reader = self.reader
        footers = self._footers(sorted({group.file for group in groups}), progress)
        progress.begin(stage, len(groups), unit="row groups")
        of_groups = reader.texts(groups, footers, drawing.column, progress)
        texts = [
            (text, group.id, row) for group, (found, _) in zip(groups, of_groups, strict=True) for row, text in found
        ]
        random = np.random.RandomState([drawing.seed, number])
        texts = [texts[index] for index in random.permutation(len(texts))]
        found = [
            (piece, group, row)
            for text, group, row in texts
            for piece in segmentation.sentences([text], cut=drawing.cut)
        ]
        if drawing.cut:
            found = [found[index] for index in random.permutation(len(found))]
        columns = [*zip(*found, strict=True)] or [(), (), ()]
        schema = pa.schema({"sentence": pa.large_string(), "row_group": pa.int64(), "row": pa.int64()})
        kept = pa.table([*map(list, columns)], schema=schema), sum(n_bytes for _, n_bytes in of_groups)
        storage.keep_table(name, *kept)
        return kept

    def footer(self, progress: Progress) -> pq.FileMetaData:
        """That of the largest file, as which all others are taken to be."""
        return self._footers([self.largest], progress)[self.largest]

    def _footers(self, files: Sequence[int], progress: Progress) -> dict[int, pq.FileMetaData]:
        """The footers of files."""
        missing = [file for file in files if self._storage.footer(file) is None]
        if missing:
            self.reader.footers(missing, progress, self._storage.keep_footer)
        return {file: self._storage.footer(file) for file in files}

    @property
    def reader(self) -> Reader:
        """What reads its files on the Hub."""
        if self._reader is None:
            raise NotKeptError
        return self._reader

    @property
    def largest(self) -> int:
        """Number of the largest file."""
        return max(range(len(self.files)), key=lambda index: self.files[index].size)


def open_split(selection: Selection, folder: Path, progress: Progress, *, online: bool) -> tuple[Split, Corpus]:
    """The split that the user selected, or the dataset's default, and what is known of it.

    What is kept of it is in `folder`. Raises NotDownloadedError unless `online`, CorpusError and CancelledError.
    """
    if resembles_upload(selection.corpus):
        raise not_here(selection.corpus)
    refuse_reading(selection)
    base, _, revision = selection.corpus.partition("@")
    entry = CORPORA.get(base)
    entry = entry if isinstance(entry, Dataset) else None
    repo = entry.repo if entry else base
    wanted = selection.configuration or (entry.configuration if entry else "")
    try:
        try:
            listing = open_listing(folder, repo, revision, wanted, progress, online=online)
        except CorpusError as error:
            raise CorpusError(f"{error}{hub.suggestion(base, CORPORA)}") from error
        configuration = selection.configuration or (wanted if wanted in listing.splits else listing.default)
        split_name = selection.split
        if entry and not split_name and entry.split in listing.splits.get(configuration, {}):
            split_name = entry.split
        split = Split(listing, configuration, split_name, folder, online=online)
        columns = split.columns(progress)
        column = selection.column or (entry.column if entry and entry.column in columns else next(iter(columns)))
        if column not in columns:
            raise CorpusError(f"{repo} has no column “{printable(column)}” that holds text. Choose {listed(columns)}.")
        cut, footer = selection.segmentation, split.footer(progress)
        n_about = round(footer.num_rows * split.n_bytes / max(1, split.files[split.largest].size))
        if cut is Segmentation.AUTO:
            cut = segmentation.chosen_for(split.mean_characters(column, progress))
        fields = tuple(field for field in fields_of(footer, split.repo) if field != column)
    except NotKeptError:
        raise not_downloaded(selection.corpus) from None
    if cut is Segmentation.SENTENCES:
        n_about = round(n_about * max(1.0, columns[column] / _SENTENCE_BYTES))
    version = segmentation.VERSION if cut is Segmentation.SENTENCES else ""
    corpus = Corpus(
        Selection(selection.corpus, split.configuration, split.split, column, cut),
        label(selection.corpus),
        hashlib.sha256(json.dumps([split.fingerprint, column, version, DRAWING]).encode()).hexdigest(),
        None,
        f"{base}@{listing.commit}",
        tuple(listing.splits),
        tuple(listing.splits[split.configuration]),
        tuple(columns),
        fields=fields,
        n_bytes=split.n_bytes,
        n_about=n_about,
    )
    return split, corpus
