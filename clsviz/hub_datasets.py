"""Text datasets of the Hugging Face Hub: what they declare, and a fair sample of them that leaves most unread.

Datasets are read as Parquet files: their own, or those that the Hub converts the others to, such as those that come
with a loading script, which never runs. A Parquet file is made of row groups, each of which can be read by itself.
A sample is drawn in rounds: the row groups in random order, as many as make a round, and then what is in them in random
order. Every round is kept, so that a larger sample goes on where a smaller one ended.
"""

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz import hub, segmentation, tables
from clsviz.errors import CorpusError, first_line
from clsviz.experiment import printable
from clsviz.files import new_file
from clsviz.hub import File, Repository
from clsviz.progress import Progress, interruptible

_ROUND_TEXTS = 20_000
"""Rows of a round, unless they are long: so many row groups are mixed as hold them."""
_ROUND_BYTES = 32 * 2**20
"""Of texts, unpacked, with which a round is full as well."""
_LARGEST_GROUP_BYTES = 512 * 2**20
_FILES_AT_ONCE = 16
"""Of a dataset in many files so many, chosen at random, are sampled together: each takes requests to look into."""
_READERS = 8
_CONVERSION = "refs/convert/parquet"
_CONVERTED = re.compile(r"(?P<configuration>[^/]+)/(?P<split>[^/]+)/\d{4,}\.parquet")
_SCHEMA = 1


@dataclass(frozen=True)
class Listing:
    """What a dataset declares, as of one commit.

    splits: the Parquet files of every split of every configuration. default: the configuration to take unless another
    is asked. is_conversion: whether the files are the Hub's conversion; then the commit is that of the conversion.
    """

    repo: str
    commit: str
    splits: dict[str, dict[str, list[File]]]
    default: str
    is_conversion: bool

    def choose(self, configuration: str, split: str) -> tuple[str, str]:
        """The configuration and the split meant by these names, of which "" is any; raises CorpusError."""
        configuration = configuration or self.default
        if configuration not in self.splits:
            raise CorpusError(
                f"{self.repo} has no configuration “{printable(configuration)}”. Choose {_listed(self.splits)}."
            )
        splits = self.splits[configuration]
        split = split or ("train" if "train" in splits else next(iter(splits)))
        if split not in splits:
            raise CorpusError(
                f"{self.repo} has no split “{printable(split)}” in {configuration}. Choose {_listed(splits)}."
            )
        return configuration, split


@dataclass(frozen=True)
class Draw:
    """What was drawn: sentences in random order, and what it took.

    n_row_groups: how many row groups they come from, of n_row_groups_known, those in the files looked into.
    n_bytes: read for them over the network, by this and by earlier runs. is_whole: whether the corpus has no more.
    """

    sentences: list[str]
    n_row_groups: int
    n_row_groups_known: int
    n_bytes: int
    is_whole: bool


class _Group(NamedTuple):
    """A row group of a file of the split; both by their number."""

    file: int
    number: int


class _NotKeptError(Exception):
    """What is asked for would have to be fetched."""


def open_listing(repo: str, revision: str, folder: Path, progress: Progress, *, download: bool) -> Listing | None:
    """What the dataset declares at `revision`, "" being its main branch; kept in `folder`.

    None where it is not kept and `download` is false. Raises CorpusError.
    """
    kept = _load_listing(_listing_path(repo, revision, folder))
    if kept is not None or not download:
        return kept
    if not hub.is_id(repo):
        raise CorpusError(f"“{printable(repo)}” names no dataset. Give an id of the Hugging Face Hub, as owner/name.")
    progress.begin(f"Looking for {repo} on the Hugging Face Hub")
    listing = interruptible(lambda: _list(repo, revision), progress)
    for name in {revision, listing.commit}:
        with new_file(_listing_path(repo, name, folder)) as temporary:
            temporary.write_text(json.dumps(asdict(listing)))
    return listing


