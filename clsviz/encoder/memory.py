"""Memory: how much a model needs, how much is free, and how to tell that it ran out."""

import math
from pathlib import Path

import psutil
import torch

from clsviz.errors import ModelError
from clsviz.models import Weights

_MEMORY_FACTOR = 1.5
"""Memory to load and run a model, relative to the size of its float32 weights."""


_CONTROL_GROUP = Path("/sys/fs/cgroup")
"""Where Linux reports a container's memory."""


_LARGEST_KEPT = 2**25 - 2**16
"""Bytes, a little less than 32 MiB."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: CUDA does not always raise its own type, and others raise a RuntimeError that says so."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error).lower()
        for words in ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    )


def check_memory(weights: Weights, n_weights: int) -> None:
    """Raise ModelError if this machine's free memory cannot hold so many weights in float32 and some room to work."""
    needed = _MEMORY_FACTOR * 4 * n_weights
    available = min(psutil.virtual_memory().available, container_memory())
    if needed > available:
        raise ModelError(
            f"{weights.label} needs about {needed / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB are free. "
            "Close other programs, or choose a smaller model."
        )


def container_memory(control_group: Path = _CONTROL_GROUP) -> float:
    """Bytes that this container still lets its programs use; infinite without a container or a limit."""
    try:
        limit, used = (int((control_group / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (control_group / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics["inactive_file"])  # cached files, dropped when memory is needed
    except (OSError, ValueError, LookupError):
        return math.inf


def keep_freed_memory() -> None:
    """Let the memory that a batch frees serve the next one, where glibc allocates it.

    It gives freed memory back to the system beyond twice the largest block that was ever freed, up to 32 MiB a block
    (mallopt(3), M_MMAP_THRESHOLD), and the system gives it out anew page by page: a seventh of the time of a batch. So
    free a block of nearly that size; nothing touches it, so it takes no memory.
    """
    torch.empty(_LARGEST_KEPT, dtype=torch.uint8)
