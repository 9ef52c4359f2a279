"""Whatever the Hub, or the way to it, does wrong, in one sentence."""

import contextlib
import errno
from collections.abc import Iterator

import httpx2

from clsviz.errors import ClsvizError, CorpusError, ModelError, first_line


class NoRevisionError(CorpusError):
    """The dataset has no such branch, tag or commit."""


class NonsenseError(OSError):
    """What the Hub answers is not what it should."""


class DamagedError(OSError):
    """What arrived is not what was announced."""


_ERRORS: dict[str, type[ClsvizError]] = {"model": ModelError, "dataset": CorpusError}


def silence_library() -> None:
    """What matters of what the library says on stderr is raised."""
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


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
    if isinstance(cause, NonsenseError):
        return (
            f"What answers for {name} in the place of the Hugging Face Hub makes no sense. Check whether the network "
            f"wants a login first, or {otherwise}."
        )
    if isinstance(cause, DamagedError):
        return f"{name} was damaged on its way here. Try again: what was damaged is fetched anew."
    if isinstance(cause, OSError) and cause.errno is None and not isinstance(cause, httpx2.HTTPError):
        return f"The download of {name} broke off ({first_line(cause).rstrip('.')}). Try again: it goes on from there."
    return (
        f"The Hugging Face Hub cannot be reached for {name} ({first_line(cause)}). Check the connection and try again, "
        f"or {otherwise}."
    )
