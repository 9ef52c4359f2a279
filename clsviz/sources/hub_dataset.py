"""Datasets on the Hugging Face Hub: their splits, and the samples drawn from them.

Parquet files are made of row groups, each of which can be read by itself. A sample is drawn in rounds: the row groups
in random order, as many as fill a round, and then their sentences in random order. Every round is kept, so that a
larger sample continues where a smaller one ended.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import new_file, open_regular
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress, interruptible
from clsviz.settings import Segmentation, is_name, printable
from clsviz.sources import hub, segmentation
from clsviz.sources.catalogue import CORPORA, Corpus, Dataset, label, not_downloaded, refuse_reading, resembles_upload
from clsviz.sources.hub import File, Repository
from clsviz.sources.hub_rounds import (
    DRAWING,
    SCHEMA,
    KeptRound,
    Limits,
    Reader,
    Round,
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

_SCHEMA = 2
"""Increase it when the meaning of what is kept changes."""

_CONVERSION = "refs/convert/parquet"

_CONVERTED = re.compile(r"(?P<configuration>[^/]+)/(?P<split>[^/]+)/\d{4,}\.parquet")

_TRAINING = ("train", "partial-train")
"""The splits to prefer; of a large dataset the Hub converts only a part, and names it so."""

_MAX_LISTED = 12

_MOST_SECONDS = 30.0
"""How long the library may look into a dataset: where the Hub stalls, it would for minutes."""


class NotKeptError(Exception):
    """What is wanted is not on this machine and would have to be fetched."""


@dataclass(frozen=True)
class Listing:
    """What a dataset declares at one commit.

    splits: the Parquet files of every split of every configuration; none of those not asked for yet. default: the
    configuration to use if the user names none. is_conversion: True if the files are the Hub's conversion; `commit` is
    then that of the conversion.
    """

    repo: str
    commit: str
    splits: dict[str, dict[str, list[File]]]
    default: str
    is_conversion: bool

    def choose(self, configuration: str, split: str) -> tuple[str, str]:
        """The configuration and split with these names, "" being the default; raises CorpusError if there is none."""
        configuration = configuration or self.default
        if configuration not in self.splits:
            raise CorpusError(
                f"{self.repo} has no configuration “{printable(configuration)}”. Choose {listed(self.splits)}."
            )
        splits = self.splits[configuration]
        split = split or next((name for name in _TRAINING if name in splits), next(iter(splits)))
        if split not in splits:
            raise CorpusError(
                f"{self.repo} has no split “{printable(split)}” in {printable(configuration)}. Choose {listed(splits)}."
            )
        return configuration, split


def listed(names: Iterable[str]) -> str:
    """Names from outside, as many as fit into a message."""
    found = [printable(name)[:60] for name in names]
    more = len(found) - _MAX_LISTED
    return ", ".join(found[:_MAX_LISTED]) + (f" or one of {more:,} more" if more > 0 else "")


def open_listing(
    folder: Path, repo: str, revision: str, configurations: Iterable[str], progress: Progress, *, online: bool
) -> Listing:
    """What the dataset declares at `revision`, "" being its main branch, as it is kept in `folder` or at the Hub.

    configurations: those that are wanted, the first that exists, else the default; its files are in the listing. Raises
    NotKeptError unless `online`, CorpusError where there is no such dataset or it has no Parquet files, and
    CancelledError.
    """
    kept = _load(_path(folder, repo, revision))
    if kept is not None:
        wanted = next((name for name in configurations if name in kept.splits), kept.default)
        if kept.splits[wanted]:
            return kept
    if not online:
        raise NotKeptError
    if not hub.is_id(repo):
        raise CorpusError(
            f"“{printable(repo)}” is not the name of a dataset. Give an id from the Hugging Face Hub, as in owner/name."
        )
    if revision and not hub.is_revision(revision):
        raise CorpusError(
            f"{repo} has no revision “{printable(revision)}”. Name a branch, a tag or a full commit after the @."
        )
    listing = _fetch(repo, kept.commit if kept else revision, configurations, progress)
    if kept is not None:
        listing = replace(
            listing, default=kept.default, splits=listing.splits | {k: v for k, v in kept.splits.items() if v}
        )
    content = json.dumps(asdict(listing)).encode()
    for name in {revision, listing.commit}:
        with new_file(_path(folder, repo, name)) as temporary:
            temporary.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return listing


def forget_listing(folder: Path, repo: str, revision: str) -> None:
    """Forget what the dataset declared at `revision`, so that the Hub is asked again."""
    _path(folder, repo, revision).unlink(missing_ok=True)


def _path(folder: Path, repo: str, revision: str) -> Path:
    return folder / f"listing-{hashlib.sha256(f'{_SCHEMA} {repo}@{revision}'.encode()).hexdigest()[:32]}.json"


def _load(path: Path) -> Listing | None:
    """The listing that is kept; None if there is none or it is damaged."""
    try:
        with open_regular(path) as file:
            digest, _, content = file.read().partition(b"\n")
        if digest.decode() != hashlib.sha256(content).hexdigest():
            return None
        kept = json.loads(content)
        kept["splits"] = {
            configuration: {split: [File(**file) for file in files] for split, files in splits.items()}
            for configuration, splits in kept["splits"].items()
        }
        return Listing(**kept)
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _fetch(repo: str, revision: str, configurations: Iterable[str], progress: Progress) -> Listing:
    """Ask the Hub what the dataset declares."""

    def look(revision: str) -> Repository:
        return interruptible(lambda: hub.open_repository(repo, "dataset", revision or None), progress)

    progress.begin(f"Looking for {repo} on the Hugging Face Hub")
    repository = look(revision)
    splits, default = _converted(repository), ""
    is_conversion = bool(splits)
    if not splits:
        splits, default = _declared(repository, configurations, progress)
    if not splits:
        if revision:
            raise CorpusError(
                f"{repo} has no Parquet files at its revision “{revision}”. Leave out the @ and what follows it to "
                "read the Hub's conversion, or download the file you want and choose it instead."
            )
        try:
            repository = look(_CONVERSION)
        except hub.NoRevisionError:
            raise CorpusError(
                f"{repo} has no Parquet files, or its card does not say which they are, and the Hugging Face Hub has "
                "not converted it to Parquet. Download the file you want and choose it instead."
            ) from None
        splits, is_conversion = _converted(repository), True
    splits = {
        configuration: {split: files for split, files in found.items() if is_name(split)}
        for configuration, found in splits.items()
        if is_name(configuration) and (not found or any(map(is_name, found)))
    }
    if not splits:
        raise CorpusError(f"{repo} holds no data that can be read. Choose another dataset.")
    default = default if default in splits else "default" if "default" in splits else next(iter(splits))
    return Listing(repository.name, repository.commit, splits, default, is_conversion)


def _converted(repository: Repository) -> dict[str, dict[str, list[File]]]:
    """Files by configuration and split, if the repository looks as the Hub's conversion leaves it."""
    splits: dict[str, dict[str, list[File]]] = {}
    for file in sorted(repository.files, key=lambda file: file.path):
        match = _CONVERTED.fullmatch(file.path)
        if match:
            splits.setdefault(match["configuration"], {}).setdefault(match["split"], []).append(file)
        elif not file.path.startswith("."):
            return {}
    return splits


