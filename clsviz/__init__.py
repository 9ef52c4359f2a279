"""Measures whether, and where, an encoder stores sentence length in [CLS].

import clsviz

result = clsviz.measure("minilm", ["A sentence.", "Another one."])
print(result.verdict)
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from clsviz.api import chunk_test, compare, measure, probe, report, search_test
    from clsviz.errors import ClsvizError
    from clsviz.results.result import Result
    from clsviz.settings import Experiment
except KeyboardInterrupt:
    if Path(sys.argv[0]).stem not in ("-m", "clsviz"):  # a program that imports us
        raise
    print("clsviz: stopped.", file=sys.stderr or sys.stdout)  # the command, before its own code
    os._exit(130)  # after an exec that was interrupted, Python would end by the signal

if TYPE_CHECKING:
    from clsviz.encoder.encoder import Encoder
    from clsviz.evaluator import LengthEvaluator

__all__ = [
    "ClsvizError",
    "Encoder",
    "Experiment",
    "LengthEvaluator",
    "Result",
    "chunk_test",
    "compare",
    "measure",
    "probe",
    "report",
    "search_test",
]


LAZY = {"Encoder": "clsviz.encoder.encoder", "LengthEvaluator": "clsviz.evaluator"}


def __getattr__(name: str) -> Any:
    """What torch comes with, when it is asked for: that takes seconds to import."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)