class Split:
    """One split of one configuration, of which samples are drawn; what is read of it is kept in a folder of its own."""

    def __init__(self, listing: Listing, configuration: str, split: str, folder: Path) -> None:
        """Reads nothing. Raises CorpusError where the dataset has no such configuration or split."""
        self.configuration, self.split = listing.choose(configuration, split)
        self.files = listing.splits[self.configuration][self.split]
        self._listing = listing
        self._folder = folder / f"hub-{self.fingerprint[:32]}"
        self._fs: Any = None
        self._opening = threading.Lock()
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
        """The columns that hold text, likeliest first, with the mean size of a text in bytes, as the first file has it.

        None where that file's footer is not kept and `download` is false. Raises CorpusError.
        """
        try:
            (footer,) = self._footers([0], progress, download)
        except _NotKeptError:
            return None
        names = [field.name for field in footer.schema.to_arrow_schema() if tables.is_text(field.type)]
        sizes = {name: _mean_bytes(footer, name) for name in names}
        if not sizes:
            raise CorpusError(f"{self._listing.repo} has no column that holds text. Choose another dataset.")
        return {name: sizes[name] for name in sorted(sizes, key=lambda name: tables.rank(name, sizes[name]))}

    def draw(self, size: int, seed: int, column: str, progress: Progress, *, cut: bool, download: bool) -> Draw | None:
        """The first `size` sentences, or all if there are fewer, in the order that `seed` draws.

        column: one that holds text. cut: whether texts are cut into sentences. None where not all of it is kept and
        `download` is false. Raises CorpusError, and CancelledError as soon as `progress` is asked to stop: what was
        drawn by then is kept.
        """
        version = [_SCHEMA, column, segmentation.VERSION if cut else "", seed]
        folder = self._folder / hashlib.sha256(json.dumps(version).encode()).hexdigest()[:16]
        sentences: list[str] = []
        n_bytes = n_groups = n_known = 0
        plan = self._plan(seed, column, progress, download)
        try:
            for number, (picked, n_row_groups_known) in enumerate(plan):
                n_known = n_row_groups_known
                drawn = _load_round(folder / f"{number:06}.parquet")
                if drawn is None:
                    if not download:
                        return None
                    progress.begin(f"Reading {self._listing.repo}", size, len(sentences))
                    texts, n_read = interruptible(lambda: self._read(picked, column, progress), progress)  # noqa: B023
                    random = np.random.RandomState([seed, number])
                    texts = [texts[index] for index in random.permutation(len(texts))]
                    found = segmentation.sentences(texts, cut=cut)
                    drawn = [found[index] for index in random.permutation(len(found))] if cut else found, n_read
                    _keep_round(folder / f"{number:06}.parquet", *drawn)
                sentences += drawn[0]
                n_bytes += drawn[1]
                n_groups += len(picked)
                if len(sentences) >= size:
                    break
        except _NotKeptError:
            return None
        if not sentences:
            raise CorpusError(f"{self._listing.repo} holds no text in “{printable(column)}”. Choose another column.")
        n_bytes += sum(int(path.stem.rpartition("-")[2]) for path in self._folder.glob("footer-*-*.parquet"))
        return Draw(sentences[:size], n_groups, n_known, n_bytes, is_whole=len(sentences) < size)

    def _plan(self, seed: int, column: str, progress: Progress, download: bool) -> Iterator[tuple[list[_Group], int]]:
        """The row groups of every round, and how many are known then."""
        n_known = 0
        order = np.random.RandomState(seed).permutation(len(self.files))
        for start in range(0, len(order), _FILES_AT_ONCE):
            files = [int(index) for index in order[start : start + _FILES_AT_ONCE]]
            footers = dict(zip(files, self._footers(files, progress, download), strict=True))
            groups = [_Group(file, number) for file in files for number in range(footers[file].num_row_groups)]
            n_known += len(groups)
            picked: list[_Group] = []
            n_texts = n_bytes = 0
            for index in np.random.RandomState([seed, start]).permutation(len(groups)):
                group = groups[index]
                picked.append(group)
                n_texts += footers[group.file].row_group(group.number).num_rows
                n_bytes += self._checked_size(footers[group.file], group.number, column)
                if n_texts >= _ROUND_TEXTS or n_bytes >= _ROUND_BYTES:
                    yield picked, n_known
                    picked, n_texts, n_bytes = [], 0, 0
            if picked:
                yield picked, n_known

    def _read(self, groups: Sequence[_Group], column: str, progress: Progress) -> tuple[list[str], int]:
        """The texts of row groups, in their order, and how many bytes it took to read them."""

        def read(group: _Group) -> tuple[list[str], int]:
            with self._opened(group.file) as stream:
                (footer,) = self._footers([group.file], progress, download=True)
                rows = pq.ParquetFile(stream, metadata=footer).read_row_group(group.number, columns=[column])
                return [text for text in rows.column(0).to_pylist() if text], stream.n_bytes

        texts: list[str] = []
        n_bytes, done = 0, progress.done
        with ThreadPoolExecutor(_READERS) as pool, self._reporting():
            for found, n_read in pool.map(read, groups):
                texts += found
                n_bytes += n_read
                progress.advance(min(done + len(texts), progress.total))
        return texts, n_bytes

    def _checked_size(self, footer: pq.FileMetaData, group: int, column: str) -> int:
        """Bytes of a row group's texts, unpacked; raises CorpusError where they cannot be read at once."""
        try:
            size: int = _chunk(footer, group, column).total_uncompressed_size
        except LookupError:
            raise CorpusError(
                f"{self._listing.repo} has files without the column “{printable(column)}”. Choose another column."
            ) from None
        if size > _LARGEST_GROUP_BYTES:
            raise CorpusError(
                f"{self._listing.repo} is kept in row groups of {size / 1e6:,.0f} MB, of which one fills the memory. "
                "Choose another dataset."
            )
        return size

    def _footers(self, files: Sequence[int], progress: Progress, download: bool) -> list[pq.FileMetaData]:
        """What the footers of files say; raises _NotKeptError where one is not kept and `download` is false."""
        kept = {index: self._load_footer(index) for index in files}
        missing = [index for index, footer in kept.items() if footer is None]
        if missing and not download:
            raise _NotKeptError
        if missing:
            progress.begin(f"Looking into {self._listing.repo}", len(missing))
            kept |= dict(
                zip(missing, interruptible(lambda: self._fetch_footers(missing, progress), progress), strict=True)
            )
        return [kept[index] for index in files]

    def _fetch_footers(self, files: Sequence[int], progress: Progress) -> list[pq.FileMetaData]:
        def fetch(index: int) -> pq.FileMetaData:
            with self._opened(index) as stream:
                footer = pq.ParquetFile(stream).metadata
            with new_file(self._folder / f"footer-{index:06}-{stream.n_bytes}.parquet") as temporary:
                footer.write_metadata_file(temporary)
            progress.advance(min(progress.done + 1, progress.total))
            return footer

        with ThreadPoolExecutor(_READERS) as pool, self._reporting():
            return list(pool.map(fetch, files))

    def _load_footer(self, index: int) -> pq.FileMetaData | None:
        if index not in self._loaded:
            path = self._footer_path(index)
            try:
                self._loaded[index] = pq.read_metadata(path)
            except (OSError, pa.ArrowException):
                return None
        return self._loaded[index]

    def _footer_path(self, index: int) -> Path:
        """Where a footer is kept; its name also says what it took to read it."""
        return next(self._folder.glob(f"footer-{index:06}-*.parquet"), self._folder / "none")

    def _opened(self, index: int) -> "_Counted":
        """A file of the split, of which only what is read is fetched."""
        from huggingface_hub import HfFileSystem, constants

        with self._opening:
            if self._fs is None:
                self._fs = HfFileSystem(endpoint=constants.ENDPOINT, skip_instance_cache=True)
        file = self.files[index]
        path = f"datasets/{self._listing.repo}@{self._listing.commit}/{file.path}"
        return _Counted(self._fs.open(path, "rb", cache_type="none", size=file.size))

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Whatever goes wrong on the way to the texts, as one sentence of a CorpusError."""
        try:
            with hub.reporting(self._listing.repo, "dataset", self._listing.commit):
                yield
        except pa.ArrowException as error:
            raise CorpusError(
                f"{self._listing.repo} cannot be read: {printable(first_line(error))}. Choose another dataset."
            ) from error


class _Counted:
    """A file that counts the bytes that are read of it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.n_bytes = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        found: bytes = self._file.read(size)
        self.n_bytes += len(found)
        return found

    def __enter__(self) -> "_Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _list(repo: str, revision: str) -> Listing:
    """What the dataset declares, asked of the Hub."""
    repository = hub.open_repository(repo, "dataset", revision or None)
    splits, default = _converted(repository), ""
    is_conversion = bool(splits)
    if not splits:
        splits, default = _declared(repository)
    if not splits:
        if revision:
            raise CorpusError(
                f"{repo} has no Parquet files at its revision “{revision}”. Leave out what follows the @ to read the "
                "Hub's conversion, or download the file that you want and choose it instead."
            )
        try:
            repository = hub.open_repository(repo, "dataset", _CONVERSION)
        except hub.NoRevisionError:
            raise CorpusError(
                f"{repo} has no Parquet files, and the Hugging Face Hub has not converted it to them. Download the "
                "file that you want, and choose it instead."
            ) from None
        splits, is_conversion = _converted(repository), True
    if not splits:
        raise CorpusError(f"{repo} holds no data that can be read. Choose another dataset.")
    default = default if default in splits else "default" if "default" in splits else next(iter(splits))
    return Listing(repository.name, repository.commit, splits, default, is_conversion)


