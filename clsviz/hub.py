"""The Hugging Face Hub: what a repository holds, and its files, fetched so that a broken download goes on where it was.

huggingface_hub is the client; it keeps what it fetched in the user's cache, which other programs share. It throws away
the beginning of a file whose download breaks off, so large files are fetched here, into the same cache.
"""

import contextlib
import errno
import fnmatch
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import filelock
import httpx2

from clsviz.errors import ClsvizError, CorpusError, ModelError, first_line
from clsviz.progress import Progress, interruptible


class NoRevisionError(CorpusError):
    """The dataset has no such branch, tag or commit."""


COMMIT = re.compile(r"[0-9a-f]{40}")
_ERRORS: dict[str, type[ClsvizError]] = {"model": ModelError, "dataset": CorpusError}
_TIMEOUT_SECONDS = 10.0
_MEGABYTE = 10**6


@dataclass(frozen=True)
class File:
    """A file of a repository.

    path: below the repository's root, with “/”. size: in bytes. digest: of its content, hexadecimal: SHA-256 where it
    is kept as a large file, else Git's.
    """

    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class Repository:
    """A repository as of one commit. kind: model or dataset."""

    name: str
    kind: str
    commit: str
    files: tuple[File, ...]

    def matching(self, patterns: Iterable[str]) -> list[File]:
        """The files whose paths match any of the patterns, as of a shell; “/” has to be written."""
        patterns = list(patterns)
        return [
            file
            for file in self.files
            if any(fnmatch.fnmatchcase(file.path, p) and file.path.count("/") == p.count("/") for p in patterns)
        ]


