"""What experiments of the catalogue would take, found out while nothing is measured."""

import logging
import threading

from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.estimate import Cost, Machine
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.store import Store
from clsviz.progress import Progress

_log = logging.getLogger(__name__)


class Estimates:
    """The costs that are known; safe to share between threads."""

    def __init__(self, store: Store, encoders: Encoders, machine: Machine) -> None:
        self._store = store
        self._encoders = encoders
        self._machine = machine
        self._costs: dict[Experiment, Cost] = {}
        self._begun: set[Experiment] = set()
        """Those whose cost was looked up since the last job."""
        self._lock = threading.Lock()

    def get(self, experiment: Experiment, *, begin: bool) -> Cost | None:
        """What it would take, or None while that is not known. begin: to find it out, in a thread of its own."""
        with self._lock:
            if begin and experiment not in self._begun:
                self._begun.add(experiment)
                threading.Thread(target=self._find_out, args=[experiment], name="estimate").start()  # torch: no daemon
            return self._costs.get(experiment)

    def outdate(self) -> None:
        """Let all be found out again, as a job has ended: what it measured or fetched costs nothing any more."""
        with self._lock:
            self._begun.clear()

    def _find_out(self, experiment: Experiment) -> None:
        try:
            self._machine.measure()
            cost = Extraction(experiment, self._store, self._encoders, machine=self._machine).look_up(Progress())
        except (ClsvizError, RuntimeError):  # of a card that another program fills, say
            _log.exception("The cost of %s could not be estimated", experiment)
        else:
            with self._lock:
                self._costs[experiment] = cost
