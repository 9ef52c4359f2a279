"""Names on the Hugging Face Hub: commits, revisions, and what else may have been meant."""

import difflib
import re
from collections.abc import Iterable

COMMIT = re.compile(r"[0-9a-f]{40}")


_REVISION = re.compile(r"\w[\w./+@#=-]*")


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
