"""The jobs of one server: all who ask for the same share one, and visitors take turns. No Streamlit here."""

import atexit
import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from enum import StrEnum
from typing import Any, TypeVar

from clsviz.errors import CancelledError, ClsvizError, TooManyError
from clsviz.experiment import Experiment
from clsviz.jobs.estimate import Cost, Machine
from clsviz.jobs.extraction import Extraction, measurement_key, planned, state_of_files
from clsviz.jobs.job import Job, State, Steps
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.store.parts import Key
from clsviz.store.store import Store

_log = logging.getLogger(__name__)

FREE_SECONDS = 30.0
"""What is estimated to take no longer than this starts by itself."""

JOBS_KEPT = 4
"""How many measurements that have ended, and that nobody watches, stay in memory."""

TURN_SECONDS = 5.0
"""After so long a measurement lets those of other visitors run: long enough that a model loaded for it is worth it."""

T = TypeVar("T")

MeasuringJob = Job[Extraction]
Analysis = Job[Steps[T]]


class Lane(StrEnum):
    """What a job needs, and so which other jobs it waits for: one job of each lane runs at a time."""

    MEASURE = "measure"  # the worker, for long
    ANALYSE = "analyse"  # the processors
    TRY = "try sentences"  # the worker, for a moment: visitors' own sentences
    FETCH = "fetch"  # the network


