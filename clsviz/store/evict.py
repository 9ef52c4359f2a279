"""What has long been unused goes, where the store is larger than its limit."""

import contextlib
import time
from pathlib import Path
from typing import Final

from clsviz import files

IN_USE_SECONDS: Final = 3600.0
"""What was used since then stays: a job may be about to continue it."""


def evict(root: Path, limit_bytes: float) -> None:
    """Remove what was used longest ago, until the rest of the store has at most so many bytes.

    That is measurements, each as a whole, copies of corpora, and results. Uploads have a lifetime
    of their own.
    """
    parts = [*root.glob("*-*/"), *root.glob("corpora/*"), *root.glob("results/*.safetensors")]
    used, sizes = {}, {}
    for part in parts:
        with contextlib.suppress(OSError):  # another program has removed it
            used[part] = part.stat().st_mtime
            content = part.iterdir() if part.is_dir() else [part]
            sizes[part] = sum(path.stat().st_size for path in content)
    n_bytes = sum(sizes.values())
    newest = time.time() - IN_USE_SECONDS
    for part in sorted(sizes, key=lambda part: used[part]):
        if n_bytes <= limit_bytes or used[part] > newest:
            return
        files.remove(part)
        n_bytes -= sizes[part]
