"""Memory: how much a model needs, how much there is, and how it shows that it ran out."""

import math
from pathlib import Path
from typing import Any

import psutil
import torch
import transformers

from clsviz.errors import ModelError
from clsviz.models import Weights


def is_out_of_memory(error: Exception) -> bool:
    """CUDA has a type of its own for it, but not in all places; others raise a RuntimeError that says so."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error).lower()
        for words in ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    )


_CGROUP = Path("/sys/fs/cgroup")


_MEMORY_FACTOR = 1.5
"""Memory that a model takes while it is loaded and run, in sizes of its float32 weights."""


def check_memory(weights: Weights, config: Any) -> None:
    """Raise ModelError where the model's weights, in float32, leave no room in this machine's memory to work with."""
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]
    needed = _MEMORY_FACTOR * 4 * sum(parameter.numel() for parameter in model.parameters())
    available = min(psutil.virtual_memory().available, _container_memory())
    if needed > available:
        raise ModelError(
            f"{weights.label} needs about {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB are free. "
            "Close other programs, or choose a smaller model."
        )


def _container_memory() -> float:
    """Bytes that the container, if this is one, still lets its programs use."""
    try:
        limit, used = (int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics["inactive_file"])  # what files left there is given up when needed
    except (OSError, ValueError, LookupError):  # it has none, or no limit
        return math.inf
