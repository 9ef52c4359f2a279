"""The Hugging Face Hub: what a repository holds, and its files, fetched so that a broken download goes on where it was.

huggingface_hub is the client; it keeps what it fetched in the user's cache, which other programs share. It throws away
the beginning of a file whose download breaks off, so large files are fetched here, into the same cache.
"""

import contextlib
import difflib
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

import httpx2

from clsviz.errors import ClsvizError, CorpusError, ModelError, StoreError, first_line
from clsviz.files import new_file
from clsviz.progress import Progress, interruptible


class NoRevisionError(CorpusError):
    """The dataset has no such branch, tag or commit."""


class _NonsenseError(OSError):
    """What the Hub answers is not what it should."""


class _DamagedError(OSError):
    """What arrived is not what was announced."""


COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REVISION = re.compile(r"\w[\w./+@#=-]*")
_ERRORS: dict[str, type[ClsvizError]] = {"model": ModelError, "dataset": CorpusError}
_TIMEOUT_SECONDS = 10.0
_MEGABYTE = 10**6
_CHUNK_BYTES = 2**20
"""Of a download, and so what is lost of it at most when it breaks off."""


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


def shortened(revision: str) -> str:
    """A revision as it may stand in a label: of a commit its beginning."""
    return revision[:7] if COMMIT.fullmatch(revision) else revision


def suggestion(name: str, catalogue: Iterable[str]) -> str:
    """What else may have been meant by a name that is not of the catalogue, as a further sentence, or ""."""
    names = [known for known in catalogue if known != name]
    close = difflib.get_close_matches(name.lower(), names, n=1) or [known for known in names if name.lower() in known]
    return f" Perhaps {close[0]} was meant." if close and "/" not in name else ""


def is_revision(text: str) -> bool:
    """Whether `text` may name a branch, a tag or a commit; in the cache such a name is a path, which stays within."""
    return _REVISION.fullmatch(text) is not None and ".." not in text and len(text) <= 200


def open_repository(name: str, kind: str, revision: str | None = None) -> Repository:
    """What the repository `name` holds at `revision`: a branch, tag or commit; by default its main branch.

    Raises ModelError or CorpusError, by its kind, where it cannot be found or may not be read.
    """
    import huggingface_hub as hub
    from huggingface_hub.errors import HFValidationError

    _silence()
    with reporting(name, kind, revision):
        api = hub.HfApi(endpoint=hub.constants.ENDPOINT)
        look: Any = api.model_info if kind == "model" else api.dataset_info
        try:
            info = look(name, revision=revision, timeout=_TIMEOUT_SECONDS, files_metadata=True)
            files = tuple(map(_file, info.siblings or []))
            if not COMMIT.fullmatch(info.sha):
                raise ValueError(info.sha)
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            if isinstance(error, (httpx2.HTTPError, HFValidationError)):
                raise
            raise _NonsenseError(first_line(error)) from error
    return Repository(info.id or name, kind, info.sha, files)


def _file(sibling: Any) -> File:
    """A file as the client lists it; raises ValueError where it is not described as it should."""
    digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id or ""
    size = sibling.size or 0
    if not (isinstance(sibling.rfilename, str) and isinstance(size, int) and size >= 0 and isinstance(digest, str)):
        raise ValueError(f"{sibling.rfilename!r} is described oddly")
    return File(sibling.rfilename, size, digest)