def is_id(name: str) -> bool:
    """Whether `name` has the form of a repository's: owner/name, or name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def open_repository(name: str, kind: str, revision: str | None = None) -> Repository:
    """What the repository `name` holds at `revision`: a branch, tag or commit; by default its main branch.

    Raises ModelError or CorpusError, by its kind, where it cannot be found or may not be read.
    """
    import huggingface_hub as hub

    with reporting(name, kind, revision):
        api = hub.HfApi(endpoint=hub.constants.ENDPOINT)
        look: Any = api.model_info if kind == "model" else api.dataset_info
        info = look(name, revision=revision, timeout=_TIMEOUT_SECONDS, files_metadata=True)
        files = [
            File(s.rfilename, s.size or 0, str(s.lfs.sha256 if s.lfs else s.blob_id or "")) for s in info.siblings or []
        ]
        if info.sha is None or not COMMIT.fullmatch(info.sha):
            raise OSError("its answer names no commit")
    return Repository(info.id or name, kind, info.sha, tuple(files))


def cached_folder(name: str, revision: str | None, path: str) -> Path | None:
    """Folder of the user's cache with the repository's files as of `revision`, if `path` is among them."""
    import huggingface_hub as hub

    found = hub.try_to_load_from_cache(name, path, revision=revision, cache_dir=hub.constants.HF_HUB_CACHE)
    if not isinstance(found, str):
        return None
    return Path(found).parents[path.count("/")]


def fetch(repository: Repository, files: Sequence[File], revision: str | None, progress: Progress) -> Path:
    """Bring files into the user's cache, in this order, and return the folder of the repository's commit in it.

    What `revision` stands for is kept as well, so that they are found again without the network. Raises ModelError or
    CorpusError, and CancelledError as soon as `progress` is asked to stop; what has arrived by then is kept.
    """
    import huggingface_hub as hub
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    disable_progress_bars()
    size = sum(file.size for file in files)
    progress.begin(f"Downloading {repository.name}", size // _MEGABYTE, unit="MB")

    def download() -> Path:
        arrived = 0
        folder = Path()
        for file in files:
            with reporting(repository.name, repository.kind, revision):
                _fetch_blob(repository, file, lambda n, before=arrived: progress.advance((before + n) // _MEGABYTE))  # type: ignore[misc]
                place = hub.hf_hub_download(
                    repository.name, file.path, repo_type=repository.kind, revision=repository.commit,
                    endpoint=hub.constants.ENDPOINT, cache_dir=hub.constants.HF_HUB_CACHE,
                )  # fmt: skip
            folder = Path(place).parents[file.path.count("/")]
            arrived += file.size
            progress.advance(arrived // _MEGABYTE)
        if files and revision != repository.commit:
            _remember(repository, revision)
        return folder

    return interruptible(download, progress)


def _fetch_blob(repository: Repository, file: File, on_bytes: Callable[[int], None]) -> None:
    """Bring the content of a file into the cache, where it is found by its digest; go on with what is there of it."""
    import huggingface_hub as hub
    from huggingface_hub.file_download import http_get, repo_folder_name
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    cache = Path(hub.constants.HF_HUB_CACHE)
    name = repo_folder_name(repo_id=repository.name, repo_type=repository.kind)
    blob = cache / name / "blobs" / file.digest
    if not re.fullmatch(r"[0-9a-f]{64}", file.digest) or blob.exists():
        return  # small files are left to the client
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{file.digest}.clsviz-part")
    with filelock.FileLock(f"{part}.lock"):  # of a download that was cancelled and has not noticed yet, say
        there = part.stat().st_size if part.exists() else 0
        if there > file.size:
            there = 0
        if (free := shutil.disk_usage(blob.parent).free) < file.size - there:
            raise OSError(errno.ENOSPC, f"{free // _MEGABYTE:,} MB are free")
        with part.open("r+b" if there else "wb") as written:
            written.seek(there)
            http_get(
                hub.hf_hub_url(
                    repository.name, file.path, repo_type=repository.kind, revision=repository.commit,
                    endpoint=hub.constants.ENDPOINT,
                ),
                _Told(written, on_bytes),  # type: ignore[arg-type]
                resume_size=there,
                headers=build_hf_headers(),
                expected_size=file.size,
            )  # fmt: skip
        with part.open("rb") as written:
            if hashlib.file_digest(written, "sha256").hexdigest() != file.digest:
                part.unlink()
                raise OSError("what arrived is not what was announced")
        os.replace(part, blob)


def _remember(repository: Repository, revision: str | None) -> None:
    """Let the cache know which commit `revision` stands for, in the way of its library."""
    import huggingface_hub as hub

    with contextlib.suppress(Exception):  # without it the files are found by their commit only
        first = repository.files[0].path if not repository.matching(["config.json"]) else "config.json"
        hub.hf_hub_download(
            repository.name, first, repo_type=repository.kind, revision=revision,
            endpoint=hub.constants.ENDPOINT, cache_dir=hub.constants.HF_HUB_CACHE,
        )  # fmt: skip


class _Told:
    """A file that tells, before they are written, how far its bytes reach; what is raised then ends the writing."""

    def __init__(self, file: IO[bytes], on_bytes: Callable[[int], None]) -> None:
        self._file = file
        self._on_bytes = on_bytes

    def write(self, data: bytes) -> int:
        self._on_bytes(self._file.tell() + len(data))
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextlib.contextmanager
def reporting(name: str, kind: str, revision: str | None = None) -> Iterator[None]:
    """Whatever the Hub or the way to it does wrong, as one sentence of a ModelError or CorpusError, by `kind`."""
    from huggingface_hub import errors

    error_type = _ERRORS[kind]
    try:
        yield
    except errors.HFValidationError:
        raise error_type(
            f"“{name}” names no {kind}. Choose one of the list, or give an id of the Hugging Face Hub."
        ) from None
    except errors.GatedRepoError:
        raise error_type(
            f"{name} is gated. Ask for access on its page on the Hugging Face Hub; then, where clsviz runs, log in "
            "with: hf auth login."
        ) from None
    except errors.RepositoryNotFoundError:
        raise error_type(
            f"The Hugging Face Hub has no {kind} {name}, or it is private. Check its name; if it is private, log in "
            "where clsviz runs with: hf auth login."
        ) from None
    except errors.RevisionNotFoundError:
        raise (NoRevisionError if kind == "dataset" else ModelError)(
            f"{name} has no revision “{revision}”. Name a branch, a tag or a whole commit after the @, or nothing."
        ) from None
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, OSError, ValueError) as error:
        raise error_type(_explained(error, name, kind)) from error


def _explained(error: Exception, name: str, kind: str) -> str:
    """What went wrong on the way, and what to do."""
    from huggingface_hub import errors

    cause: BaseException = error
    while isinstance(cause, errors.LocalEntryNotFoundError) and cause.__cause__ is not None:
        cause = cause.__cause__
    status = getattr(getattr(cause, "response", None), "status_code", None)
    otherwise = f"choose {'MiniLM-L6' if kind == 'model' else 'Python documentation'}, which is built in"
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        from huggingface_hub.constants import HF_HUB_CACHE

        return (
            f"The disk is too full for {name} ({cause.strerror}). Make room in {HF_HUB_CACHE}, or set HF_HOME to a "
            "folder of another disk."
        )
    if isinstance(cause, errors.OfflineModeIsEnabled):
        return f"{name} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it. Unset it, or {otherwise}."
    if status in (401, 403):
        return (
            f"The Hugging Face Hub does not let you read {name} ({status}). If it is yours to read, log in where "
            "clsviz runs with: hf auth login."
        )
    if status == 429:
        return "The Hugging Face Hub gets too many requests from here (429). Wait some minutes, then try again."
    if status is not None:
        return f"The Hugging Face Hub cannot give {name} at the moment ({status}). Try again later, or {otherwise}."
    if isinstance(cause, OSError) and cause.errno is None and not isinstance(cause, httpx2.HTTPError):
        return f"The download of {name} broke off ({first_line(cause).rstrip('.')}). Try again: it goes on from there."
    return (
        f"The Hugging Face Hub cannot be reached for {name} ({first_line(cause)}). Check the connection and try again, "
        f"or {otherwise}."
    )
