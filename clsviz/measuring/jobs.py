"""The jobs of one server: whoever asks for the same thing shares one. No Streamlit here."""

import atexit
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from clsviz.errors import TooManyError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring.analyses import Analyses, Analysis
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.estimate import Cost, Machine
from clsviz.measuring.estimates import Estimates
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.found import measurement_key, state_of_files
from clsviz.measuring.job import Job, State, Work
from clsviz.measuring.lane import TURN_SECONDS, Lane, Place
from clsviz.measuring.part_file import Key
from clsviz.measuring.plan import planned
from clsviz.measuring.store import Store
from clsviz.progress import Progress

FREE_SECONDS = 30.0
"""What is estimated to take no longer than this starts by itself."""
JOBS_KEPT = 4
"""How many measurements that have ended, and that nobody watches, stay in memory."""

_PLACES_SECONDS = 0.5
"""How old the places in the queue may be that are told."""

T = TypeVar("T")

MeasuringJob = Job[Extraction]


class Jobs:
    """Four lanes of jobs, each of which runs one job at a time.

    Measurements of experiments, which may take long; analyses of what was measured, which use all processors;
    visitors' own sentences, which must not wait behind either; and what waits for the network.
    """

    def __init__(
        self,
        store: Store,
        encoders: Encoders | None = None,
        *,
        unwatched_seconds: float | None = None,
        unasked_seconds: Callable[[], float] = lambda: 5.0,
        results_kept: int = 24,
        visitor_jobs: int | None = None,
        job_seconds: float | None = None,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        """unwatched_seconds: how long a measurement runs on with nobody watching; None means to its end.

        unasked_seconds: how long an analysis runs on once the page stops asking for it.
        results_kept: how many analyses stay in memory.
        visitor_jobs: how many measurements of one visitor may run or wait; None means any number.
        job_seconds: how long a measurement may run; None means to its end.
        turn_seconds: how long it runs before it gives way to those of other visitors.
        """
        self.store = store
        self.encoders = encoders or Encoders()
        self.machine = Machine(self.encoders.product_rate)
        self._measurements: dict[Hashable, Job[Extraction]] = {}
        self._unwatched_seconds = unwatched_seconds
        self._job_seconds = job_seconds
        self._estimates = Estimates(store, self.encoders, self.machine)
        self._lock = threading.RLock()
        self._asked = Analyses(self._lock, unasked_seconds, results_kept)
        self._analyses = self._asked.jobs
        self._closed = False
        self._measuring = Lane("measure", self._estimates.outdate, turn_seconds, visitor_jobs, _PLACES_SECONDS)
        self._analysing = Lane("analyse")
        self._trying = Lane("try sentences")
        self._fetching = Lane("fetch")
        atexit.register(self.close)

    def open(
        self,
        experiment: Experiment,
        kind: Kind = Kind.NORMS,
        *,
        start: bool = False,
        here: bool = False,
        hold: bool = False,
        visitor: Hashable = None,
    ) -> Job[Extraction]:
        """The job that measures `experiment`; a new one if the last was cancelled or failed.

        What is estimated to be quick is measured at once, or, with `hold`, not before a call without it; the rest waits
        for a call with `start`. here: measure on this machine even what came with clsviz; once that is done, everybody
        gets it. visitor: whose turns it takes; if they have as many jobs as they may, it waits for another call.
        """
        with self._lock:
            of = measurement_key(experiment, kind), state_of_files(experiment)
            measured = self._measurements.get((*of, True))
            here |= measured is not None and measured.state is State.DONE
            key = (*of, here)
            job = self._measurements.pop(key, None)
            if job is None or job.state in (State.CANCELLED, State.FAILED):
                found = job.work.found if job else None
                store = self.store.own if here else self.store
                more: Any = {"kind": kind, "outlines": not here}
                extraction = Extraction(experiment, store, self.encoders, found, self.machine, **more)
                grace, most = self._unwatched_seconds, self._job_seconds
                job = Job(extraction, grace, State.LOOKING, most, visitor, can_rest=True)
                job.is_here = here
                threading.Thread(target=self._look_up, args=[job], name="look-up", daemon=True).start()
            job.wanted |= start
            job.is_held &= hold
            if job.state is State.WAITING and _may_run(job):
                self._put(job, visitor)
            self._measurements[key] = job  # as the most recently used
            ended = [key for key, job in self._measurements.items() if not job.state.is_active and not job.is_watched]
            for ended_key in ended[:-JOBS_KEPT]:
                del self._measurements[ended_key]
            return self._measurements[key]

    def analyse(
        self,
        key: Hashable,
        steps: Callable[[], Iterator[T]],
        kept: Callable[[], T | None] = lambda: None,
        visitor: Hashable = None,
    ) -> Analysis[T]:
        """The analysis known by `key`, which runs for as long as somebody asks for it every few seconds.

        steps: yields results, each of which replaces the one before. kept: the last of them, if it is known already.
        visitor: whose turns it takes.
        """
        return self._asked.ask(self._analysing, key, lambda _: steps(), visitor, kept=kept)

    def measure_more(
        self,
        key: Hashable,
        steps: Callable[[Progress], Iterator[T]],
        visitor: Hashable = None,
        seconds: Callable[[], float] | None = None,
    ) -> Analysis[T]:
        """As `analyse`, for what takes the model as well: it waits for its turn among the measurements.

        steps: gets the job, to say in it how far it is. seconds: about how long it takes.
        """
        return self._asked.ask(self._measuring, key, steps, visitor, seconds=seconds, most_seconds=self._job_seconds)

    def try_sentences(
        self,
        key: Hashable,
        work: Callable[[], T],
        kept: Callable[[], T | None] = lambda: None,
        visitor: Hashable = None,
        admit: Callable[[], None] = lambda: None,
    ) -> Analysis[T]:
        """As `analyse`, for what the model makes of a visitor's own sentences.

        admit: called before work that is neither known nor going on; raises ClsvizError if the visitor has to wait.
        """
        known = kept

        def kept_or_admitted() -> T | None:
            result = known()
            if result is None:
                admit()
            return result

        return self._asked.ask(self._trying, key, lambda _: iter([work()]), visitor, kept=kept_or_admitted)

    def fetch(self, key: Hashable, work: Callable[[Progress], T], visitor: Hashable = None) -> Analysis[T]:
        """As `analyse`, for work that waits for the network; what failed is tried again when somebody comes back to it.

        work: gets the job, to say in it how far it is.
        """
        with self._lock:
            self._asked.forget_failed(key)
            return self._asked.ask(self._fetching, key, lambda job: iter([work(job)]), visitor)

    @property
    def is_idle(self) -> bool:
        """Whether no job will change by itself."""
        with self._lock:
            return not any(job.state.is_active for job in self._all())

    def estimate(self, experiment: Experiment, *, now: bool = True) -> Cost | None:
        """What an experiment of the catalogue would take, or None while that is not known; now: begin to find it out.

        It is found out, with a measurement of the machine, in a thread of its own once nothing is being measured; and
        again after every job.
        """
        with self._lock:
            is_idle = not any(job.state.is_active for job in self._measurements.values())
            return self._estimates.get(experiment, begin=now and is_idle and not self._closed)

    @property
    def n_running(self) -> int:
        """How many jobs are at work, of all lanes."""
        return self._n_in(State.RUNNING)

    @property
    def n_queued(self) -> int:
        """How many jobs wait for their turn, of all lanes."""
        return self._n_in(State.QUEUED)

    def _n_in(self, state: State) -> int:
        with self._lock:
            return sum(job.state is state for job in self._all())

    @property
    def running(self) -> Job[Extraction] | None:
        """The measurement that is running."""
        with self._lock:
            return next((job for job in self._measurements.values() if job.state is State.RUNNING), None)

    def left_running(self, visitor: Hashable) -> list[Job[Extraction]]:
        """The measurements of this visitor that go on while nobody watches them."""
        with self._lock:
            jobs = [job for job in self._measurements.values() if job.state in (State.QUEUED, State.RUNNING)]
            return [job for job in jobs if not job.is_watched and visitor in job.visitors]

    def place_of(self, job: Job[Work]) -> Place | None:
        """Where a measurement stands that waits for its turn; None if it does not."""
        return self._measuring.place_of(job)

    @property
    def n_watchers(self) -> int:
        """How many look on at what is not done yet: sessions at measurements, or visitors at analyses.

        Whoever looks on at several, as at all models of a comparison, is one.
        """
        with self._lock:
            of_lanes = self._measurements.values(), self._analyses.values()
            active = ([job.watchers for job in jobs if job.state.is_active] for jobs in of_lanes)
            return max(len(frozenset().union(*watchers)) for watchers in active)

    @property
    def keys(self) -> set[Key]:
        """Where the store has what is being measured, or looked at."""
        with self._lock:
            works = [job.work for job in self._measurements.values() if job.state.is_active or job.is_watched]
        founds = [(work, found) for work in works if (found := work.found)]
        founds += [(work, found.audit) for work, found in founds if found.audit]
        return {work.key_of(found) for work, found in founds}

    def forget(self, corpus: str) -> None:
        """Drop what is known of a corpus that was deleted, unless somebody still looks at it."""
        with self._lock:
            for key, job in [*self._measurements.items()]:
                if job.work.experiment.corpus == corpus and not (job.state.is_active or job.is_watched):
                    del self._measurements[key]

    def close(self) -> None:
        """Cancel all jobs, and wait until those that are running have noticed."""
        with self._lock:
            self._closed = True
            for job in self._all():
                job.cancel()
        self.encoders.close()  # in another process a batch may take many seconds: it is not waited for
        for lane in (self._measuring, self._analysing, self._trying, self._fetching):
            lane.close()
        self.encoders.close()  # a job may have begun another before it noticed

    def _all(self) -> list[Job[Work]]:
        return [*self._measurements.values(), *self._analyses.values()]

    def _put(self, job: Job[Extraction], *visitors: Hashable) -> None:
        """Queue a job that may run, unless all who ask for it have as many as they may."""
        try:
            self._measuring.put(job, *visitors)
        except TooManyError:
            job.state = State.WAITING
            job.is_refused = True
        else:
            job.is_refused = False

    def _look_up(self, job: Job[Extraction]) -> None:
        with job.reporting():
            job.cost = job.work.look_up(job)
            if not _is_quick(job.cost):
                job.plan = planned(job.work, job.cost, self.machine)
            with self._lock:
                job.check()
                if job.cost.seconds == 0:
                    job.state = State.DONE
                elif _may_run(job):
                    self._put(job)
                else:
                    job.state = State.WAITING


def _may_run(job: Job[Extraction]) -> bool:
    """Whether a job whose cost is known may begin: somebody asked for it, or it is quick and nobody holds it."""
    return job.wanted or (job.cost is not None and _is_quick(job.cost) and not job.is_held)


def _is_quick(cost: Cost) -> bool:
    return cost.seconds <= FREE_SECONDS and not cost.megabytes
