"""Room in a store: what killed processes left is removed, and what was longest unused, if the store is too large.

When something was last used is the time of one of its files, which whoever uses it keeps up: so processes that share a
store need not know each other. What is being written is locked, and left alone.
"""

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock

from clsviz.atomic import remove_temporary
from clsviz.measurements import Kind
from clsviz.sources.uploads import UPLOAD, UPLOAD_LENGTH
from clsviz.store.store import LOCK, Store

RECENT_SECONDS = 600.0
"""What was used more recently than this is never deleted: somebody may be looking at it."""

_DAY = 24 * 3600.0

_EVICTED = ".evicted-"


@dataclass(frozen=True)
class _Unit:
    """What is deleted as a whole: a folder of parts, a result, or what is kept of a corpus."""

    path: Path
    files: tuple[Path, ...]
    n_bytes: int
    used: float


def evict(store: Store, n_bytes: int, recent_seconds: float = RECENT_SECONDS) -> list[Path]:
    """Delete what was longest unused until the store has at most `n_bytes`, or all else is in use; returns what was."""
    units = sorted(_units(store.root), key=lambda unit: unit.used)
    total = sum(unit.n_bytes for unit in units)
    newest = time.time() - recent_seconds
    deleted = []
    for unit in units:
        if total <= n_bytes or unit.used > newest:
            break
        if _delete(store.root, unit):
            total -= unit.n_bytes
            deleted.append(unit.path)
    return deleted


def clean(store: Store) -> int:
    """Remove the temporary files that killed processes left in a store; returns how many.

    Those beside parts, if nobody is writing parts there; all others once they are a day old.
    """
    root = store.root
    n_removed = 0
    for folder in _folders_of_parts(root):
        with _unwritten(folder) as is_free:
            n_removed += remove_temporary(folder, 0 if is_free else _DAY)
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        n_removed += remove_temporary(folder, _DAY)
    for path in root.glob(f"{_EVICTED}*"):
        shutil.rmtree(path, ignore_errors=True)
        n_removed += 1
    return n_removed


def _folders_of_parts(root: Path) -> list[Path]:
    return [path for kind in Kind for path in root.glob(f"{kind}-*") if path.is_dir()]


def _units(root: Path) -> Iterator[_Unit]:
    for folder in _folders_of_parts(root):
        yield from _unit(folder, [*folder.iterdir()])
    for path in (root / "results").glob("*.safetensors"):
        yield from _unit(path, [path])
    yield from _units_of_corpora(root / "corpora")


def _units_of_corpora(root: Path) -> Iterator[_Unit]:
    """A file each, but a folder with what was read of a dataset is one, as is an upload with what was made of it."""
    for folder, _, names in os.walk(root):
        together: dict[Path, list[Path]] = {}
        for name in names:
            is_upload = name.startswith(UPLOAD)
            path = Path(folder) if folder != str(root) else root / (name[:UPLOAD_LENGTH] if is_upload else name)
            together.setdefault(path, []).append(Path(folder, name))
        for path, files in together.items():
            yield from _unit(path, files)


def _unit(path: Path, files: list[Path]) -> Iterator[_Unit]:
    with contextlib.suppress(OSError):  # another process deleted it
        states = [file.stat() for file in files]
        if states:
            used = max(state.st_mtime for state in states)
            yield _Unit(path, tuple(files), sum(state.st_size for state in states), used)


def _delete(root: Path, unit: _Unit) -> bool:
    """Delete a unit; False if it is being written, or cannot be."""
    try:
        if unit.path.parent != root:
            for file in unit.files:
                file.unlink(missing_ok=True)
            return True
        with _unwritten(unit.path) as is_free:
            if is_free:
                # Away in one step: nobody finds it half deleted.
                moved = unit.path.rename(root / f"{_EVICTED}{secrets.token_hex(8)}")
                shutil.rmtree(moved, ignore_errors=True)
            return is_free
    except OSError:
        return False


@contextlib.contextmanager
def _unwritten(folder: Path) -> Iterator[bool]:
    """Hold all locks of a folder of parts; gives whether nobody else has one."""
    with contextlib.ExitStack() as held:
        try:
            for path in {folder / LOCK, *folder.glob("*.lock")}:
                held.enter_context(filelock.FileLock(path, timeout=0))
            is_free = True
        except (filelock.Timeout, OSError):
            is_free = False
        yield is_free
