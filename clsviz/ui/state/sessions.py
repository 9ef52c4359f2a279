"""The sessions of browsers that left: Streamlit keeps up to 128 of them, with all that they hold and three files each.

It does so for those that come back within two minutes, but lets go of them only when others leave.
"""

import gc
import time

from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

_NEW_OBJECTS = 20_000
"""After so many Python looks for circles among them: a run of a page makes some thousands, nearly all without."""


class Left:
    """Closes the sessions whose browsers left and did not come back."""

    def __init__(self, seconds: float) -> None:
        """seconds: how long a browser may take to come back."""
        self._seconds = seconds
        self._since: dict[str, float] = {}
        self._n_closed = 0

    def close(self) -> None:
        """Close those that have been away for too long; to be called every so often, from any thread."""
        if self._n_closed:  # since the last call: what they held is in circles, which Python looks for too rarely
            self._n_closed = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        if exists():
            runtime = get_instance()
            runtime._get_async_objs().eventloop.call_soon_threadsafe(self._close, runtime)

    def _close(self, runtime: Runtime) -> None:
        now = time.monotonic()
        ids = [info.session.id for info in runtime._session_mgr.list_sessions()]
        self._since = {name: self._since.get(name, now) for name in ids if not runtime.is_active_session(name)}
        for name, since in [*self._since.items()]:
            if now - since >= self._seconds:
                runtime.close_session(name)
                self._n_closed += 1


def settle() -> None:
    """Look for circles less often, and not among what is loaded by now: each look stops all runs of pages."""
    gc.freeze()  # until `Left.close` looks through everything
    gc.set_threshold(_NEW_OBJECTS)


def bound_uploads(most_bytes: int | None) -> None:
    """Drop uploads from memory, those that were there longest first, until the others have at most so many bytes."""
    if most_bytes is not None and exists():
        files = get_instance().uploaded_file_mgr
        if isinstance(files, MemoryUploadedFileManager):  # another keeps none there
            drop_oldest(files, most_bytes)


def drop_oldest(files: MemoryUploadedFileManager, most_bytes: int) -> None:
    """Drop files until those that are left have at most `most_bytes`.

    A session whose file was dropped keeps what was made of it. Streamlit has them in the order of the sessions’ first
    uploads, and each session’s in the order in which they came.
    """
    kept = [
        (session, name, len(file.data))
        for session, of_session in [*files.file_storage.items()]
        for name, file in [*of_session.items()]
    ]
    total = sum(n_bytes for _, _, n_bytes in kept)
    for session, name, n_bytes in kept:
        if total <= most_bytes:
            return
        files.remove_file(session, name)
        total -= n_bytes
