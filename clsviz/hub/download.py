"""Downloads from the Hub that resume where they broke off."""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import httpx2
import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    WeakFileLock,
    build_hf_headers,
    disable_progress_bars,
    http_stream_backoff,
)

from clsviz.errors import first_line
from clsviz.hub.cache import DIGEST, blob_path, cached_bytes, partial_path, repository_folder
from clsviz.hub.failures import DamagedError, reporting, silence_library
from clsviz.hub.repository import File, Repository
from clsviz.progress import Progress, interruptible

_MEGABYTE = 10**6


_ATTEMPTS = 6
"""How often a download is tried while no further byte arrives."""


def fetch(
    repository: Repository, files: Sequence[File], progress: Progress, *, stage: str = "", retry_seconds: float = 1.0
) -> Path:
    """Download files into the user's cache, in this order, and return the folder of the repository's commit there.

    stage: what `progress` is told. retry_seconds: how long to wait before a broken download is tried again. Raises
    ModelError or CorpusError, by the repository's kind, and CancelledError as soon as `progress` is told to stop; what
    has arrived by then is kept.
    """

    def download() -> None:
        _check_room(repository, missing)
        arrived = 0
        for file in files:
            _fetch_blob(
                repository, file, lambda n, before=arrived: progress.advance((before + n) // _MEGABYTE), retry_seconds  # type: ignore[misc]
            )  # fmt: skip
            huggingface_hub.hf_hub_download(
                repository.name, file.path, repo_type=repository.kind, revision=repository.commit,
                endpoint=constants.ENDPOINT, cache_dir=constants.HF_HUB_CACHE,
            )  # fmt: skip
            arrived += file.size
            progress.advance(arrived // _MEGABYTE)

    silence_library()
    disable_progress_bars()
    with reporting(repository.name, repository.kind, repository.commit):
        size = sum(file.size for file in files)
        missing = _missing_bytes(repository, files)
        stage = stage or f"Downloading {repository.name}"
        progress.begin(stage, size // _MEGABYTE, (size - missing) // _MEGABYTE, unit="MB")
        interruptible(download, progress)
    return repository_folder(repository) / "snapshots" / repository.commit


def check_room(repository: Repository, files: Sequence[File]) -> None:
    """Raise ModelError or CorpusError, by the repository's kind, if the disk has no room for what is missing."""
    with reporting(repository.name, repository.kind, repository.commit):
        _check_room(repository, _missing_bytes(repository, files))


def _missing_bytes(repository: Repository, files: Sequence[File]) -> int:
    """How many bytes of files are not in the user's cache yet."""
    return sum(file.size - cached_bytes(repository, file) for file in files)


def _check_room(repository: Repository, n_bytes: int) -> None:
    """Raise OSError if the disk has less than `n_bytes` left."""
    folder = repository_folder(repository)
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < n_bytes:
        needed = f"{n_bytes // _MEGABYTE + 1:,} MB are needed, {free // _MEGABYTE:,} MB are free"
        raise OSError(errno.ENOSPC, needed)


def _fetch_blob(repository: Repository, file: File, on_bytes: Callable[[int], None], retry_seconds: float) -> None:
    """Download the content of a file into the cache, where it is found by its digest; resume what is there of it."""
    if not DIGEST.fullmatch(file.digest):
        return  # without a digest there is nothing to check against: left to the client
    blob = blob_path(repository, file)
    part = partial_path(blob)
    # The client's own lock. A download that was cancelled and has not noticed yet may still hold it.
    lock = blob.parents[2] / ".locks" / blob.parents[1].name / f"{file.digest}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        if blob.exists():
            return
        start = cached_bytes(repository, file)
        with part.open("r+b" if start else "wb") as written:
            try:
                _stream(repository, file, written, start, on_bytes, retry_seconds)
            except httpx2.TransportError as error:
                raise OSError(first_line(error)) from error
        if _digest(part, file) != file.digest:
            part.unlink()
            raise DamagedError
        os.replace(part, blob)


def _stream(
    repository: Repository,
    file: File,
    written: IO[bytes],
    start: int,
    on_bytes: Callable[[int], None],
    retry_seconds: float,
) -> None:
    """Write a file's bytes from `start` on as they arrive, telling `on_bytes` how far they reach.

    The client's own `http_get` writes 10 MB at a time, which are lost when it breaks off, and takes no argument to
    change that. Raises OSError and httpx2.TransportError.
    """
    url = huggingface_hub.hf_hub_url(
        repository.name, file.path, repo_type=repository.kind, revision=repository.commit, endpoint=constants.ENDPOINT
    )
    attempts = _ATTEMPTS
    while start < file.size:
        headers = build_hf_headers() | ({"Range": f"bytes={start}-"} if start else {})
        try:
            with http_stream_backoff(
                "GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
                base_wait_time=retry_seconds, retry_on_exceptions=(), retry_on_status_codes=(408, 429),
            ) as response:  # fmt: skip
                huggingface_hub.hf_raise_for_status(response)
                if start and response.status_code != 206:  # the whole file comes instead of the rest
                    start = 0
                    written.truncate(0)
                written.seek(start)
                for chunk in response.iter_bytes():
                    on_bytes(start + len(chunk))
                    written.write(chunk)
                    start += len(chunk)
                    attempts = _ATTEMPTS
            break
        except (httpx2.ConnectError, httpx2.TimeoutException, httpx2.RemoteProtocolError):
            attempts -= 1
            if not attempts:
                raise
            time.sleep(retry_seconds)
    if start != file.size:
        raise OSError(f"{start:,} of {file.size:,} bytes arrived")


def _digest(path: Path, file: File) -> str:
    """Digest of the content at `path`, computed as the file's was."""
    digest = hashlib.sha256()
    if len(file.digest) == 40:
        digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)  # as Git does
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: digest).hexdigest()
