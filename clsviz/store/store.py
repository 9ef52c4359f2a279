"""The parts on disk: runs of measured sentences, addressed by what they were computed from and only ever added to.

    <store>/norms-<digest of the key>/key.json                                the key, for people to read
                                      000000032-000000064-<digest>.safetensors  sentences 32 to 63 of the sample
                                      speed.json                                how long the largest part took

A part is written under a temporary name, synced and renamed, so a kill at any moment loses at most the part in hand.
What is damaged (see `parts`) is dropped, and measured again.

A store in a bucket is a folder on this machine as well. What is measured here is put there, what others measured there
is fetched when it is read, and everything but parts and their censuses stays here.
"""

import contextlib
import copy
import errno
import functools
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import filelock
import platformdirs

from clsviz.atomic import NotRegularError, mark_used, write_file
from clsviz.errors import StoreError, name_too_long
from clsviz.measurements import Kind, Measurements
from clsviz.store.parts import (
    DAMAGE,
    KEY_FILE,
    Key,
    Part,
    is_whole,
    measured_rate,
    measurements_in,
    named,
    note_speed,
    packed,
)

if TYPE_CHECKING:
    from clsviz.store.remote import Bucket


LOCK = "writer.lock"
"""Held by whoever adds to the parts beside it, or measures all of them."""


SHOWCASE = Path(__file__).parent / "data"
"""The store that comes with clsviz, so that the first picture needs neither a model nor a wait.

What was read from its measurements lies beside them: `python -m clsviz.analysis.showcase` makes all of it anew.
"""


@dataclass(frozen=True)
class Origin:
    """When and where that was made. day: YYYY-MM-DD. machine: its processor. torch, transformers: their versions."""

    day: str
    machine: str
    torch: str
    transformers: str


@functools.cache
def origin() -> Origin:
    """When and where what is shipped was measured."""
    return Origin(**json.loads((SHOWCASE / "about.json").read_text(encoding="utf-8")))


def is_url(place: object) -> TypeGuard[str]:
    """Whether a store is not a folder on this machine, but in a bucket or on whatever else fsspec reaches."""
    return isinstance(place, str) and "://" in place


