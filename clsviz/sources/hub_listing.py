"""What a dataset of the Hugging Face Hub declares: its configurations, its splits, and their Parquet files.

They are the dataset's own where it has Parquet files; otherwise those that the Hub converts it to. A loading script
never runs.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from clsviz.atomic import read_file, write_file
from clsviz.errors import CorpusError
from clsviz.progress import Progress, interruptible
from clsviz.settings import is_name, printable
from clsviz.sources import hub
from clsviz.sources.hub import File, Repository

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
    folder: Path, repo: str, revision: str, configuration: str, progress: Progress, *, online: bool
) -> Listing:
    """What the dataset declares at `revision`, "" being its main branch, as it is kept in `folder` or at the Hub.

    configuration: the one that is wanted; its files, or if it does not exist the default's, are in the listing. Raises
    NotKeptError unless `online`, CorpusError where there is no such dataset or it has no Parquet files, and
    CancelledError.
    """
    kept = _load(_path(folder, repo, revision))
    if kept is not None and kept.splits[configuration if configuration in kept.splits else kept.default]:
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
    listing = _fetch(repo, kept.commit if kept else revision, configuration, progress)
    if kept is not None:
        listing = replace(
            listing, default=kept.default, splits=listing.splits | {k: v for k, v in kept.splits.items() if v}
        )
    content = json.dumps(asdict(listing)).encode()
    for name in {revision, listing.commit}:
        write_file(_path(folder, repo, name), hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return listing


def forget_listing(folder: Path, repo: str, revision: str) -> None:
    """Forget what the dataset declared at `revision`, so that the Hub is asked again."""
    _path(folder, repo, revision).unlink(missing_ok=True)


def _path(folder: Path, repo: str, revision: str) -> Path:
    return folder / f"listing-{hashlib.sha256(f'{_SCHEMA} {repo}@{revision}'.encode()).hexdigest()[:32]}.json"


def _load(path: Path) -> Listing | None:
    """The listing that is kept; None if there is none or it is damaged."""
    try:
        digest, _, content = read_file(path).partition(b"\n")
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


def _fetch(repo: str, revision: str, configuration: str, progress: Progress) -> Listing:
    """Ask the Hub what the dataset declares."""

    def look(revision: str) -> Repository:
        return interruptible(lambda: hub.open_repository(repo, "dataset", revision or None), progress)

    progress.begin(f"Looking for {repo} on the Hugging Face Hub")
    repository = look(revision)
    splits, default = _converted(repository), ""
    is_conversion = bool(splits)
    if not splits:
        splits, default = _declared(repository, configuration, progress)
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
    repository: Repository, configuration: str, progress: Progress
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
            wanted = configuration if configuration in names else default
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

    with hub.reporting(repository.name, "dataset", repository.commit):
        return interruptible(look, progress, most_seconds=_MOST_SECONDS)
