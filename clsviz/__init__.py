"""Answers where an encoder writes the length of a sentence in its [CLS] vector, and if.

import clsviz

result = clsviz.measure("minilm", ["A sentence.", "Another one."])
print(result.verdict)
"""

from clsviz.api import chunk_test, compare, measure, probe, report, search_test
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.results.result import Result

__all__ = [
    "ClsvizError",
    "Experiment",
    "Result",
    "chunk_test",
    "compare",
    "measure",
    "probe",
    "report",
    "search_test",
]