class Tally:
    """How many sentences were measured and kept since the server started; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.n = 0

    def add(self, n: int) -> None:
        """Count n more."""
        with self._lock:
            self.n += n


class Store:
    """The parts below one folder, or in a bucket; several processes may share it."""

    def __init__(self, place: Path | str | None = None, shipped: Path | None = None) -> None:
        """A store in a folder, which is created when it is first written to, or behind a URL such as s3://bucket/folder.

        By default it is where CLSVIZ_STORE says, or else in the user's cache folder. shipped: another store, which is
        only read, and only for parts that this one does not have.
        """
        place = place or os.environ.get("CLSVIZ_STORE") or platformdirs.user_cache_path("clsviz")
        self._bucket: Bucket | None = None
        if is_url(place):
            from clsviz.store import remote  # only now fsspec loads

            self._bucket = remote.Bucket(place)
        self.root = self._bucket.root if self._bucket else Path(place)
        """The folder; of a bucket, its copy on this machine."""
        self.results, self.corpora = self.root / "results", self.root / "corpora"
        """Folders of what was computed from measurements, and of corpora that were built or uploaded."""
        self.shipped = shipped
        """Where the store that came with clsviz is, if this one looks there."""
        self._damaged: set[Path] = set()
        """Parts that are not used any more, wherever they could not be deleted."""
        self.tally = Tally()

    @property
    def address(self) -> str:
        """What names this store to other processes: the URL, or the path of the folder."""
        return self._bucket.url if self._bucket else str(self.root.resolve())

    @property
    def own(self) -> "Store":
        """The same store without what is shipped."""
        own = copy.copy(self)
        own.shipped = None
        return own

    def is_shipped(self, part: Part) -> bool:
        """Whether the part was measured elsewhere and came with clsviz."""
        return self.shipped is not None and self.shipped in part.path.parents

    def parts(self, key: Key) -> dict[int, Part]:
        """The parts of `key` by their start, not yet checked for damage; raises StoreError."""
        self.mark_used(key)
        there = self._bucket.names(key.folder_name) if self._bucket else frozenset()
        try:
            shipped = self._parts_in(self.shipped, key) if self.shipped else []
            parts = [*shipped, *self._parts_in(self.root, key, there)]
            return {part.start: part for part in parts if part.path not in self._damaged}
        except OSError as error:
            raise self._unusable(error) from error

    def _parts_in(self, root: Path, key: Key, there: Iterable[str] = ()) -> list[Part]:
        """Those below a folder, with these names and those that lie there already."""
        folder = root / key.folder_name
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            names = os.listdir(folder)  # glob is silent about other errors too, from Python 3.13 on
        here = {name for name in names if name.endswith(".safetensors") and (folder / name).is_file()}
        return named({*here, *there}, folder, key)

    def mark_used(self, key: Key) -> None:
        """Note that the parts of `key` are used now."""
        mark_used(self.root / key.folder_name / KEY_FILE)

    def read(self, part: Part) -> Measurements | None:
        """The measurements of `part`; None if it is damaged. Raises StoreError.

        A damaged part is deleted, unless it is shipped. Vectors are read from the file only when they are needed,
        because they may be large.
        """
        measurements = self._read_here(part)
        if measurements is None and self._fetch(part):
            measurements = self._read_here(part)
            if measurements is None:
                self.drop(part)
        return measurements

    def _read_here(self, part: Part) -> Measurements | None:
        """The same, of what is on this machine."""
        try:
            if is_whole(part.path, part.path.name):
                with contextlib.suppress(*DAMAGE):
                    return measurements_in(part)
        except FileNotFoundError:
            return None  # another process found it damaged
        except NotRegularError:
            pass
        except OSError as error:
            raise self._unusable(error) from error
        self._drop_here(part)
        return None

    def _fetch(self, part: Part) -> bool:
        """Copy a part to this machine; whether there is one, with the bytes that its name stands for."""
        name, folder = part.path.name, part.key.folder_name
        if self._bucket is None or self.is_shipped(part) or name not in self._bucket.names(folder):
            return False
        if not (part.path.parent / KEY_FILE).exists():
            self._describe_here(part.key)
        for _ in range(2):  # what arrives damaged need not be damaged there
            if self._bucket.fetch(f"{folder}/{name}", lambda path: is_whole(path, name)):
                return True
        self._bucket.drop(f"{folder}/{name}")
        return False

    def drop(self, part: Part) -> None:
        """Delete a part that is damaged, unless it is shipped; one that cannot be deleted will not be used either."""
        self._drop_here(part)
        if self._bucket and not self.is_shipped(part):
            self._bucket.drop(f"{part.key.folder_name}/{part.path.name}")

    def _drop_here(self, part: Part) -> None:
        self._damaged.add(part.path)
        if not self.is_shipped(part):
            with contextlib.suppress(OSError):
                part.path.unlink(missing_ok=True)
                self._damaged.discard(part.path)

    def append(self, key: Key, start: int, measurements: Measurements, seconds: float) -> Part:
        """Store measurements of the sentences from `start` on, which took `seconds`; raises StoreError."""
        part, content = packed(key, start, measurements, self.root / key.folder_name)
        write_file(part.path, content)
        self._damaged.discard(part.path)
        note_speed(part.path.parent, len(measurements), seconds)
        self.tally.add(len(measurements))
        if self._bucket:
            self._bucket.put(f"{key.folder_name}/{part.path.name}")
        return part

    def push(self, key: Key) -> None:
        """Put into the bucket, if there is one, what is only on this machine: what a run left that lost the network.

        Raises StoreError.
        """
        if self._bucket is None:
            return
        there = self._bucket.names(key.folder_name, fresh=True)
        for part in self._parts_in(self.root, key):
            if part.path.name not in there and self._read_here(part) is not None:
                self._bucket.put(f"{key.folder_name}/{part.path.name}")

    def beside(self, key: Key) -> frozenset[str]:
        """What lies beside the parts of `key` in the bucket, if there is one; raises StoreError."""
        return self._bucket.names(key.folder_name) if self._bucket else frozenset()

    def fetch_beside(self, key: Key, name: str) -> bool:
        """Copy a file that lies beside the parts of `key` from the bucket; whether it was there. Raises StoreError."""
        return self._bucket is not None and self._bucket.fetch(f"{key.folder_name}/{name}")

    def put_beside(self, key: Key, name: str) -> None:
        """Put a file that lies beside the parts of `key` into the bucket, if there is one that lets us."""
        if self._bucket:
            with contextlib.suppress(StoreError):  # others can do without
                self._bucket.put(f"{key.folder_name}/{name}", replace=True)

    @contextlib.contextmanager
    def lock(self, key: Key, name: str = LOCK) -> Iterator[None]:
        """Keep others on this machine from what a lock stands for, and from tidying up the parts of `key`.

        Raises StoreError, and filelock.Timeout at once if another process has it.
        """
        folder = self.root / key.folder_name
        lock = filelock.FileLock(folder / name, timeout=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except filelock.Timeout:
            raise
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def writer(self, key: Key) -> Iterator[None]:
        """Hold the right to append to `key`; raises StoreError, and filelock.Timeout at once if another process has it.

        Machines that share a bucket do not know of each other: what two of them measure is the same file.
        """
        with self.lock(key):
            self.describe(key)
            yield

    def describe(self, key: Key) -> None:
        """Say beside the parts of `key` what they are of; raises StoreError."""
        self._describe_here(key)
        if self._bucket:
            self._bucket.put(f"{key.folder_name}/{KEY_FILE}")

    def _describe_here(self, key: Key) -> None:
        write_file(self.root / key.folder_name / KEY_FILE, json.dumps(asdict(key), indent=1).encode())

    def _unusable(self, error: OSError) -> StoreError:
        if error.errno == errno.ENAMETOOLONG:
            return name_too_long("store", self.root)
        return StoreError(f"The store {self.root} cannot be used: {error.strerror}. Choose another folder.")

    def rate(self, model: str, precision: str, kind: Kind = Kind.NORMS) -> float | None:
        """Sentences per second at which the model with this fingerprint was last measured here, or None."""
        return measured_rate(self.root.glob(f"{kind}-*/{KEY_FILE}"), model, precision)
