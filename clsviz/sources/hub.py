"""The Hugging Face Hub: what a repository holds, its files in the user's cache, and one sentence for each failure."""

import contextlib
import difflib
import errno
import fnmatch
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clsviz.errors import CorpusError, ModelError, first_line
from clsviz.progress import Progress, interruptible

COMMIT = re.compile(r"[0-9a-f]{40}")

_REVISION = re.compile(r"\w[\w./+@#=-]*")

_MEGABYTE = 10**6

_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A Git blob's SHA-1, or the SHA-256 of a large file."""

_PART = ".clsviz-part"
"""What the name of a file ends in until all of it has arrived."""

_PATIENCE_SECONDS = 4.0
"""How long a download is tried again while no further byte arrives."""

_LOG_IN = "log in where clsviz runs with: hf auth login."


class NoRevisionError(CorpusError):
    """The dataset has no such branch, tag or commit."""


class DamagedError(OSError):
    """What arrived is not what was announced."""


class _NonsenseError(OSError):
    """What the Hub answers is not what it should be."""


@dataclass(frozen=True)
class File:
    """A file of a repository.

    path: below the repository's root, with “/”. size: in bytes. digest: of its content, in hexadecimal: SHA-256 if it
    is stored as a large file, else Git's SHA-1.
    """

    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class Repository:
    """A repository at one commit; kind: model or dataset."""

    name: str
    kind: str
    commit: str
    files: tuple[File, ...]

    def matching(self, patterns: Iterable[str]) -> list[File]:
        """The files whose paths match any of the shell patterns, in which “/” must be written out."""
        patterns = list(patterns)
        return [
            file
            for file in self.files
            if any(fnmatch.fnmatchcase(file.path, p) and file.path.count("/") == p.count("/") for p in patterns)
        ]


def shortened(revision: str) -> str:
    """A revision as a label shows it: a commit by its first seven digits."""
    return revision[:7] if COMMIT.fullmatch(revision) else revision


def suggestion(name: str, catalogue: Iterable[str]) -> str:
    """Which name of the catalogue may have been meant by `name`, as a further sentence; "" if none comes close.

    A name of the catalogue is right as it is, whatever keeps it from being fetched.
    """
    names = list(catalogue)
    if name in names:
        return ""
    close = difflib.get_close_matches(name.lower(), names, n=1) or [known for known in names if name.lower() in known]
    return f" Perhaps you meant {close[0]}." if close and "/" not in name else ""


def is_revision(text: str) -> bool:
    """True if `text` may name a branch, a tag or a commit; as a path it does not leave the cache's folder."""
    return _REVISION.fullmatch(text) is not None and ".." not in text and len(text) <= 200


def is_id(name: str) -> bool:
    """True if `name` has the form of a repository's name: owner/name, or name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def open_repository(name: str, kind: str, revision: str | None = None) -> Repository:
    """What the repository `name` holds at `revision`: a branch, tag or commit; by default its main branch.

    Raises ModelError or CorpusError, by its kind, if it cannot be found or may not be read.
    """
    import httpx2
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HFValidationError

    with reporting(name, kind, revision):
        api = HfApi(endpoint=constants.ENDPOINT)
        look: Any = api.model_info if kind == "model" else api.dataset_info
        try:
            info = look(name, revision=revision, timeout=httpx2.Timeout(10.0, connect=4.0), files_metadata=True)
            if not COMMIT.fullmatch(info.sha):
                raise ValueError(info.sha)
            files = tuple(map(_described, info.siblings or []))
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            if isinstance(error, (httpx2.HTTPError, HFValidationError)):
                raise
            raise _NonsenseError(first_line(error)) from error
    return Repository(info.id or name, kind, info.sha, files)


def _described(sibling: Any) -> File:
    """A file as the client lists it; raises ValueError if its description makes no sense."""
    digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id or ""
    size = sibling.size or 0
    if not (isinstance(sibling.rfilename, str) and isinstance(size, int) and size >= 0 and isinstance(digest, str)):
        raise ValueError(f"{sibling.rfilename!r} is described oddly")
    return File(sibling.rfilename, size, digest)


def fetch(repository: Repository, files: Sequence[File], progress: Progress, *, stage: str = "") -> Path:
    """Download files into the user's cache, in this order, and return the folder of the repository's commit there.

    stage: what `progress` is told. Raises ModelError or CorpusError, by the repository's kind, and CancelledError as
    soon as `progress` is told to stop; the next download resumes what has arrived by then.
    """
    folder, arrived = Path(), 0

    def on_bytes(n: int) -> None:
        progress.advance((arrived + n) // _MEGABYTE)

    def download() -> None:
        nonlocal arrived, folder
        for file in files:
            if _DIGEST.fullmatch(file.digest):  # without one there is nothing to check against: left to the library
                _fetch_blob(repository, file, on_bytes)
            folder = _linked(repository, file.path, repository.commit).parents[file.path.count("/")]
            arrived += file.size
            on_bytes(0)

    with reporting(repository.name, repository.kind, repository.commit):
        missing = check_room(repository, files)
        size = sum(file.size for file in files)
        stage = stage or f"Downloading {repository.name}"
        progress.begin(stage, size // _MEGABYTE, (size - missing) // _MEGABYTE, unit="MB")
        interruptible(download, progress)
    return folder


def check_room(repository: Repository, files: Sequence[File]) -> int:
    """How many bytes of files are missing in the cache; raises ModelError or CorpusError if the disk lacks room."""
    with reporting(repository.name, repository.kind, repository.commit):
        missing = sum(file.size - _n_cached(repository, file) for file in files)
        folder = _blobs(repository)
        folder.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(folder).free) < missing:
            needed = f"{missing // _MEGABYTE + 1:,} MB are needed, {free // _MEGABYTE:,} MB are free"
            raise OSError(errno.ENOSPC, needed)
    return missing


def _blobs(repository: Repository) -> Path:
    """Where the cache keeps contents by digest: https://huggingface.co/docs/huggingface_hub/guides/manage-cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE, f"{repository.kind}s--{repository.name.replace('/', '--')}", "blobs")


