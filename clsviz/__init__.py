"""Measures whether, and where, an encoder stores sentence length in [CLS].

import clsviz

result = clsviz.measure("minilm", ["A sentence.", "Another one."])
print(result.verdict)
"""

import os
import sys
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

__all__ = [
    "ClsvizError",
    "Encoder",
    "Experiment",
    "Result",
    "chunk_test",
    "compare",
    "measure",
    "probe",
    "report",
    "search_test",
]


def __getattr__(name: str) -> Any:
    """`Encoder`, when it is asked for: torch comes with it, which takes seconds to import."""
    if name != "Encoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from clsviz.encoder.encoder import Encoder

    return Encoder
