"""Answers, and those that come with clsviz: it opens without a network, and without waiting."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from clsviz.store.results import path_of

SHIPPED: Final = Path(str(files("clsviz"))) / "results" / "data"
"""Chunks and results of the built-in model on the built-in corpus; never written."""

ELSEWHERE: Final = "The numbers that come with clsviz were measured on another machine."


def origin(key: str | tuple[object, ...]) -> list[str]:
    """A caveat where what has this key, of chunks or of a result, comes with clsviz."""
    path = SHIPPED / key if isinstance(key, str) else path_of(SHIPPED, key)
    return [ELSEWHERE] * path.exists()