def _n_cached(repository: Repository, file: File) -> int:
    """How many bytes of a file are in the cache."""
    blob = _blobs(repository) / file.digest
    if not file.digest or blob.exists():
        return file.size if file.digest else 0
    with contextlib.suppress(FileNotFoundError):  # not begun, or another has finished it in this moment
        size = blob.with_name(blob.name + _PART).stat().st_size
        return size if size <= file.size else 0
    return file.size if blob.exists() else 0


def _fetch_blob(repository: Repository, file: File, on_bytes: Callable[[int], None]) -> None:
    """Download the content of a file to where the cache finds it by its digest, which is checked.

    The library begins anew whenever a download was broken off or cancelled, and does not check what arrived.
    """
    import httpx2
    from huggingface_hub import constants, get_session, hf_hub_url, hf_raise_for_status
    from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]

    blob = _blobs(repository) / file.digest
    part = blob.with_name(blob.name + _PART)
    url = hf_hub_url(
        repository.name, file.path, repo_type=repository.kind, revision=repository.commit, endpoint=constants.ENDPOINT
    )
    # A download that was cancelled and has not noticed yet may still hold the lock.
    lock = blob.parents[2] / ".locks" / blob.parents[1].name / f"{file.digest}.lock"  # the library's own
    lock.parent.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        if blob.exists():
            return
        start = _n_cached(repository, file)
        with part.open("r+b" if start else "wb") as written:
            tried = time.monotonic()
            while start < file.size:
                headers = build_hf_headers() | ({"Range": f"bytes={start}-"} if start else {})
                try:
                    with get_session().stream(
                        "GET", url, headers=headers, timeout=_timeout(), follow_redirects=True
                    ) as response:
                        hf_raise_for_status(response)
                        if start and response.status_code != 206:  # the whole file comes instead of the rest
                            start = 0
                            written.truncate(0)
                        written.seek(start)
                        for chunk in response.iter_bytes():
                            on_bytes(start + len(chunk))
                            written.write(chunk)
                            start += len(chunk)
                            tried = time.monotonic()
                    break
                except (httpx2.ConnectError, httpx2.TimeoutException, httpx2.RemoteProtocolError):
                    if time.monotonic() - tried >= _PATIENCE_SECONDS:
                        raise
                    time.sleep(_PATIENCE_SECONDS / 8)
        if start != file.size:
            raise OSError(f"{start:,} of {file.size:,} bytes arrived")
        with part.open("rb") as content:
            digest = hashlib.sha256()
            if len(file.digest) == 40:
                digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)  # as Git does
            if hashlib.file_digest(content, lambda: digest).hexdigest() != file.digest:
                part.unlink()
                raise DamagedError
        os.replace(part, blob)


def read_range(repository: Repository, path: str, start: int, stop: int) -> bytes:
    """The bytes of a file from `start` to `stop`; raises ModelError or CorpusError, by the repository's kind.

    The file system of huggingface_hub does the same, but lists the folder first, refuses a repository without an owner,
    and tries six times, which takes minutes where the Hub stalls.
    """
    import httpx2
    from huggingface_hub import constants, get_session, hf_hub_url, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    url = hf_hub_url(
        repository.name, path, repo_type=repository.kind, revision=repository.commit, endpoint=constants.ENDPOINT
    )
    began = time.monotonic()
    with reporting(repository.name, repository.kind, repository.commit):
        while True:
            headers = {**build_hf_headers(), "Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
            try:
                response = get_session().get(url, headers=headers, timeout=_timeout(), follow_redirects=True)
                hf_raise_for_status(response)
            except httpx2.HTTPError as error:
                status = getattr(getattr(error, "response", None), "status_code", 500)
                if time.monotonic() - began >= _PATIENCE_SECONDS or (status < 500 and status not in (408, 429)):
                    raise
                time.sleep(_PATIENCE_SECONDS / 8)
                continue
            found: bytes = response.content
            if len(found) != stop - start:
                raise OSError(f"{len(found):,} bytes arrived instead of {stop - start:,}")
            return found


def _timeout() -> Any:
    import httpx2
    from huggingface_hub import constants

    return httpx2.Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT, connect=4.0)


