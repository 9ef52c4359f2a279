"""Whatever goes wrong at the Hub, or on the way to it, in one sentence that says what to do."""

import contextlib
import errno
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx2
from huggingface_hub import constants, errors
from huggingface_hub.utils import logging

from clsviz.errors import ClsvizError, CorpusError, ModelError, first_line


class NoRevisionError(CorpusError):
    """The dataset has no such branch, tag or commit."""


class NonsenseError(OSError):
    """What the Hub answers is not what it should be."""


class DamagedError(OSError):
    """What arrived is not what was announced."""


class _Cause(NamedTuple):
    """An error, and the status that the Hub answered with, or 0."""

    error: BaseException
    status: int

    @property
    def errno(self) -> int | None:
        """The system's number for it."""
        return self.error.errno if isinstance(self.error, OSError) else None

    @property
    def file_name(self) -> object:
        """The file that could not be read or written."""
        return self.error.filename if isinstance(self.error, OSError) else None


_ERRORS: dict[str, type[ClsvizError]] = {"model": ModelError, "dataset": CorpusError}


_BUILT_IN = {"model": "MiniLM-L6", "dataset": "Python 3.11 documentation"}


_REFUSALS: dict[type[Exception], str] = {
    errors.HFValidationError: (
        "“{name}” is not the name of a {kind}. Choose one from the list, or give an id from the Hugging Face Hub."
    ),
    errors.GatedRepoError: (
        "{name} is gated. Ask for access on its page on the Hugging Face Hub; then, where clsviz runs, log in with: hf "
        "auth login."
    ),
    errors.RepositoryNotFoundError: (
        "The Hugging Face Hub has no {kind} {name}, or it is private. Check its name; if it is private, log in where "
        "clsviz runs with: hf auth login."
    ),
    errors.RevisionNotFoundError: (
        "{name} has no revision “{revision}”. Name a branch, a tag or a full commit after the @, or none."
    ),
}
"""What the client raises with a type of its own. A gated repository counts as not found too, so it comes first."""


_FAILURES: tuple[tuple[Callable[[_Cause], object], str], ...] = (
    (
        lambda cause: cause.errno in (errno.ENOSPC, errno.EDQUOT),
        "The disk is too full for {name} ({system}). Make room in {cache}, or set HF_HOME to a folder on another disk.",
    ),
    (
        lambda cause: cause.file_name is not None,
        "{name} cannot be kept in {cache} ({system}). Make that folder writable, or set HF_HOME to another.",
    ),
    (
        lambda cause: isinstance(cause.error, errors.OfflineModeIsEnabled),
        "{name} is not on this machine, and HF_HUB_OFFLINE forbids downloading it. Unset it, or {otherwise}.",
    ),
    (
        lambda cause: cause.status in (401, 403),
        "The Hugging Face Hub does not let you read {name} ({status}). If it is yours to read, log in where clsviz "
        "runs with: hf auth login.",
    ),
    (
        lambda cause: cause.status == 429,
        "The Hugging Face Hub got too many requests from here to serve {name} (429). Wait a few minutes, then try "
        "again.",
    ),
    (
        lambda cause: cause.status,
        "The Hugging Face Hub cannot serve {name} at the moment ({status}). Try again later, or {otherwise}.",
    ),
    (
        lambda cause: isinstance(cause.error, NonsenseError),
        "Something other than the Hugging Face Hub answered for {name}. Check whether the network wants a login first, "
        "or {otherwise}.",
    ),
    (
        lambda cause: isinstance(cause.error, DamagedError),
        "{name} was damaged on its way here. Try again: what was damaged is downloaded anew.",
    ),
    (
        lambda cause: (
            isinstance(cause.error, OSError) and cause.errno is None and not isinstance(cause.error, httpx2.HTTPError)
        ),
        "The download of {name} broke off ({reason}). Try again: it resumes from there.",
    ),
    (
        lambda cause: True,
        "The Hugging Face Hub cannot be reached for {name} ({reason}). Check the connection and try again, or "
        "{otherwise}.",
    ),
)
"""What tells a failure, and the message for it; the first that applies is taken."""


def silence_library() -> None:
    """Keep the library from logging on stderr: whatever matters is raised as well."""
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def reporting(name: str, kind: str, revision: str | None = None) -> Iterator[None]:
    """Raise whatever goes wrong in the block as a ModelError or CorpusError, by `kind`, with a message of one sentence.

    name, kind: of the repository. revision: the one asked for. Raises NoRevisionError where a dataset does not have it.
    """
    error_type = _ERRORS[kind]
    try:
        yield
    except tuple(_REFUSALS) as error:
        message = next(message for refusal, message in _REFUSALS.items() if isinstance(error, refusal))
        is_revision = isinstance(error, errors.RevisionNotFoundError) and kind == "dataset"
        raise (NoRevisionError if is_revision else error_type)(
            message.format(name=name, kind=kind, revision=revision)
        ) from None
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, OSError, ValueError) as error:
        raise error_type(_explained(error, name, kind)) from error


def _explained(error: Exception, name: str, kind: str) -> str:
    """What went wrong on the way, and what to do."""
    root: BaseException = error
    while isinstance(root, errors.LocalEntryNotFoundError) and root.__cause__ is not None:
        root = root.__cause__
    cause = _Cause(root, getattr(getattr(root, "response", None), "status_code", None) or 0)
    message = next(message for applies, message in _FAILURES if applies(cause))
    return message.format(
        name=name,
        status=cause.status,
        system=getattr(root, "strerror", None),
        reason=first_line(root).rstrip("."),
        cache=constants.HF_HUB_CACHE,
        otherwise=f"choose {_BUILT_IN[kind]}, which is built in",
    )
