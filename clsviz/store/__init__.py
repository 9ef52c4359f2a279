"""Where measurements and results are stored, and those that come with clsviz."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(str(files("clsviz"))) / "results" / "data"
"""Slices and results of the built-in model on the built-in corpora; never written."""


def default_store() -> Path:
    """The folder of the environment variable CLSVIZ_STORE, or one of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("CLSVIZ_STORE") or Path(cache) / "clsviz")
