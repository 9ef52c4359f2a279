"""What a repository on the Hugging Face Hub holds at one commit."""

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from clsviz.errors import first_line
from clsviz.hub.failures import NonsenseError, reporting, silence_library
from clsviz.hub.names import COMMIT

_TIMEOUT_SECONDS = 10.0


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


def is_id(name: str) -> bool:
    """Whether `name` has the form of a repository's name: owner/name, or name."""
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def open_repository(name: str, kind: str, revision: str | None = None) -> Repository:
    """What the repository `name` holds at `revision`: a branch, tag or commit; by default its main branch.

    Raises ModelError or CorpusError, by its kind, if it cannot be found or may not be read.
    """
    silence_library()
    with reporting(name, kind, revision):
        api = HfApi(endpoint=constants.ENDPOINT)
        look: Any = api.model_info if kind == "model" else api.dataset_info
        try:
            info = look(name, revision=revision, timeout=_TIMEOUT_SECONDS, files_metadata=True)
            files = tuple(map(_file, info.siblings or []))
            if not COMMIT.fullmatch(info.sha):
                raise ValueError(info.sha)
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            if isinstance(error, (httpx2.HTTPError, HFValidationError)):
                raise
            raise NonsenseError(first_line(error)) from error
    return Repository(info.id or name, kind, info.sha, files)


def _file(sibling: Any) -> File:
    """A file as the client lists it; raises ValueError if its description makes no sense."""
    digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id or ""
    size = sibling.size or 0
    if not (isinstance(sibling.rfilename, str) and isinstance(size, int) and size >= 0 and isinstance(digest, str)):
        raise ValueError(f"{sibling.rfilename!r} is described oddly")
    return File(sibling.rfilename, size, digest)