def cached_folder(name: str, revision: str | None, paths: Iterable[str]) -> Path | None:
    """Folder of the user's cache with a model's files as of `revision`, if any of `paths` is among them."""
    import huggingface_hub as hub

    with reporting(name, "model"):
        for path in paths:
            found = hub.try_to_load_from_cache(name, path, revision=revision, cache_dir=hub.constants.HF_HUB_CACHE)
            if isinstance(found, str):
                return Path(found).parents[path.count("/")]
    return None


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

    _silence()
    disable_progress_bars()
    hub.constants.DOWNLOAD_CHUNK_SIZE = _CHUNK_BYTES  # the client's own shows no progress for the first 10 MB
    with reporting(repository.name, repository.kind, repository.commit):
        size = sum(file.size for file in files)
        missing = size - sum(_there(repository, file) for file in files)
        there = (size - missing) // _MEGABYTE
        progress.begin(f"Downloading {repository.name}", size // _MEGABYTE, there, unit="MB")
        interruptible(download, progress)
    return _cache(repository) / "snapshots" / repository.commit


def remember(repository: Repository, revision: str | None) -> None:
    """Let the cache know which commit `revision` stands for, in the way of its library: files are found by it then."""
    revision = revision or "main"
    if revision != repository.commit:
        with (
            contextlib.suppress(StoreError),  # without it the files are found by their commit only
            new_file(_cache(repository) / "refs" / revision) as temporary,
        ):
            temporary.write_text(repository.commit)


def note_absence(repository: Repository, path: str) -> None:
    """Let the cache know that the repository's commit has no such file, in the way of its library."""
    with contextlib.suppress(StoreError), new_file(_cache(repository) / ".no_exist" / repository.commit / path):
        pass


def is_known_to_lack(folder: Path, path: str) -> bool:
    """Whether the cache knows that the commit whose files are in `folder` has no such file."""
    return (folder.parents[1] / ".no_exist" / folder.name / path).is_file()


def _silence() -> None:
    """What matters of what the library says on stderr is raised."""
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def _cache(repository: Repository) -> Path:
    """The repository's folder in the user's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    return Path(HF_HUB_CACHE) / repo_folder_name(repo_id=repository.name, repo_type=repository.kind)


def _blob(repository: Repository, file: File) -> Path:
    """Where the cache keeps the content of a file."""
    return _cache(repository) / "blobs" / file.digest


def _part(blob: Path) -> Path:
    """Where the beginning of a file is while the rest is not there."""
    return blob.with_name(f"{blob.name}.clsviz-part")


def _there(repository: Repository, file: File) -> int:
    """How many bytes of a file are in the cache."""
    blob = _blob(repository, file)
    if not _DIGEST.fullmatch(file.digest):
        return 0
    if blob.exists():
        return file.size
    part = _part(blob)
    size = part.stat().st_size if part.exists() else 0
    return size if size <= file.size else 0


def _check_room(repository: Repository, n_bytes: int) -> None:
    folder = _cache(repository)
    folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(folder).free) < n_bytes:
        needed = f"{n_bytes // _MEGABYTE + 1:,} MB are needed, {free // _MEGABYTE:,} MB are free"
        raise OSError(errno.ENOSPC, needed)


def _fetch_blob(repository: Repository, file: File, on_bytes: Callable[[int], None]) -> None:
    """Bring the content of a file into the cache, where it is found by its digest; go on with what is there of it."""
    import huggingface_hub as hub
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]

    blob = _blob(repository, file)
    if not _DIGEST.fullmatch(file.digest) or blob.exists():
        return  # one that nobody knows the digest of is left to the client
    part = _part(blob)
    # The client's own lock. It may be held by a download that was cancelled and has not noticed yet.
    lock = blob.parents[2] / ".locks" / blob.parents[1].name / f"{file.digest}.lock"
    for folder in (blob.parent, lock.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(lock):
        if blob.exists():
            return  # fetched while the lock was waited for
        there = _there(repository, file)
        with part.open("r+b" if there else "wb") as written:
            written.seek(there)
            try:
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
            except httpx2.TransportError as error:
                raise OSError(first_line(error)) from error
        if _digest(part, file) != file.digest:
            part.unlink()
            raise _DamagedError
        os.replace(part, blob)


def _digest(path: Path, file: File) -> str:
    """Of the content at `path`, computed in the way of the file's."""
    digest = hashlib.sha256()
    if len(file.digest) == 40:
        digest = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)  # as Git does
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: digest).hexdigest()


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
            f"{name} has no revision “{revision}”. Name a branch, a tag or a whole commit after the @, or none."
        ) from None
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, OSError, ValueError) as error:
        raise error_type(_explained(error, name, kind)) from error


def _explained(error: Exception, name: str, kind: str) -> str:
    """What went wrong on the way, and what to do."""
    from huggingface_hub import errors
    from huggingface_hub.constants import HF_HUB_CACHE

    cause: BaseException = error
    while isinstance(cause, errors.LocalEntryNotFoundError) and cause.__cause__ is not None:
        cause = cause.__cause__
    status = getattr(getattr(cause, "response", None), "status_code", None)
    otherwise = f"choose {'MiniLM-L6' if kind == 'model' else 'Python documentation'}, which is built in"
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"The disk is too full for {name} ({cause.strerror}). Make room in {HF_HUB_CACHE}, or set HF_HOME to a "
            "folder of another disk."
        )
    if isinstance(cause, OSError) and cause.filename is not None:
        return (
            f"{name} cannot be kept in {HF_HUB_CACHE} ({cause.strerror}). Make that folder yours to write, or set "
            "HF_HOME to another."
        )
    if isinstance(cause, errors.OfflineModeIsEnabled):
        return f"{name} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it. Unset it, or {otherwise}."
    if status in (401, 403):
        return (
            f"The Hugging Face Hub does not let you read {name} ({status}). If it is yours to read, log in where "
            "clsviz runs with: hf auth login."
        )
    if status == 429:
        return (
            f"The Hugging Face Hub gets too many requests from here to give {name} (429). Wait some minutes, then try "
            "again."
        )
    if status is not None:
        return f"The Hugging Face Hub cannot give {name} at the moment ({status}). Try again later, or {otherwise}."
    if isinstance(cause, _NonsenseError):
        return (
            f"What answers for {name} in the place of the Hugging Face Hub makes no sense. Check whether the network "
            f"wants a login first, or {otherwise}."
        )
    if isinstance(cause, _DamagedError):
        return f"{name} was damaged on its way here. Try again: what was damaged is fetched anew."
    if isinstance(cause, OSError) and cause.errno is None and not isinstance(cause, httpx2.HTTPError):
        return f"The download of {name} broke off ({first_line(cause).rstrip('.')}). Try again: it goes on from there."
    return (
        f"The Hugging Face Hub cannot be reached for {name} ({first_line(cause)}). Check the connection and try again, "
        f"or {otherwise}."
    )
