"""Names on the Hugging Face Hub: commits, revisions, and what a misspelt name may have meant."""

import difflib
import re
from collections.abc import Iterable

COMMIT = re.compile(r"[0-9a-f]{40}")


_REVISION = re.compile(r"\w[\w./+@#=-]*")


def shortened(revision: str) -> str:
    """A revision as a label shows it: a commit by its first seven digits."""
    return revision[:7] if COMMIT.fullmatch(revision) else revision


def suggestion(name: str, catalogue: Iterable[str]) -> str:
    """Which name of the catalogue may have been meant by `name`, as a further sentence; "" if none comes close."""
    names = [known for known in catalogue if known != name]
    close = difflib.get_close_matches(name.lower(), names, n=1) or [known for known in names if name.lower() in known]
    return f" Perhaps you meant {close[0]}." if close and "/" not in name else ""


def is_revision(text: str) -> bool:
    """Whether `text` may name a branch, a tag or a commit; as a path it does not leave the cache's folder."""
    return _REVISION.fullmatch(text) is not None and ".." not in text and len(text) <= 200
