"""Files of the Hub, fetched so that a broken download resumes where it stopped."""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import httpx2

from clsviz.errors import first_line
from clsviz.hub.cache import DIGEST, blob_path, cached_bytes, partial_path, repository_folder
from clsviz.hub.failures import DamagedError, reporting, silence_library
from clsviz.hub.repository import File, Repository
from clsviz.progress import Progress, interruptible

_MEGABYTE = 10**6


_CHUNK_BYTES = 2**20
"""Of a download, and so what is lost of it at most when it breaks off."""


def fetch(repository: Repository, files: Sequence[File], progress: Progress) -> Path:
    """Bring files into the user's cache, in this order, and return the folder of the repository's commit in it.

    Raises ModelError or CorpusError, and CancelledError as soon as `progress` is asked to stop; what has arrived by
    then is kept.
    """
    import huggingface_hub as hub
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    def download() -> None:
        _check_room(repository, missing)
        arrived = 0
        for file in files:
            _fetch_blob(repository, file, lambda n, before=arrived: progress.advance((before + n) // _MEGABYTE))  # type: ignore[misc]
            hub.hf_hub_download(
                repository.name, file.path, repo_type=repository.kind, revision=repository.commit,
                endpoint=hub.constants.ENDPOINT, cache_dir=hub.constants.HF_HUB_CACHE,
            )  # fmt: skip
            arrived += file.size
            progress.advance(arrived // _MEGABYTE)

    silence_library()
    disable_progress_bars()
    hub.constants.DOWNLOAD_CHUNK_SIZE = _CHUNK_BYTES  # the client's own shows no progress for the first 10 MB
    with reporting(repository.name, repository.kind, repository.commit):
        size = sum(file.size for file in files)
        missing = size - sum(cached_bytes(repository, file) for file in files)
        there = (size - missing) // _MEGABYTE
        progress.begin(f"Downloading {repository.name}", size // _MEGABYTE, there, unit="MB")
        interruptible(download, progress)
    return repository_folder(repository) / "snapshots" / repository.commit


def _check_room(repository: Repository, n_bytes: int) -> None:
    folder = repository_folder(repository)
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < n_bytes:
        needed = f"{n_bytes // _MEGABYTE + 1:,} MB are needed, {free // _MEGABYTE:,} MB are free"
        raise OSError(errno.ENOSPC, needed)


def _fetch_blob(repository: Repository, file: File, on_bytes: Callable[[int], None]) -> None:
    """Bring the content of a file into the cache, where it is found by its digest; go on with what is there of it."""
    import huggingface_hub as hub
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]

    blob = blob_path(repository, file)
    if not DIGEST.fullmatch(file.digest) or blob.exists():
        return  # one that nobody knows the digest of is left to the client
    part = partial_path(blob)
    # The client's own lock. It may be held by a download that was cancelled and has not noticed yet.
    lock = blob.parents[2] / ".locks" / blob.parents[1].name / f"{file.digest}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        if blob.exists():
            return  # fetched while the lock was waited for
        there = cached_bytes(repository, file)
        with part.open("r+b" if there else "wb") as written:
            written.seek(there)
            try:
                http_get(
                    hub.hf_hub_url(
                        repository.name, file.path, repo_type=repository.kind, revision=repository.commit,
                        endpoint=hub.constants.ENDPOINT,
                    ),
                    _ProgressFile(written, on_bytes),  # type: ignore[arg-type]
                    resume_size=there,
                    headers=build_hf_headers(),
                    expected_size=file.size,
                )  # fmt: skip
            except httpx2.TransportError as error:
                raise OSError(first_line(error)) from error
        if _digest(part, file) != file.digest:
            part.unlink()
            raise DamagedError
        os.replace(part, blob)


def _digest(path: Path, file: File) -> str:
    """Of the content at `path`, computed in the way of the file's."""
    digest = hashlib.sha256()
    if len(file.digest) == 40:
        digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)  # as Git does
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: digest).hexdigest()


class _ProgressFile:
    """A file that tells, before they are written, how far its bytes reach; what is raised then ends the writing."""

    def __init__(self, file: IO[bytes], on_bytes: Callable[[int], None]) -> None:
        self._file = file
        self._on_bytes = on_bytes

    def write(self, data: bytes) -> int:
        self._on_bytes(self._file.tell() + len(data))
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
