"""Answers, and those that come with clsviz: it opens without a network, and without waiting."""

from importlib.resources import files
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(str(files("clsviz"))) / "results" / "data"
"""Chunks and results of the built-in model on the built-in corpus; never written."""
