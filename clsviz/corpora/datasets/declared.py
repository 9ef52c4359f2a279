"""Which Parquet files a dataset of the Hugging Face Hub declares, for which configuration and split.

They are the dataset's own where it has Parquet files; otherwise those that the Hub converts it to. A loading script
never runs.
"""

import mimetypes
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from fsspec.utils import glob_translate

from clsviz import hub
from clsviz.corpora.datasets.listing import Listing
from clsviz.errors import CorpusError
from clsviz.hub import File, Repository
from clsviz.progress import Progress, interruptible
from clsviz.settings import is_name

_CONVERSION = "refs/convert/parquet"


_CONVERTED = re.compile(r"(?P<configuration>[^/]+)/(?P<split>[^/]+)/\d{4,}\.parquet")


_NOT_DATA = {
    *("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json"),
}
"""Files that describe a dataset."""


_OTHER_FORMATS = {
    *(".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".txt", ".conll", ".conllu", ".xml", ".eval"),
    *(".tar", ".zip", ".h5", ".hdf5", ".lance", ".vortex", ".pdf", ".md", ".toml"),
}
"""Of data that is not in Parquet files; the media types are in Python's table."""


_SPLIT = re.compile(r"\w+(\.\w+)*")


_SHARD = re.compile(r"data/(?P<split>[^/]*)-\d{5}-of-\d{5}[^/]*\.[^/]*")


_SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""What in a path names a split, as the Hub's documentation has it."""


_SEPARATORS = "[-._ 0-9]"


_FOLDER_PATTERNS = (
    *("**/{word}/**", f"**/{{word}}{_SEPARATORS}*/**"),
    *(f"**/*{_SEPARATORS}{{word}}/**", f"**/*{_SEPARATORS}{{word}}{_SEPARATORS}*/**"),
)


_FILE_PATTERNS = (f"**/{{word}}{_SEPARATORS}*", f"**/*{_SEPARATORS}{{word}}{_SEPARATORS}*")


@dataclass(frozen=True)
class _Configuration:
    """A configuration that a dataset's card declares: patterns of paths below `folder`, by split."""

    name: str
    folder: str
    patterns: dict[str, list[str]]
    is_default: bool


def list_dataset(repo: str, revision: str, progress: Progress) -> Listing:
    """Ask the Hub what the dataset declares at `revision`; "" is its main branch.

    Raises CorpusError where there is no such dataset or it has no Parquet files, and CancelledError.
    """
    progress.begin(f"Looking for {repo} on the Hugging Face Hub")
    repository = _open(repo, revision or None, progress)
    splits, default = _converted(repository), ""
    is_conversion = bool(splits)
    if not splits:
        splits, default = _declared(repository, progress)
    if not splits:
        if revision:
            raise CorpusError(
                f"{repo} has no Parquet files at its revision “{revision}”. Leave out the @ and what follows it to "
                "read the Hub's conversion, or download the file you want and choose it instead."
            )
        try:
            repository = _open(repo, _CONVERSION, progress)
        except hub.NoRevisionError:
            raise CorpusError(
                f"{repo} has no Parquet files, or its card does not say which they are, and the Hugging Face Hub has "
                "not converted it to Parquet. Download the file you want and choose it instead."
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


def _open(repo: str, revision: str | None, progress: Progress) -> Repository:
    return interruptible(lambda: hub.open_repository(repo, "dataset", revision), progress)


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


def _declared(repository: Repository, progress: Progress) -> tuple[dict[str, dict[str, list[File]]], str]:
    """Parquet files by configuration and split, as the card or else the files' names tell, and the default.

    Nothing where the dataset is in another format, comes with a loading script, or has a card that makes no sense.
    """
    if any(file.path == f"{PurePosixPath(repository.name).name}.py" for file in repository.files):
        return {}, ""
    try:
        card = hub.read_card(repository, progress)
        configurations = [_configuration(entry, repository.files) for entry in card.get("configs") or []]
        default = _default(configurations, card)
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}, ""
    configurations = configurations or [_Configuration("default", "", _usual_patterns(repository.files), False)]
    found = [(declared.name, _files(declared, repository.files)) for declared in configurations]
    if not _is_parquet(found[0][1]):  # the first tells the format of all
        return {}, ""
    splits: dict[str, dict[str, list[File]]] = {}
    for name, files_of in found:
        parquet = {split: [f for f in files if f.path.endswith(".parquet")] for split, files in files_of.items()}
        if any(parquet.values()):
            splits[name] = {split: files for split, files in parquet.items() if files}
    return splits, default


def _configuration(entry: dict[str, Any], files: Sequence[File]) -> _Configuration:
    """A configuration as the card's `configs` describe it; raises one of several errors where it makes no sense."""
    folder = str(entry.get("data_dir") or "").strip("/")
    below = f"{folder}/" if folder else ""
    declared = entry.get("data_files")
    if declared is None:
        inside = [File(file.path.removeprefix(below), 0, "") for file in files if file.path.startswith(below)]
        patterns = _usual_patterns(inside)
    elif isinstance(declared, str):
        patterns = {"train": [declared]}
    elif all(isinstance(pattern, str) for pattern in declared):
        patterns = {"train": list(declared)}
    else:
        paths = [(str(item["split"]), item["path"]) for item in declared]
        patterns = {split: [path] if isinstance(path, str) else list(map(str, path)) for split, path in paths}
        if len(patterns) < len(paths) or not all(map(_SPLIT.fullmatch, patterns)):
            raise ValueError("its splits are named oddly")
    return _Configuration(str(entry["config_name"]), below, patterns, bool(entry.get("default")))


def _default(configurations: Sequence[_Configuration], card: dict[str, Any]) -> str:
    """The configuration to use if the user names none, or ""; raises ValueError where the card marks several."""
    marked = [declared.name for declared in configurations if declared.is_default or declared.name == "default"]
    if len(marked) > 1:
        raise ValueError("several configurations are the default")
    if marked or len(configurations) == 1:
        return (marked or [configurations[0].name])[0]
    described = card.get("dataset_info") or []
    described = described if isinstance(described, list) else [described]
    return str(described[0].get("config_name") or "default") if len(described) == 1 else ""


def _usual_patterns(files: Iterable[File]) -> dict[str, list[str]]:
    """Patterns of paths by split where the card has none: by the names of shards, of folders, of files, or all of them.

    https://huggingface.co/docs/datasets/repository_structure
    """
    paths = [file.path for file in files if _may_be_data(file.path)]
    shards = {match["split"] for path in paths if (match := _SHARD.fullmatch(path))}
    if shards:
        usual = [split for split in _SPLIT_WORDS if split in shards]
        return {
            split: [f"data/{split}-{'[0-9]' * 5}-of-{'[0-9]' * 5}*.*"]
            for split in usual + sorted(shards - set(usual))
            if _SPLIT.fullmatch(split)
        }
    for patterns in (_FOLDER_PATTERNS, _FILE_PATTERNS):
        by_split = {
            split: [pattern.format(word=word) for word in words for pattern in patterns]
            for split, words in _SPLIT_WORDS.items()
        }
        if found := {split: patterns for split, patterns in by_split.items() if _matching(paths, patterns)}:
            return found
    return {"train": ["**"]}


def _files(declared: _Configuration, files: Sequence[File]) -> dict[str, list[File]]:
    """The files of every split of a configuration, by path."""
    by_path = {file.path: file for file in sorted(files, key=lambda file: file.path)}
    found = {
        split: _matching(by_path, [declared.folder + pattern.removeprefix("./") for pattern in patterns])
        for split, patterns in declared.patterns.items()
    }
    return {split: [by_path[path] for path in paths] for split, paths in found.items() if paths}


def _matching(paths: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """The paths that match any of the patterns, without hidden files and those that describe the dataset."""
    matches = [re.compile(glob_translate(pattern)).fullmatch for pattern in patterns]
    return [path for path in paths if _may_be_data(path) and any(match(path) for match in matches)]


def _may_be_data(path: str) -> bool:
    parts = path.split("/")
    return parts[-1] not in _NOT_DATA and not any(part.startswith((".", "__")) for part in parts)


def _is_parquet(splits: dict[str, list[File]]) -> bool:
    """Whether in every split no other format of data is commoner than Parquet."""
    counts = [Counter(PurePosixPath(file.path).suffix.lower() for file in files) for files in splits.values()]
    return bool(counts) and all(
        count[".parquet"] >= max([1, *(n for suffix, n in count.items() if _is_other_format(suffix))])
        for count in counts
    )


def _is_other_format(suffix: str) -> bool:
    media = mimetypes.guess_type(f"x{suffix}")[0] or ""
    return suffix in _OTHER_FORMATS or media.startswith(("image/", "audio/", "video/"))