class JobQueue:
    """The jobs of all visitors. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        encoders: Encoders | None = None,
        *,
        unwatched_seconds: float | None = None,
        unasked_seconds: float = 5.0,
        results_kept: int = 24,
        visitor_jobs: int | None = None,
        job_seconds: float | None = None,
    ) -> None:
        """unwatched_seconds: how long a measurement runs on with nobody watching; None means to its end.

        unasked_seconds: how long an analysis runs on once the page stops asking for it.
        results_kept: how many analyses stay in memory.
        visitor_jobs: how many measurements of one visitor may run or wait; None means any number.
        job_seconds: how long a measurement may run; None means to its end.
        """
        self.store = store
        self.encoders = encoders or Encoders()
        self.machine = Machine(self.encoders.product_rate)
        self._unwatched_seconds, self._unasked_seconds = unwatched_seconds, unasked_seconds
        self._job_seconds = job_seconds
        self._visitor_jobs, self._results_kept = visitor_jobs, results_kept
        self._measurements: dict[Hashable, MeasuringJob] = {}
        self._analyses: OrderedDict[Hashable, Job[Steps[Any]]] = OrderedDict()
        self._waiting: dict[Lane, list[Job[Any]]] = {lane: [] for lane in Lane}
        self._running: dict[Lane, Job[Any]] = {}
        self._used: dict[Hashable, float] = {}
        """Seconds that the measurements of visitors took who have one running or waiting."""
        self._costs: dict[Experiment, Cost] = {}
        self._estimated: set[Experiment] = set()
        """Those whose cost was looked up since the last job."""
        self._closed = False
        self._changed = threading.Condition(threading.RLock())
        # Daemons, so that the server can be stopped at any time.
        self._threads = [
            threading.Thread(target=self._work, args=[lane], name=lane.value, daemon=True) for lane in Lane
        ]
        for thread in self._threads:
            thread.start()
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
    ) -> MeasuringJob:
        """The job that measures `experiment`; a new one if the last was cancelled or failed.

        What is estimated to be quick is measured at once, or, with `hold`, not before a call without it; the rest waits
        for a call with `start`. here: measure on this machine even what came with clsviz; once that is done, everybody
        gets it. visitor: whose turns it takes; if they have as many jobs as they may, it waits for another call.
        """
        with self._changed:
            asked = measurement_key(experiment, kind), state_of_files(experiment)
            measured = self._measurements.get((*asked, True))
            here |= measured is not None and measured.state is State.DONE
            key = (*asked, here)
            job = self._measurements.pop(key, None)
            if job is None or job.state in (State.CANCELLED, State.FAILED):
                store = self.store.own if here else self.store
                extraction = Extraction(
                    experiment,
                    store,
                    self.encoders,
                    job.work.found if job else None,
                    self.machine,
                    kind=kind,
                    outlines=not here,
                )
                grace = self._unwatched_seconds
                job = Job(extraction, grace, State.LOOKING, self._job_seconds, visitor, can_rest=True)
                job.is_here = here
                threading.Thread(target=self._look_up, args=[job], name="look-up", daemon=True).start()
            job.wanted |= start
            job.is_held &= hold
            if job.state is State.WAITING and _may_run(job):
                self._put_measurement(job, visitor)
            self._measurements[key] = job  # as the most recently used
            ended = [key for key, job in self._measurements.items() if not job.state.is_active and not job.is_watched]
            for ended_key in ended[:-JOBS_KEPT]:
                del self._measurements[ended_key]
            return job

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
        return self._ask(Lane.ANALYSE, key, lambda _: steps(), visitor, kept)

    def measure_more(
        self,
        key: Hashable,
        steps: Callable[[Progress], Iterator[T]],
        visitor: Hashable = None,
        seconds: Callable[[], float] | None = None,
        *,
        kept: Callable[[], T | None] = lambda: None,
        can_rest: bool = False,
    ) -> Analysis[T]:
        """As `analyse`, for what takes the model as well: it waits for its turn among the measurements.

        steps: gets the job, to say in it how far it is. seconds: about how long it takes. can_rest: whether the steps,
        taken again, go on where they called `rest`.
        """
        most = self._job_seconds
        return self._ask(Lane.MEASURE, key, steps, visitor, kept, seconds=seconds, most_seconds=most, can_rest=can_rest)

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

        def kept_or_admitted() -> T | None:
            result = kept()
            if result is None:
                admit()
            return result

        return self._ask(Lane.TRY, key, lambda _: iter([work()]), visitor, kept_or_admitted)

    def fetch(self, key: Hashable, work: Callable[[Progress], T], visitor: Hashable = None) -> Analysis[T]:
        """As `analyse`, for work that waits for the network; what failed is tried again when somebody comes back to it.

        work: gets the job, to say in it how far it is.
        """
        with self._changed:
            known = self._analyses.get(key)
            if known is not None and known.state is State.FAILED and not known.is_watched:
                del self._analyses[key]
            return self._ask(Lane.FETCH, key, lambda job: iter([work(job)]), visitor)

    def _ask(
        self,
        lane: Lane,
        key: Hashable,
        steps: Callable[[Progress], Iterator[T]],
        visitor: Hashable,
        kept: Callable[[], T | None] = lambda: None,
        *,
        seconds: Callable[[], float] | None = None,
        most_seconds: float | None = None,
        can_rest: bool = False,
    ) -> Analysis[T]:
        """The analysis known by `key`, in its lane unless its result is kept."""
        with self._changed:
            job = self._analyses.get(key)
            if job is None or job.is_worth_another_try:
                work = Steps(steps)
                work.result = job.work.result if job else None  # until there is a newer one
                result = kept()
                state = State.QUEUED if result is None else State.DONE
                job = Job(work, 0, state, most_seconds, visitor, can_rest=can_rest)
                job.cost = Cost(seconds()) if seconds else None
                self._analyses[key] = job
                job.touch(self._unasked_seconds, visitor)
                if result is not None:
                    work.result = result
                else:
                    try:
                        self._put(lane, job)
                    except TooManyError as error:
                        job.state, job.error = State.FAILED, error
            job.touch(self._unasked_seconds, visitor)
            self._analyses.move_to_end(key)
            ended = [key for key, job in self._analyses.items() if not job.state.is_active]
            for ended_key in ended[: max(0, len(self._analyses) - self._results_kept)]:
                del self._analyses[ended_key]
            return job

    @property
    def is_idle(self) -> bool:
        """True if no job will change by itself."""
        with self._changed:
            return not any(job.state.is_active for job in self._all())

    def n_jobs(self, state: State) -> int:
        """How many jobs of all lanes are in a state."""
        with self._changed:
            return sum(job.state is state for job in self._all())

    @property
    def running(self) -> MeasuringJob | None:
        """The measurement that is running."""
        with self._changed:
            return next((job for job in self._measurements.values() if job.state is State.RUNNING), None)

    def left_running(self, visitor: Hashable) -> list[MeasuringJob]:
        """The measurements of this visitor that go on while nobody watches them."""
        with self._changed:
            jobs = [job for job in self._measurements.values() if job.state in (State.QUEUED, State.RUNNING)]
            return [job for job in jobs if not job.is_watched and visitor in job.visitors]

    def n_ahead(self, job: Job[Any]) -> int | None:
        """How many measurements come before one that waits, if no more are asked for; None if it does not wait."""
        with self._changed:
            waiting = self._waiting[Lane.MEASURE]
            if job not in waiting or not job.state.is_active:
                return None
            rank = self._rank(job)
            return (Lane.MEASURE in self._running) + sum(
                self._rank(other) < rank for other in waiting if other.state.is_active
            )

    @property
    def n_watchers(self) -> int:
        """How many look on at what is not done yet: sessions at measurements, or visitors at analyses.

        Whoever looks on at several, as at all models of a comparison, is one.
        """
        with self._changed:
            lanes = self._measurements.values(), self._analyses.values()
            active = ([job.watchers for job in jobs if job.state.is_active] for jobs in lanes)
            return max(len(frozenset().union(*watchers)) for watchers in active)

    @property
    def keys(self) -> set[Key]:
        """Where the store has what is being measured, or looked at."""
        with self._changed:
            works = [job.work for job in self._measurements.values() if job.state.is_active or job.is_watched]
        founds = [(work, found) for work in works if (found := work.found)]
        founds += [(work, found.audit) for work, found in founds if found.audit]
        return {work.key_of(found) for work, found in founds}

    def forget(self, corpus: str) -> None:
        """Drop what is known of a corpus that was deleted, unless somebody still looks at it."""
        with self._changed:
            for key, job in [*self._measurements.items()]:
                if job.work.experiment.corpus == corpus and not (job.state.is_active or job.is_watched):
                    del self._measurements[key]

    def estimate(self, experiment: Experiment, *, now: bool = True) -> Cost | None:
        """What an experiment of the catalogue would take, or None while that is not known; now: begin to find it out.

        It is found out, with a measurement of the machine, in a thread of its own once nothing is being measured; and
        again after every job, as what that measured or fetched costs nothing any more.
        """

        def find_out() -> None:
            try:
                self.machine.measure()
                cost = Extraction(experiment, self.store, self.encoders, machine=self.machine).look_up(Progress())
            except (ClsvizError, RuntimeError):  # of a card that another program fills, say
                _log.exception("The cost of %s could not be estimated", experiment)
            else:
                self._costs[experiment] = cost

        with self._changed:
            is_idle = not any(job.state.is_active for job in self._measurements.values())
            if now and is_idle and not self._closed and experiment not in self._estimated:
                self._estimated.add(experiment)
                threading.Thread(target=find_out, name="estimate", daemon=True).start()
            return self._costs.get(experiment)

    def close(self) -> None:
        """Cancel all jobs, and wait until those that are running have noticed."""
        with self._changed:
            self._closed = True
            for job in self._all():
                job.cancel()
            self._changed.notify_all()
        self.encoders.close()  # a batch of a large model may take many seconds: it is not waited for
        for thread in self._threads:
            thread.join(timeout=5)
        self.encoders.close()  # a job may have begun another batch before it noticed

    def _all(self) -> list[Job[Any]]:
        return [*self._measurements.values(), *self._analyses.values()]

    def _look_up(self, job: MeasuringJob) -> None:
        with job.reporting():
            job.cost = job.work.look_up(job)
            if not _is_quick(job.cost):
                job.plan = planned(job.work, job.cost, self.machine)
            with self._changed:
                job.check()
                if job.cost.seconds == 0:
                    job.state = State.DONE
                elif _may_run(job):
                    self._put_measurement(job)
                else:
                    job.state = State.WAITING

    def _put_measurement(self, job: MeasuringJob, *visitors: Hashable) -> None:
        """Queue a job that may run, unless all who ask for it have as many as they may."""
        try:
            self._put(Lane.MEASURE, job, *visitors)
            job.is_refused = False
        except TooManyError:
            job.state, job.is_refused = State.WAITING, True

    def _put(self, lane: Lane, job: Job[Any], *visitors: Hashable) -> None:
        """Queue a job, for `visitors` beside its own; raises TooManyError if none of them may have one more."""
        if lane is Lane.MEASURE and self._visitor_jobs is not None:
            jobs = [*self._waiting[lane], *([self._running[lane]] if lane in self._running else [])]

            def n_jobs(visitor: Hashable) -> int:
                return sum(other.state.is_active and visitor in other.visitors for other in jobs)

            if all(n_jobs(visitor) >= self._visitor_jobs for visitor in {*job.visitors, *visitors}):
                runs = "a run" if self._visitor_jobs == 1 else f"{self._visitor_jobs:,} runs"
                raise TooManyError(
                    f"You have {runs} going or waiting, as many as one visitor may have on this server. Ask again when "
                    "one has ended."
                )
        job.state, job.queued_at = State.QUEUED, time.monotonic()
        job.gives_way = lambda: self._gives_way(lane, job)
        self._waiting[lane].append(job)
        self._changed.notify_all()

    def _rank(self, job: Job[Any]) -> tuple[bool, float, float]:
        """The job of the lowest rank runs next: one that is watched, of who had least, that came first or is small."""
        used = min((self._used.get(visitor, 0.0) for visitor in job.visitors), default=0.0)
        return job.is_left, used, job.queued_at + (job.cost.seconds if job.cost else 0.0)

    def _next(self, lane: Lane) -> Job[Any] | None:
        """The job of a lane whose turn it is, taken from those that wait; None if there is none."""
        for job in self._waiting[lane]:
            with contextlib.suppress(CancelledError):
                job.check()
        self._waiting[lane] = [job for job in self._waiting[lane] if job.state.is_active]
        if lane is Lane.MEASURE:
            running = [self._running[lane]] if lane in self._running else []
            visitors = {visitor for job in [*self._waiting[lane], *running] for visitor in job.visitors}
            least = min((self._used[visitor] for visitor in visitors & self._used.keys()), default=0.0)
            self._used = {visitor: self._used.get(visitor, least) for visitor in visitors}
        return min(self._waiting[lane], key=self._rank, default=None)

    def _gives_way(self, lane: Lane, job: Job[Any]) -> bool:
        """True if the running job has had its turn, and somebody else waits who does not wait for it.

        One that was left for others gives way to any that was not.
        """
        has_had_its_turn = time.monotonic() - job.turn_began >= TURN_SECONDS
        if not has_had_its_turn and not job.is_left:
            return False
        with self._changed:
            self._next(lane)
            waiting = self._waiting[lane]
            if job.is_left and not all(other.is_left for other in waiting):
                return True
            return has_had_its_turn and any(not job.visitors & other.visitors for other in waiting)

    def _work(self, lane: Lane) -> None:
        while True:
            with self._changed:
                while not self._closed and (job := self._next(lane)) is None:
                    self._changed.wait()
                if self._closed:
                    return
                assert job is not None  # it was waited for
                self._waiting[lane].remove(job)
                self._running[lane] = job
            job.run()
            with self._changed:
                del self._running[lane]
                if lane is Lane.MEASURE:
                    for visitor in job.visitors & self._used.keys():
                        self._used[visitor] += time.monotonic() - job.turn_began
                if job.state is State.QUEUED:  # it gave way, and waits for its next turn
                    self._waiting[lane].append(job)
                self._estimated.clear()


def _may_run(job: MeasuringJob) -> bool:
    """True if a job whose cost is known may begin: somebody asked for it, or it is quick and nobody holds it."""
    return job.wanted or (job.cost is not None and _is_quick(job.cost) and not job.is_held)


def _is_quick(cost: Cost) -> bool:
    return cost.seconds <= FREE_SECONDS and not cost.megabytes
