"""What a text dataset of the Hugging Face Hub declares: its configurations, its splits, and their Parquet files.

They are its own, or those that the Hub converts the others to, such as those that come with a loading script, which
never runs.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from clsviz import hub
from clsviz.atomic import new_file
from clsviz.errors import CorpusError
from clsviz.hub import File, Repository
from clsviz.progress import Progress, interruptible
from clsviz.settings import is_name, printable

_MOST_LISTED = 12


_TRAINING = ("train", "partial-train")
"""The split to take unless another is asked; of a large dataset the Hub converts a part only, and names it so."""


_CONVERSION = "refs/convert/parquet"


_CONVERTED = re.compile(r"(?P<configuration>[^/]+)/(?P<split>[^/]+)/\d{4,}\.parquet")


_SCHEMA = 2
"""Raise it when what is kept changes its meaning."""


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
                f"{self.repo} has no configuration “{printable(configuration)}”. Choose {listed(self.splits)}."
            )
        splits = self.splits[configuration]
        split = split or next((name for name in _TRAINING if name in splits), next(iter(splits)))
        if split not in splits:
            raise CorpusError(
                f"{self.repo} has no split “{printable(split)}” in {printable(configuration)}. Choose {listed(splits)}."
            )
        return configuration, split


def open_listing(repo: str, revision: str, folder: Path, progress: Progress, *, download: bool) -> Listing | None:
    """What the dataset declares at `revision`, "" being its main branch; kept in `folder`.

    None where it is not kept and `download` is false. Raises CorpusError.
    """
    kept = _load_listing(_listing_path(repo, revision, folder))
    if kept is not None or not download:
        return kept
    if not hub.is_id(repo):
        raise CorpusError(f"“{printable(repo)}” names no dataset. Give an id of the Hugging Face Hub, as owner/name.")
    if revision and not hub.is_revision(revision):
        raise CorpusError(
            f"{repo} has no revision “{printable(revision)}”. Name a branch, a tag or a whole commit after the @."
        )
    progress.begin(f"Looking for {repo} on the Hugging Face Hub")
    listing = interruptible(lambda: _list(repo, revision), progress)
    for name in {revision, listing.commit}:
        with new_file(_listing_path(repo, name, folder)) as temporary:
            content = json.dumps(asdict(listing)).encode()
            temporary.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
    return listing


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
                f"{repo} has no Parquet files, or its card does not say which, and the Hugging Face Hub has not "
                "converted it to them. Download the file that you want, and choose it instead."
            ) from None
        splits, is_conversion = _converted(repository), True
    splits = {
        configuration: {split: files for split, files in found.items() if is_name(split)}
        for configuration, found in splits.items()
        if is_name(configuration) and any(map(is_name, found))
    }
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

    Nothing where the dataset is of another format, or comes with a loading script.
    """
    import datasets
    from datasets.load import HubDatasetModuleFactory

    if any(file.path == f"{Path(repository.name).name}.py" for file in repository.files):
        return {}, ""  # a loading script
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # it tells a host other than the Hub
    datasets.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    with hub.reporting(repository.name, "dataset"):
        try:
            module = HubDatasetModuleFactory(repository.name, commit_hash=repository.commit).get_module()
        except Exception as error:  # of many kinds: the card is read by a library, and may hold anything
            if (cause := _network_fault(error)) is not None:
                raise cause from cause.__cause__
            if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                raise  # a full disk, say: what is there is another question
            return {}, ""  # no data at all, or such that it does not know
    if not module.module_path.endswith(".parquet"):
        return {}, ""
    splits: dict[str, dict[str, list[File]]] = {}
    for configuration in module.builder_configs_parameters.builder_configs:
        for split, patterns in (configuration.data_files or {}).items():
            folder = f"{configuration.data_dir}/" if configuration.data_dir else ""
            paths = [_relative(str(pattern), folder, repository.commit) for pattern in patterns]
            if files := _matching(repository.files, paths):
                splits.setdefault(configuration.name, {})[str(split)] = files
    return splits, module.builder_configs_parameters.default_config_name or ""


def _network_fault(error: BaseException) -> Exception | None:
    """What went wrong on the way to the Hub, if that is what made the library give up: it hides its causes."""
    import httpx2
    from huggingface_hub import errors

    seen: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        found = pending.pop()
        if found is None or any(found is other for other in seen):
            continue
        seen.append(found)
        pending += [found.__cause__, found.__context__]
        is_absence = isinstance(found, errors.EntryNotFoundError) and not isinstance(
            found, errors.LocalEntryNotFoundError
        )
        if not is_absence and isinstance(found, (httpx2.HTTPError, errors.LocalEntryNotFoundError, ConnectionError)):
            return found
    return None


def _relative(pattern: str, folder: str, commit: str) -> str:
    """A pattern of paths below the root of the repository."""
    _, marked, path = pattern.rpartition(f"@{commit}/")
    return path if marked else folder + pattern


def _matching(files: Iterable[File], patterns: Sequence[str]) -> list[File]:
    """The Parquet files that match any of the patterns, hidden ones left out."""
    from fsspec.utils import glob_translate

    matches = [re.compile(glob_translate(pattern)).fullmatch for pattern in patterns]
    found = [file for file in files if any(match(file.path) for match in matches)]
    found = [file for file in found if not any(part.startswith((".", "__")) for part in file.path.split("/"))]
    return sorted((file for file in found if file.path.endswith(".parquet")), key=lambda file: file.path)


def _listing_path(repo: str, revision: str, folder: Path) -> Path:
    return folder / f"listing-{hashlib.sha256(f'{_SCHEMA} {repo}@{revision}'.encode()).hexdigest()[:32]}.json"


def _load_listing(path: Path) -> Listing | None:
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
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


def listed(names: Iterable[str]) -> str:
    """Names of foreign origin, as many as fit into a message."""
    found = [printable(name)[:60] for name in names]
    more = len(found) - _MOST_LISTED
    return ", ".join(found[:_MOST_LISTED]) + (f" or one of {more:,} more" if more > 0 else "")