def look_up(name: str, path: str, revision: str | None) -> Path | bool:
    """A file of a model in the user's cache; False if the revision is known to lack it, True if the Hub has to tell."""
    import huggingface_hub
    from huggingface_hub import constants

    with reporting(name, "model"):
        found = huggingface_hub.try_to_load_from_cache(name, path, constants.HF_HUB_CACHE, revision=revision)
    return Path(found) if isinstance(found, str) else found is None


def note(repository: Repository, revision: str | None, path: str) -> None:
    """Let the cache know which commit `revision` means, and what `path` is there, or that it is not."""
    from huggingface_hub.errors import EntryNotFoundError

    with reporting(repository.name, repository.kind, revision), contextlib.suppress(EntryNotFoundError):
        _linked(repository, path, revision)


def _linked(repository: Repository, path: str, revision: str | None) -> Path:
    """Where the library has a file; it downloads what is not in the cache, and notes what it learns there."""
    from huggingface_hub import constants, hf_hub_download

    found = hf_hub_download(
        repository.name, path, repo_type=repository.kind, revision=revision,
        endpoint=constants.ENDPOINT, cache_dir=constants.HF_HUB_CACHE,
    )  # fmt: skip
    return Path(found)


@contextlib.contextmanager
def reporting(name: str, kind: str, revision: str | None = None) -> Iterator[None]:
    """Raise whatever goes wrong at the Hub as a ModelError or CorpusError, by `kind`, saying in a sentence what to do.

    name, kind: of the repository. revision: the one asked for. Raises NoRevisionError where a dataset does not have it.
    """
    import httpx2
    from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled, RevisionNotFoundError
    from huggingface_hub.utils import disable_progress_bars, logging  # type: ignore[attr-defined]

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # whatever matters is raised as well
    disable_progress_bars()
    try:
        yield
    except (
        httpx2.HTTPError,
        HFValidationError,
        OfflineModeIsEnabled,
        OSError,
        ValueError,
    ) as error:
        if isinstance(error, RevisionNotFoundError) and kind == "dataset":
            error_type: type[ModelError | CorpusError] = NoRevisionError
        else:
            error_type = ModelError if kind == "model" else CorpusError
        raise error_type(_sentence(error, name, kind, revision)) from error


def _sentence(error: BaseException, name: str, kind: str, revision: str | None) -> str:
    """What went wrong, and what to do."""
    import httpx2
    from huggingface_hub import constants, errors

    while isinstance(error, errors.LocalEntryNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "status", 0)
    number, reason = getattr(error, "errno", None), first_line(error).rstrip(".")
    is_of_network = isinstance(error, (httpx2.HTTPError, TimeoutError, ConnectionError))
    otherwise = f"choose {'MiniLM-L6' if kind == 'model' else 'Python 3.11 documentation'}, which is built in"
    if isinstance(error, errors.HFValidationError):
        return (
            f"“{name}” is not the name of a {kind}. Choose one from the list, or give an id from the Hugging Face Hub."
        )
    if isinstance(error, errors.GatedRepoError):  # which counts as not found too, so it comes first
        return (
            f"{name} is gated. Ask for access on its page on the Hugging Face Hub; then, where clsviz runs, log in "
            "with: hf auth login."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"The Hugging Face Hub has no {kind} {name}, or it is private. Check its name; if it is private, {_LOG_IN}"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{name} has no revision “{revision}”. Name a branch, a tag or a full commit after the @, or none."
    if number in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk is too full for {name} ({getattr(error, 'strerror', None)}). Make room in "
            f"{constants.HF_HUB_CACHE}, or set HF_HOME to a folder on another disk."
        )
    if getattr(error, "filename", None) is not None:
        return (
            f"{name} cannot be kept in {constants.HF_HUB_CACHE} ({getattr(error, 'strerror', None)}). Make that folder "
            "writable, or set HF_HOME to another."
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return f"{name} is not on this machine, and HF_HUB_OFFLINE forbids downloading it. Unset it, or {otherwise}."
    if status in (401, 403):
        return f"The Hugging Face Hub does not let you read {name} ({status}). If it is yours to read, {_LOG_IN}"
    if status == 429:
        return (
            f"The Hugging Face Hub got too many requests from here to serve {name} (429). Wait a few minutes, then try "
            "again."
        )
    if status:
        return f"The Hugging Face Hub cannot serve {name} at the moment ({status}). Try again later, or {otherwise}."
    if isinstance(error, _NonsenseError):
        return (
            f"Something other than the Hugging Face Hub answered for {name}. Check whether the network wants a login "
            f"first, or {otherwise}."
        )
    if isinstance(error, DamagedError):
        return f"{name} was damaged on its way here. Try again: what was damaged is downloaded anew."
    is_cut = isinstance(error, httpx2.RemoteProtocolError)
    if is_cut or (isinstance(error, OSError) and number is None and not is_of_network):
        return f"The download of {name} broke off ({reason}). Try again: it resumes from there."
    return (
        f"The Hugging Face Hub cannot be reached for {name} ({reason}). Check the connection and try again, or "
        f"{otherwise}."
    )