def _converted(repository: Repository) -> dict[str, dict[str, list[File]]]:
    """Files by configuration and split, if the repository is as the Hub's conversion leaves it."""
    splits: dict[str, dict[str, list[File]]] = {}
    for file in sorted(repository.files, key=lambda file: file.path):
        match = _CONVERTED.fullmatch(file.path)
        if match:
            splits.setdefault(match["configuration"], {}).setdefault(match["split"], []).append(file)
        elif not file.path.startswith("."):
            return {}
    return splits


def _declared(repository: Repository) -> tuple[dict[str, dict[str, list[File]]], str]:
    """Parquet files by configuration and split as the dataset's card declares them or their names tell; the default.

    None where the dataset is of another format, or comes with a loading script.
    """
    import datasets
    from datasets.load import dataset_module_factory
    from fsspec.utils import glob_translate

    if any(file.path == f"{Path(repository.name).name}.py" for file in repository.files):
        return {}, ""  # a loading script
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # it tells a host other than the Hub
    datasets.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    with hub.reporting(repository.name, "dataset"):
        try:
            module = dataset_module_factory(repository.name, revision=repository.commit)
        except (RuntimeError, datasets.exceptions.DatasetsError, FileNotFoundError):
            return {}, ""  # no data at all, or such that it does not know
    if not module.module_path.endswith(".parquet"):
        return {}, ""
    splits: dict[str, dict[str, list[File]]] = {}
    for configuration in module.builder_configs_parameters.builder_configs:
        for split, patterns in (configuration.data_files or {}).items():
            paths = [str(pattern).rpartition(f"@{repository.commit}/")[2] for pattern in patterns]
            matches = [re.compile(glob_translate(path)).fullmatch for path in paths]
            files = [file for file in repository.files if any(match(file.path) for match in matches)]
            if files:
                files.sort(key=lambda file: file.path)
                splits.setdefault(configuration.name, {})[str(split)] = files
    return splits, module.builder_configs_parameters.default_config_name or ""


