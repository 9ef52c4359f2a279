"""The user's cache of the Hub, which other programs share: what it holds, and where."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.file_download import repo_folder_name

from clsviz.atomic import new_file
from clsviz.errors import StoreError
from clsviz.hub.failures import reporting
from clsviz.hub.repository import File, Repository

DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A Git blob's SHA-1, or the SHA-256 of a large file."""


def cached_folder(name: str, revision: str | None, paths: Iterable[str]) -> Path | None:
    """The cache's folder with a model's files at `revision`, if any of `paths` is in it."""
    with reporting(name, "model"):
        for path in paths:
            found = huggingface_hub.try_to_load_from_cache(
                name, path, revision=revision, cache_dir=constants.HF_HUB_CACHE
            )
            if isinstance(found, str):
                return Path(found).parents[path.count("/")]
    return None


def remember(repository: Repository, revision: str | None) -> None:
    """Note in the cache, as its library does, which commit `revision` means, so that files are found by it."""
    revision = revision or "main"
    if revision != repository.commit:
        with (
            contextlib.suppress(StoreError),  # the files are then found by their commit only
            new_file(repository_folder(repository) / "refs" / revision) as temporary,
        ):
            temporary.write_text(repository.commit)


def note_absence(repository: Repository, path: str) -> None:
    """Note in the cache, as its library does, that the repository's commit has no such file."""
    with (
        contextlib.suppress(StoreError),
        new_file(repository_folder(repository) / ".no_exist" / repository.commit / path),
    ):
        pass


def is_known_to_lack(folder: Path, path: str) -> bool:
    """Whether the cache knows that the commit whose files are in `folder` has no such file."""
    return (folder.parents[1] / ".no_exist" / folder.name / path).is_file()


def repository_folder(repository: Repository) -> Path:
    """The repository's folder in the cache."""
    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository.name, repo_type=repository.kind)


def blob_path(repository: Repository, file: File) -> Path:
    """Where the cache keeps the content of a file."""
    return repository_folder(repository) / "blobs" / file.digest


def partial_path(blob: Path) -> Path:
    """Where a file is kept until all of it has arrived."""
    return blob.with_name(f"{blob.name}.clsviz-part")


def cached_bytes(repository: Repository, file: File) -> int:
    """How many bytes of a file are in the cache."""
    if not DIGEST.fullmatch(file.digest):
        return 0
    blob = blob_path(repository, file)
    if blob.exists():
        return file.size
    try:
        size = partial_path(blob).stat().st_size
    except FileNotFoundError:  # not begun, or another has finished it in this moment
        return file.size if blob.exists() else 0
    return size if size <= file.size else 0
