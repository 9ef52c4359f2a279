"""What a server tidies up while it runs: uploads that nobody looks at any more, and a store that is too large."""

import logging
import threading
import weakref

from clsviz.errors import ClsvizError
from clsviz.jobs.job import Watcher
from clsviz.jobs.queue import JobQueue
from clsviz.limits import Limits
from clsviz.sources import uploads
from clsviz.store.eviction import clean, evict

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