def _listing_path(repo: str, revision: str, folder: Path) -> Path:
    return folder / f"listing-{hashlib.sha256(f'{_SCHEMA} {repo}@{revision}'.encode()).hexdigest()[:32]}.json"


def _load_listing(path: Path) -> Listing | None:
    try:
        kept = json.loads(path.read_bytes())
        kept["splits"] = {
            configuration: {split: [File(**file) for file in files] for split, files in splits.items()}
            for configuration, splits in kept["splits"].items()
        }
        return Listing(**kept)
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _keep_round(path: Path, sentences: list[str], n_bytes: int) -> None:
    table = pa.table({"sentence": pa.array(sentences, pa.large_string())})
    with new_file(path) as temporary:
        pq.write_table(table.replace_schema_metadata({"n_bytes": str(n_bytes)}), temporary, write_page_checksum=True)


def _load_round(path: Path) -> tuple[list[str], int] | None:
    """The sentences of a round that is kept, and what it took to read them; None where it is missing or damaged."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        return table["sentence"].to_pylist(), int(table.schema.metadata[b"n_bytes"])
    except (OSError, pa.ArrowException, LookupError, ValueError, TypeError):
        return None


def _chunk(footer: pq.FileMetaData, group: int, column: str) -> Any:
    """What the footer says of a column in a row group; raises LookupError where there is none."""
    chunks = (footer.row_group(group).column(index) for index in range(footer.num_columns))
    found = next((chunk for chunk in chunks if chunk.path_in_schema == column), None)
    if found is None:
        raise LookupError(column)
    return found


def _mean_bytes(footer: pq.FileMetaData, column: str) -> float:
    """Of a column's values, unpacked."""
    chunks = [_chunk(footer, group, column) for group in range(min(footer.num_row_groups, 100))]
    n_bytes, n_values = (sum(getattr(c, name) for c in chunks) for name in ("total_uncompressed_size", "num_values"))
    return float(n_bytes / max(1, n_values))


def _listed(names: dict[str, Any]) -> str:
    """Names of foreign origin, as many as fit into a message."""
    shown = [printable(name)[:60] for name in list(names)[:12]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" or one of {more:,} more" if more > 0 else "")
