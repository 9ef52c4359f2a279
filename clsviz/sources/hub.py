"""The Hugging Face Hub: names, the files of a repository, and two sentences for each failure."""

import contextlib
import errno
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from clsviz.errors import ClsvizError, CorpusError, HubError, ModelError, StoreError, quote
from clsviz.progress import Cancelled

Kind = Literal["model", "dataset"]

PATIENCE: Final = 8.0  # seconds without a byte after which the Hub counts as stalled
MOST_PAGES: Final = 200  # of the list of a repository's files; each has a thousand
UNREADABLE: Final[dict[Kind, type[ClsvizError]]] = {"model": ModelError, "dataset": CorpusError}
LOG_IN: Final = "log in where clsviz runs: hf auth login."
REMEDIES: Final = {  # by the status of an answer
    **dict.fromkeys((401, 403), f"If it is yours to read, {LOG_IN}"),
    429: "It counts too many requests of this machine: wait a few minutes, then try again.",
}

FILE_NAMES: Final = ("ETag", "X-Linked-ETag", "X-Repo-Commit")
UNSAFE: Final = re.compile(r"(?<!^W)[/\\]|\.\.")
"""Headers after which the cache names files, and what leads out of a folder; W/ begins an ETag."""

NAME = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*(?:@\w[\w./+#=-]*)?", re.ASCII)


@dataclass(frozen=True)
class Repository:
    """A repository at one commit.

    name: on the Hub today. commit: 40 hexadecimal digits. sizes: bytes of each of its files.
    """

    name: str
    commit: str
    sizes: dict[str, int]


def split_name(text: str, kind: Kind) -> tuple[str, str]:
    """Name and revision, or "", of “owner/name@revision”; raises ModelError or CorpusError."""
    if not NAME.fullmatch(text) or ".." in text or "--" in text:
        raise UNREADABLE[kind](
            f"{quote(text)} cannot be the name of a {kind}.",
            "Choose one from the list, or an id of the Hugging Face Hub, as in owner/name or "
            "owner/name@revision.",
        )
    name, _, revision = text.partition("@")
    return name, revision


def open_repository(name: str, kind: Kind, revision: str, patience: float) -> Repository:
    """The files of a repository at a branch, tag or commit; "" is its main branch.

    Raises ModelError or CorpusError where it cannot be read, and HubError where the Hub fails.
    """
    from huggingface_hub import HfApi

    look: Any = HfApi().model_info if kind == "model" else HfApi().dataset_info
    with asking(name, kind, revision, patience):
        info = look(name, revision=revision or None, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        return Repository(info.id or name, info.sha, sizes)


@contextlib.contextmanager
def asking(
    name: str,
    kind: Kind,
    revision: str,
    patience: float,
    check: Callable[[], None] = lambda: None,
    is_lenient: bool = False,
) -> Iterator[Callable[[], None]]:
    """Keeps the Hub's clients from trying for minutes; raises their failures for users to read.

    Its value is to be called when bytes arrive. A request that comes `patience` seconds after the
    last byte ends in an error, and one that the Hub puts off does at once. check: called before
    each request; may raise. is_lenient: failures that are neither the Hub's nor the network's end
    the block in silence.
    """
    from huggingface_hub import get_session
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # what matters is raised as well
    disable_progress_bars()
    timeout = dict.fromkeys(("read", "write", "pool"), patience) | {"connect": min(patience, 4.0)}
    last, n_pages = time.monotonic(), 0
    refused: Any = None

    def arrive() -> None:
        nonlocal last, refused
        last, refused = time.monotonic(), None

    def on_request(request: Any) -> None:
        check()
        request.extensions = request.extensions | {"timeout": timeout}  # listings have none
        if time.monotonic() - last >= patience:
            if refused is not None:
                refused.raise_for_status()
            raise TimeoutError

    def on_response(response: Any) -> None:
        nonlocal refused, n_pages
        n_pages += "next" in response.links
        if n_pages > MOST_PAGES:
            raise HubError(f"The list of files of {name} has no end.", "Choose another one.")
        names = (response.headers.get(header, "") for header in FILE_NAMES)
        if response.request.method == "HEAD" and any(map(UNSAFE.search, names)):
            raise HubError(f"{name} would be stored outside the cache.", "Check HF_ENDPOINT.")
        if response.status_code == 429:
            response.raise_for_status()
        if response.status_code >= 500:
            refused = response
        else:
            arrive()

    hooks = get_session().event_hooks
    hooks["request"].append(on_request)
    hooks["response"].append(on_response)
    try:
        yield arrive
    except (ClsvizError, Cancelled):
        raise
    except Exception as error:
        if known := failure(error, name, kind, revision, is_lenient):
            raise known from error
    finally:
        hooks["request"].remove(on_request)
        hooks["response"].remove(on_response)


def failure(
    error: BaseException, name: str, kind: Kind, revision: str, is_lenient: bool
) -> Exception | None:
    """The error that users read for the first cause that is known by the name of its class."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) and cause not in causes:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, (ClsvizError, Cancelled)):
            return cause
        names = {base.__name__ for base in type(cause).__mro__}
        status = getattr(getattr(cause, "response", None), "status_code", 0)
        if names & {"GatedRepoError", "DatasetNotFoundError"}:  # of a dataset that the Hub has
            remedy = f"Ask for access on its page of the Hugging Face Hub, then {LOG_IN}"
            return UNREADABLE[kind](f"{name} is gated.", remedy)
        if "RepositoryNotFoundError" in names:
            reason = f"The Hugging Face Hub has no {kind} {name}, or it is private."
            place = "folder begins with ./" if kind == "model" else "file ends in .txt or the like"
            remedy = f"Check the name (a {place}); if it is private, {LOG_IN}"
            return UNREADABLE[kind](reason, remedy)
        if "RevisionNotFoundError" in names:
            remedy = "Name a branch, a tag or a full commit after the @, or none."
            return UNREADABLE[kind](f"{name} has no revision {quote(revision)}.", remedy)
        if status not in (0, 404):  # many files are looked for, and need not be there
            reason = f"The Hugging Face Hub does not serve {name} now ({status})."
            return HubError(reason, REMEDIES.get(status, "Try again later."))
        if "OfflineModeIsEnabled" in names:
            reason = f"{name} is not on this machine, and HF_HUB_OFFLINE forbids the network."
            return HubError(reason, "Unset HF_HUB_OFFLINE, or choose what is on this machine.")
        if getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            remedy = "Free some space, or set HF_HOME to a folder on another disk."
            return StoreError(f"The disk is too full for {name}.", remedy)
        if names & {"TimeoutError", "TimeoutException"}:
            return HubError(f"The Hugging Face Hub does not answer for {name}.", "Try again later.")
        if names & {"ConnectionError", "TransportError"}:
            break
    else:  # something other than the Hub answers
        if is_lenient:
            return None
        cause = error
    return HubError(
        f"The Hugging Face Hub cannot be reached for {name} ({type(cause).__name__}).",
        "Check the network and try again; what is on this machine works without it.",
    )
