"""The right to measure something, which one process has: of this machine, and of all that share a bucket.

    <bucket>/norms-<digest of the key>/claims/000016384-0.lock    who measures the part from 16,384 on, and since when

On this machine it is a lock, which ends with its process. In a bucket it is a file that was created while there was
none, and is written anew every minute. If it is not, whoever had it is taken to be dead, and the next to come creates
the file of the next number, which again but one can do. Where files cannot be created in that way, two may measure the
same: that costs time and changes nothing.
"""

import contextlib
import functools
import json
import os
import platform
import re
import secrets
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from clsviz.atomic import new_file
from clsviz.errors import StoreError

if TYPE_CHECKING:
    from clsviz.measuring.remote import Remote

CLAIMS = "claims"
"""The folder, beside the parts, of the claims to single ones of them."""

DEAD = timedelta(minutes=5)
"""A claim that is older has nobody who keeps it up. The clocks of two machines may differ by less than that."""

_KEEP_UP_SECONDS = 60.0

_NAME = re.compile(r"(\w+)-(\d+)\.lock")

_MIRROR = "mirror.json"
"""Which bucket a folder is a copy of, and what tells this copy from those of other machines."""


class Claim(contextlib.ExitStack):
    """The right to measure something, until it is released."""

    def release(self) -> None:
        """Give it back."""
        self.close()


class Claims:
    """The claims in a bucket, as one machine has them."""

    def __init__(self, remote: "Remote", root: Path) -> None:
        """root: the folder on this machine that is a copy of it."""
        self._remote, self._root = remote, root

    def take(self, folder: str, what: str) -> Claim | None:
        """The right to measure `what`, a word, for a folder of parts; None if another machine has it.

        Whoever asks has the lock of this machine for the same; what this machine has in the bucket is then of a process
        that was killed. Raises StoreError.
        """
        folder = f"{folder}/{CLAIMS}"
        matches = filter(None, map(_NAME.fullmatch, self._remote.names(folder, fresh=True)))
        last = max((int(match[2]) for match in matches if match[1] == what), default=-1)
        if last >= 0 and not self._is_dead(f"{folder}/{what}-{last}.lock"):
            return None
        path = f"{folder}/{what}-{last + 1}.lock"
        if not self._remote.create(path, self._said()):
            return None
        claim = Claim()
        for number in range(last + 2)[::-1]:  # the own is deleted last
            claim.callback(self._remote.delete, f"{folder}/{what}-{number}.lock")
        claim.enter_context(self._kept_up(path))
        return claim

    def _is_dead(self, path: str) -> bool:
        """Whether nobody keeps up a claim any more."""
        try:
            said = json.loads(self._remote.read(path) or "{}")
            age = datetime.now(UTC) - datetime.fromisoformat(said["at"])
            return said["by"] == self._name or bool(age > DEAD)
        except (ValueError, TypeError, LookupError, RecursionError):  # it is gone by now, or nothing that we wrote
            return True

    @contextlib.contextmanager
    def _kept_up(self, path: str) -> Iterator[None]:
        ended = threading.Event()

        def keep_up() -> None:
            while not ended.wait(_KEEP_UP_SECONDS):
                with contextlib.suppress(StoreError):  # it is tried again
                    self._remote.replace(path, self._said())

        thread = threading.Thread(target=keep_up, name="claim", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            if not sys.is_finalizing():  # when no thread runs any more
                thread.join()  # or it could write the claim after it was deleted

    def _said(self) -> bytes:
        about = {"by": self._name, "at": datetime.now(UTC).isoformat(), "host": platform.node(), "pid": os.getpid()}
        return json.dumps(about).encode()

    @functools.cached_property
    def _name(self) -> str:
        """What tells this copy of the bucket from those of other machines."""
        path = self._root / _MIRROR
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(path.with_suffix(".lock")):
                with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
                    return str(json.loads(path.read_bytes())["name"])
                name = secrets.token_hex(8)
                with new_file(path) as temporary:
                    temporary.write_text(json.dumps({"of": self._remote.name, "name": name}))
                return name
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error.strerror}). Choose another cache folder.") from error
