"""What a server tidies up while it runs: uploads that nobody looks at any more, and a store that is too large.

What killed processes left is removed, and what was longest unused, if the store is too large. When something was last
used is the time of one of its files, which whoever uses it keeps up: so processes that share a store need not know each
other. What is being written is locked, and left alone.
"""

import contextlib
import logging
import os
import secrets
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock

from clsviz.atomic import remove_temporary
from clsviz.errors import ClsvizError
from clsviz.jobs.job import Watcher
from clsviz.jobs.queue import JobQueue
from clsviz.limits import Limits
from clsviz.measurements import Kind
from clsviz.sources import uploads
from clsviz.sources.uploads import UPLOAD, UPLOAD_LENGTH
from clsviz.store.store import LOCK, Store

_SELDOM, _OFTEN = 20.0, 0.2
"""How many seconds there are at most, and at least, between two rounds."""

_log = logging.getLogger(__name__)


class Housekeeping:
    """A thread that tidies up, every so often; it ends with this object."""

    def __init__(
        self,
        jobs: JobQueue,
        limits: Limits,
        *,
        every_seconds: float | None = None,
    ) -> None:
        """every_seconds: between two rounds; by default as the limits need it."""
        self._jobs, self._limits = jobs, limits
        soon = _SELDOM if limits.upload_seconds is None else limits.upload_seconds / 3
        every_seconds = every_seconds or max(_OFTEN, min(_SELDOM, soon))
        self._held: set[tuple[str, Watcher]] = set()
        self._lock = threading.Lock()
        ended = threading.Event()
        weakref.finalize(self, ended.set)
        arguments = weakref.ref(self), ended, every_seconds
        threading.Thread(target=_keep_tidying, args=arguments, name="housekeeping", daemon=True).start()

    def hold(self, upload: str, watcher: Watcher) -> None:
        """Keep an upload for as long as `watcher` is connected."""
        with self._lock:
            self._held.add((upload, watcher))

    def tidy(self) -> None:
        """Do all of it once."""
        store = self._jobs.store
        if self._limits.upload_seconds is not None:
            with self._lock:
                self._held = {held for held in self._held if held[1].is_connected}
                held = {name for name, _ in self._held}
            for name in held:
                uploads.look_at_upload(name, store.corpora)
            for name in uploads.delete_uploads(store.corpora, self._limits.upload_seconds):
                self._jobs.forget(name)
        if self._limits.store_bytes is not None:
            for key in self._jobs.keys:
                store.mark_used(key)
            evict(store, self._limits.store_bytes)


def _keep_tidying(of: "weakref.ref[Housekeeping]", ended: threading.Event, every_seconds: float) -> None:
    is_first = True
    while not ended.wait(every_seconds):
        housekeeping = of()
        if housekeeping is None:
            return
        try:
            if is_first:
                clean(housekeeping._jobs.store)
            housekeeping.tidy()
        except (ClsvizError, OSError):
            _log.exception("The store could not be tidied up")
        is_first = False
        del housekeeping  # or it would never end


RECENT_SECONDS = 600.0
"""What was used more recently than this is never deleted: somebody may be looking at it."""

_DAY = 24 * 3600.0

_EVICTED = ".evicted-"


@dataclass(frozen=True)
class _Unit:
    """What is deleted as a whole: a folder of parts, a result, or what is kept of a corpus; an upload with its own."""

    path: Path
    files: tuple[Path, ...]
    n_bytes: int
    used: float


def evict(store: Store, n_bytes: int) -> list[Path]:
    """Delete what was longest unused until the store has at most `n_bytes`, or all else is in use; returns what was."""
    units = sorted(_units(store.root), key=lambda unit: unit.used)
    total = sum(unit.n_bytes for unit in units)
    newest = time.time() - RECENT_SECONDS
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
    together = {folder: [*folder.iterdir()] for folder in _folders_of_parts(root)}
    together |= {path: [path] for path in (root / "results").glob("*.safetensors")}
    corpora = root / "corpora"
    for folder, _, names in os.walk(corpora):  # what was read of a dataset is a folder
        for name in names:
            of_upload = corpora / (name[:UPLOAD_LENGTH] if name.startswith(UPLOAD) else name)
            path = of_upload if folder == str(corpora) else Path(folder)
            together.setdefault(path, []).append(Path(folder, name))
    for path, files in together.items():
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
