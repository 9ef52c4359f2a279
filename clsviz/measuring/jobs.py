"""Shared background jobs: one for each experiment that is asked, queued, watched and cancellable. No Streamlit here."""

import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from pathlib import Path

from clsviz import corpora, models
from clsviz.errors import CancelledError, ClsvizError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.estimate import Cost, Machine
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.found import asked
from clsviz.measuring.store import Store
from clsviz.progress import Progress

FREE_SECONDS = 30.0
"""What is estimated to take no longer than this starts by itself."""


_GRACE_SECONDS = 15.0
"""How long a job goes on without a watcher: a reload of the page takes a moment."""


JOBS_KEPT = 4
"""Ended jobs that nobody watches whose results stay in memory."""


_log = logging.getLogger(__name__)


class State(Enum):
    """Where a job stands."""

    LOOKING = "looking"  # what is stored is being read
    WAITING = "waiting"  # to be started, as it would take long
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_active(self) -> bool:
        """Whether it will change without anybody's doing."""
        return self in (State.LOOKING, State.QUEUED, State.RUNNING)


class Job(Progress):
    """One experiment on its way. Its fields may be read by any thread, and are written by its own."""

    def __init__(self, extraction: Extraction) -> None:
        super().__init__()
        self.extraction = extraction
        self.state = State.LOOKING
        self.cost: Cost | None = None
        """What it takes to complete it, once known."""
        self.error: ClsvizError | None = None
        """Why it failed."""
        self.wanted = False
        """Whether to measure even what takes long."""
        self._watchers: dict[Hashable, Callable[[], bool]] = {}
        self._watching = threading.Lock()
        self._watched = time.monotonic()

    def watch(self, watcher: Hashable, is_there: Callable[[], bool]) -> None:
        """Let `watcher` keep the job going for as long as `is_there()`."""
        with self._watching:
            self._watchers = {w: there for w, there in self._watchers.items() if there()} | {watcher: is_there}

    @property
    def is_watched(self) -> bool:
        """Whether anybody who watches it is still there."""
        return any(is_there() for is_there in self._watchers.values())

    def leave(self, watcher: Hashable) -> None:
        """Take `watcher` away; the job is cancelled with its last one."""
        with self._watching:
            self._watchers = {w: there for w, there in self._watchers.items() if w != watcher and there()}
            is_last = not self._watchers
        if is_last:
            self.cancel()

    def cancel(self) -> None:
        """Stop at once as far as anybody can see; the thread at work follows at its next step."""
        super().cancel()
        if self.state.is_active or self.state is State.WAITING:
            self.state = State.CANCELLED

    def check(self) -> None:
        """Raise CancelledError if so asked, or if nobody has been watching for a while."""
        now = time.monotonic()
        if self.is_watched:
            self._watched = now
        elif now - self._watched > _GRACE_SECONDS:
            self.cancel()
        super().check()


