"""The time that measuring takes, by the speed of what this server has measured."""

import functools
import math
from pathlib import Path
from typing import Final

from clsviz.experiment import Precision
from clsviz.jobs.measure import Measured
from clsviz.ui.server import server

FEW: Final = 500
"""Fewer sentences say little about the speed."""


def note(measured: Measured, precision: Precision) -> None:
    """Note the speed of what was measured now."""
    if measured.n_new >= FEW and (n_weights := count_weights(measured.weights.folder)):
        server().speeds[precision] = measured.n_new * n_weights / measured.seconds


def estimate(n_weights: int, n_sentences: int, precision: Precision) -> float | None:
    """Seconds for a number of sentences; None where nothing has been measured yet.

    n_weights: of the model, as `count_weights` has it: the time grows with them.
    """
    speed = server().speeds.get(precision)
    return n_sentences * n_weights / speed if speed and n_weights else None


@functools.lru_cache(maxsize=64)
def count_weights(folder: Path) -> int:
    """The weights that every token passes: all but those of embeddings; 0 where unknown."""
    from safetensors import safe_open

    total = 0
    for path in folder.glob("model*.safetensors"):
        with safe_open(path, "numpy") as file:
            names = [name for name in file.keys() if "embed" not in name]  # noqa: SIM118
            total += sum(math.prod(file.get_slice(name).get_shape()) for name in names)
    return total
