"""Whether an encoder writes the length of a sentence into its [CLS] vector, and where.

The parts that load torch or the statistics libraries are imported when first used.
"""

import importlib
from typing import TYPE_CHECKING

from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment, Pooling

if TYPE_CHECKING:
    from clsviz.analysis import fit
    from clsviz.encoder import Encoder
    from clsviz.models import resolve
    from clsviz.store import Store

__all__ = ["ClsvizError", "Encoder", "Experiment", "Pooling", "Store", "fit", "resolve"]

_HOMES = {"Encoder": "encoder", "Store": "store", "fit": "analysis", "resolve": "models"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"clsviz.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clsviz' has no attribute {name!r}")