class Jobs:
    """The jobs of one server: what is stored is found at once, what is not is measured one experiment after another."""

    def __init__(self, store: Store, encoders: Encoders | None = None) -> None:
        self.store = store
        self.encoders = encoders or Encoders()
        self.machine = Machine()
        self._jobs: dict[Hashable, Job] = {}
        self._line: list[Job] = []  # the one that is being measured, and those after it
        self._estimates: dict[Experiment, Cost] = {}
        self._estimated: set[Experiment] = set()
        """Whose cost was looked for since the last job."""
        self._changed = threading.Condition()
        self._closed = False
        # A daemon, so that the server can be stopped at any time; torch must not be at work when the interpreter ends.
        self._worker = threading.Thread(target=self._work, name="measure", daemon=True)
        self._worker.start()
        atexit.register(self.close)

    def open(self, experiment: Experiment, kind: Kind = Kind.NORMS, *, start: bool = False) -> Job:
        """The job of `experiment`, shared by all who ask the same; one that was cancelled or failed begins anew.

        It measures by itself what is estimated to be quick; the rest waits for a call with `start`.
        """
        with self._changed:
            key = (asked(experiment, kind), _state_of_files(experiment))
            job = self._jobs.pop(key, None)
            if job is None or job.state in (State.CANCELLED, State.FAILED):
                found = job.extraction.found if job else None
                job = Job(Extraction(experiment, self.store, self.encoders, found, self.machine, kind))
                threading.Thread(target=self._look_up, args=[job], name="look-up", daemon=True).start()
            job.wanted |= start
            if job.wanted and job.state is State.WAITING:
                self._enqueue(job)
            self._jobs[key] = job  # as the most recently used
            ended = [key for key, job in self._jobs.items() if not job.state.is_active and not job.is_watched]
            for ended_key in ended[:-JOBS_KEPT]:
                del self._jobs[ended_key]
            return self._jobs[key]

    def estimate(self, experiment: Experiment) -> Cost | None:
        """What an experiment of the catalogue would take, or None while that is not known.

        It is found out, with a measurement of the machine, in a thread of its own once no job is at work; and again
        after every job.
        """
        with self._changed:
            is_idle = not any(job.state.is_active for job in self._jobs.values())
            if experiment not in self._estimated and is_idle and not self._closed:
                self._estimated.add(experiment)
                threading.Thread(target=self._estimate, args=[experiment], name="estimate").start()  # torch: no daemon
            return self._estimates.get(experiment)

    def _estimate(self, experiment: Experiment) -> None:
        try:
            self.machine.measure()
            cost = Extraction(experiment, self.store, self.encoders, machine=self.machine).look_up(Progress())
        except (ClsvizError, RuntimeError):  # of a card that another program fills, say
            _log.exception("What %s takes could not be estimated", experiment)
        else:
            with self._changed:
                self._estimates[experiment] = cost

    def place(self, job: Job) -> int:
        """How many jobs have to end before this one is measured."""
        with self._changed:
            before = self._line[: self._line.index(job)] if job in self._line else []
            return sum(other.state.is_active for other in before)

    def close(self) -> None:
        """Cancel all jobs, and wait until the one at work has noticed."""
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                job.cancel()
            self._changed.notify()
        self._worker.join(timeout=5)

    def _look_up(self, job: Job) -> None:
        with _reporting(job):
            job.cost = job.extraction.look_up(job)
            with self._changed:
                job.check()
                if job.cost.seconds == 0:
                    job.state = State.DONE
                elif job.wanted or (job.cost.seconds <= FREE_SECONDS and not job.cost.megabytes):
                    self._enqueue(job)
                else:
                    job.state = State.WAITING

    def _enqueue(self, job: Job) -> None:
        job.state = State.QUEUED
        self._line.append(job)
        self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._line and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._line[0]
            with _reporting(job):
                job.check()
                job.state = State.RUNNING
                job.extraction.run(job)
                job.state = State.DONE
            with self._changed:
                self._line.remove(job)
                self._estimated.clear()


def _state_of_files(experiment: Experiment) -> tuple[tuple[str, int, int], ...]:
    """Sizes and times of the local files that the experiment names: they may change, and its job with them."""
    base = models.Name.parse(experiment.model).base
    paths = [*Path(os.path.expanduser(base)).glob("*")] if models.is_folder(base) else []
    if corpora.is_file(experiment.corpus):
        paths.append(Path(os.path.expanduser(experiment.corpus)))
    states = []
    for path in sorted(paths):
        with contextlib.suppress(OSError, ValueError):
            status = path.stat()
            states.append((str(path), status.st_size, status.st_mtime_ns))
    return tuple(states)


@contextlib.contextmanager
def _reporting(job: Job) -> Iterator[None]:
    """Whatever ends the block early is told to those who watch the job; the thread goes on."""
    try:
        yield
    except CancelledError:
        job.state = State.CANCELLED
    except ClsvizError as error:
        job.error = error
        job.state = State.FAILED
    except Exception:
        _log.exception("The job %s failed", job.extraction.experiment)
        job.error = ClsvizError("Something unexpected went wrong, and the server's log says what. Try again.")
        job.state = State.FAILED