def _declared(
    repository: Repository, configurations: Iterable[str], progress: Progress
) -> tuple[dict[str, dict[str, list[File]]], str]:
    """Parquet files of one configuration by split, the names of the others, and the default; as the library finds them.

    Nothing where the dataset is in another format, comes with a loading script, or has a card that makes no sense.
    """
    by_path = {file.path: file for file in repository.files}
    script = f"{PurePosixPath(repository.name).name}.py"
    if script in by_path or not any(path.endswith(".parquet") for path in by_path):
        return {}, ""

    def look() -> tuple[dict[str, dict[str, list[File]]], str]:
        import datasets
        import httpx2
        import yaml
        from huggingface_hub.errors import EntryNotFoundError, OfflineModeIsEnabled

        path = f"hf://datasets/{repository.name}"  # a plain name may open a folder of this machine
        names: list[str] = []
        try:
            try:
                builder = datasets.load_dataset_builder(path, revision=repository.commit)
                default = builder.config.name
                names = [*builder.builder_configs]
            except ValueError:  # several configurations, none of which is the default
                names = datasets.get_dataset_config_names(path, revision=repository.commit)
                default = "default" if "default" in names else names[0]
                builder = None
            wanted = next((name for name in configurations if name in names), default)
            if builder is None or wanted != default:
                builder = datasets.load_dataset_builder(path, wanted, revision=repository.commit)
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError, yaml.YAMLError):
            return {}, ""
        except datasets.exceptions.DatasetNotFoundError:  # which it is: a gated one, or the Hub says so now
            hub.read_range(repository, next(path for path in by_path if path.endswith(".parquet")), 0, 1)
            raise
        except (OSError, httpx2.HTTPError) as error:  # of many faults the library says that there are no files
            fault: BaseException | None = error
            while fault is not None:
                is_missing = isinstance(fault, EntryNotFoundError | FileNotFoundError)
                if isinstance(fault, httpx2.HTTPError | OfflineModeIsEnabled | OSError) and not is_missing:
                    raise fault from None
                fault = fault.__cause__ or fault.__context__
            return {}, ""
        if builder.name != "parquet":
            return {}, ""
        splits: dict[str, dict[str, list[File]]] = {name: {} for name in names}
        for split, addresses in (builder.config.data_files or {}).items():
            paths = sorted(address.partition(f"@{repository.commit}/")[2] for address in addresses)
            splits[wanted][str(split)] = [by_path[path] for path in paths if path.endswith(".parquet")]
        return splits, default

    began = time.monotonic()

    class Limited(Progress):
        """Ends what takes too long."""

        def check(self) -> None:
            progress.check()
            if time.monotonic() - began > _MOST_SECONDS:
                raise TimeoutError(f"it took over {_MOST_SECONDS:.0f} s")

    with hub.reporting(repository.name, "dataset", repository.commit):
        return interruptible(look, Limited())


