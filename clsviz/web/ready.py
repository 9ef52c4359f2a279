"""Whether the server can do its work, for whoever decides to send visitors to it."""

import logging
import tempfile
import threading
import time
from collections.abc import Callable

from clsviz import models
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.measuring import Jobs

_log = logging.getLogger(__name__)


class Readiness:
    """What `/ready` says, found out anew every few seconds at most, however often it is asked."""

    def __init__(self, jobs: Callable[[], Jobs], fresh_seconds: float = 2.0) -> None:
        """jobs: those of the server. fresh_seconds: for how long what was found out holds."""
        self._jobs = jobs
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._state: dict[str, bool] = {}
        self._until = 0.0

    def state(self) -> dict[str, bool | int]:
        """Whether the store can be written, whether the default model is there, and how many jobs wait.

        Of the model: its configuration and tokenizer are there, the header of its weights can be read, and all its
        bytes are those that clsviz was tested with. It is not loaded.
        """
        with self._lock:
            if time.monotonic() >= self._until:
                self._state = {"store_is_writable": self._is_writable(), "model_is_whole": _is_whole()}
                self._until = time.monotonic() + self._fresh_seconds
            state = dict(self._state)
        return {"ready": all(state.values()), **state, "queue_length": self._jobs().n_queued}

    def _is_writable(self) -> bool:
        root = self._jobs().store.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root) as file:
                file.write(b"ready")
                file.flush()
        except OSError as error:
            _log.warning("The store cannot be written: %s", error)
            return False
        return True


def _is_whole() -> bool:
    try:
        models.find(Experiment().model)
    except (ClsvizError, OSError) as error:
        _log.warning("The default model cannot be used: %s", error)
        return False
    return True