_SENTENCE_BYTES = 100
"""About how long a sentence of running text is."""


@dataclass(frozen=True)
class Draw:
    """What was drawn: sentences in random order, and what it took.

    row_groups: the `RowGroup.id` of each sentence; None where that was not kept.
    n_row_groups: how many row groups they come from, out of n_row_groups_known in the n_files looked into.
    n_bytes: read for them over the network, by this run and earlier ones.
    """

    sentences: list[str]
    n_row_groups: int
    n_row_groups_known: int
    n_files: int
    n_bytes: int
    row_groups: list[int] | None = None


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
        return mean_sizes(self._footer(progress), self.repo)

    def fields(self, progress: Progress) -> tuple[str, ...]:
        """The columns of the largest file that have a number, a time or a short text in each row."""
        return fields_of(self._footer(progress), self.repo)

    def mean_characters(self, column: str, progress: Progress) -> float:
        """Mean length of the first texts of a column of the largest file.

        The texts are read for it, because the sizes in a footer count a repeated text once.
        """
        mean = self._storage.mean_characters(column)
        if mean is None:
            reader = self._online()
            mean, n_bytes = reader.mean_characters(self._largest, self._footer(progress), column, progress)
            self._storage.keep_mean_characters(column, mean, n_bytes)
        return mean

    def n_texts_about(self, progress: Progress) -> int:
        """About how many rows all its files have, if all were like the largest."""
        n_rows: int = self._footer(progress).num_rows
        return round(n_rows * self.n_bytes / max(1, self.files[self._largest].size))

    def check_room(self, files: Sequence[int]) -> None:
        """Raise CorpusError if the disk has no room for the files with these numbers."""
        self._online().check_room(files)

    def all_texts(self, file: int, column: str, progress: Progress) -> Iterator[list[str]]:
        """The texts of the file with this number, in their order, some at a time. All of it is fetched first."""
        return self._online().all_texts(file, column, progress)

    def draw(self, size: int, seed: int, column: str, progress: Progress, *, cut: bool) -> Draw:
        """The first `size` sentences, or all if there are fewer, in the order that `seed` draws.

        column: one that holds text. cut: whether texts are cut into sentences. Whatever was drawn before an error or a
        cancellation is kept.
        """
        drawing = _Drawing(seed, column, cut)
        storage = self._storage.below(drawing.digest)
        sentences: list[str] = []
        row_groups: list[NDArray[np.int64] | None] = []
        n_bytes = n_groups = 0
        planned = Round([], 0, frozenset())
        for number, planned in enumerate(self._plan(drawing, progress)):
            kept = storage.round(number)
            if kept is None:
                self._online()
                stage = f"Reading {self.repo}, after {len(sentences):,} of {size:,} sentences:"
                progress.begin(stage, len(planned.groups), unit="row groups")
                kept = self._read(planned.groups, number, drawing, progress)
                storage.keep_round(number, kept)
            sentences += kept.sentences
            row_groups.append(kept.row_groups)
            n_bytes += kept.n_bytes
            n_groups += len(planned.groups)
            if len(sentences) >= size:
                break
        if not sentences:
            raise CorpusError(f"{self.repo} holds no text in “{printable(column)}”. Choose another column.")
        n_bytes += self._storage.bytes_looked_into(planned.files)
        known = [groups for groups in row_groups if groups is not None]
        of_sentences = np.concatenate(known)[:size].tolist() if len(known) == len(row_groups) else None
        return Draw(sentences[:size], n_groups, planned.n_row_groups, len(planned.files), n_bytes, of_sentences)

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
            found = storage.values(field, number)
            if found is None:
                kept = storage.round(number)
                if kept is None or kept.row_groups is None or kept.rows is None:  # of an earlier version
                    kept = self._read(planned.groups, number, drawing, progress)
                    storage.keep_round(number, kept)
                found, n_bytes = self._values(field, kept, progress)
                storage.keep_values(field, number, found, n_bytes)
            values += found
            if len(values) >= size:
                break
        return values[:size]

    def _values(self, field: str, kept: KeptRound, progress: Progress) -> tuple[list[str | None], int]:
        """What another column has beside the sentences of a round, and how many bytes it took to read it."""
        assert kept.row_groups is not None  # with its rows
        assert kept.rows is not None
        reader = self._online()
        of_groups = {
            RowGroup.of(group): np.flatnonzero(kept.row_groups == group)
            for group in np.unique(kept.row_groups).tolist()
        }
        footers = self._footers(sorted({group.file for group in of_groups}), progress)
        for file, footer in footers.items():
            sizes = group_sizes(footer, field, self.repo, is_field=True)
            for group in of_groups:
                if group.file == file:
                    checked_group_size(sizes[group.number], self._limits.group_bytes, self.repo)
        places = {group: np.unique(kept.rows[at], return_inverse=True) for group, at in of_groups.items()}
        progress.begin(f"Reading “{printable(field)}” of {self.repo}", len(of_groups), unit="row groups")
        rows = {group: rows for group, (rows, _) in places.items()}
        found = reader.values(rows, footers, field, progress)
        values = np.full(len(kept.rows), None, object)
        for (group, at), (of_rows, _) in zip(of_groups.items(), found, strict=True):
            values[at] = np.array(of_rows, object)[places[group][1]]
        return values.tolist(), sum(n_bytes for _, n_bytes in found)

    def _plan(self, drawing: _Drawing, progress: Progress) -> Iterator[Round]:
        """What every round is made of."""
        n_known = 0
        files: set[int] = set()
        limits, seed = self._limits, drawing.seed
        for window, parts in enumerate(windows([file.size for file in self.files], seed, limits.files_at_once)):
            footers = self._footers(sorted({part.file for part in parts}), progress)
            sizes = {file: group_sizes(footer, drawing.column, self.repo) for file, footer in footers.items()}
            groups = [
                RowGroup(part.file, number)
                for part in parts
                for number in row_groups_of(part, len(sizes[part.file]), seed)
            ]
            n_known += len(groups)
            files |= footers.keys()

            def size_of(group: RowGroup) -> tuple[int, int]:
                n_bytes = checked_group_size(sizes[group.file][group.number], limits.group_bytes, self.repo)  # noqa: B023
                return footers[group.file].row_group(group.number).num_rows, n_bytes  # noqa: B023

            for picked in filled_rounds(groups, size_of, np.random.RandomState([seed, window, 0]), limits):
                yield Round(picked, n_known, frozenset(files))

    def _read(self, groups: Sequence[RowGroup], number: int, drawing: _Drawing, progress: Progress) -> KeptRound:
        """The sentences of a round in random order."""
        footers = self._footers(sorted({group.file for group in groups}), progress)
        of_groups = self._online().texts(groups, footers, drawing.column, progress)
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
        row_groups = np.fromiter((group for _, group, _ in found), np.int64, len(found))
        rows = np.fromiter((row for *_, row in found), np.int64, len(found))
        n_bytes = sum(n_bytes for _, n_bytes in of_groups)
        return KeptRound([sentence for sentence, *_ in found], row_groups, n_bytes, rows)

    def _footer(self, progress: Progress) -> pq.FileMetaData:
        """That of the largest file."""
        return self._footers([self._largest], progress)[self._largest]

    def _footers(self, files: Sequence[int], progress: Progress) -> dict[int, pq.FileMetaData]:
        """The footers of files."""
        missing = [file for file in files if self._storage.footer(file) is None]
        if missing:
            self._online().footers(missing, progress, self._storage.keep_footer)
        return {file: self._storage.footer(file) for file in files}

    def _online(self) -> Reader:
        if self._reader is None:
            raise NotKeptError
        return self._reader

    @property
    def _largest(self) -> int:
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
            listing = open_listing(folder, repo, revision, [wanted], progress, online=online)
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
        cut, n_about = selection.segmentation, split.n_texts_about(progress)
        if cut is Segmentation.AUTO:
            cut = segmentation.chosen_for(split.mean_characters(column, progress))
        fields = tuple(field for field in split.fields(progress) if field != column)
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
