"""Work in the background, shared by all who ask for the same.

A job is a function in a thread of its own. What it does with a resource of the server, it does in
turns: whoever calls `progress` gives up the turn to a job that has had less time.
"""

import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from clsviz import limits
from clsviz.errors import ClsvizError, SettingError
from clsviz.progress import Cancelled, Progress, Resource

if TYPE_CHECKING:
    from clsviz.sources.models import Weights

T = TypeVar("T")

MOST_ENDED = 32  # jobs that are remembered after their end
N_FETCHING = 4  # jobs that download and read at once; other resources have one at a time
TURN_SECONDS = 5.0  # that a model has its turn at least
LOADING_SHARE = 5.0  # a turn lasts at least so many times the time of loading the model
GRACE_SECONDS = 60.0  # in public mode, until a job ends whose sessions have gone
LOOK_SECONDS = 0.5  # between looks of a waiting job whether anybody still wants it
LEFT = -math.inf  # marks a session that has left a job

_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


class Job(Progress, Generic[T]):
    """One piece of work, and its progress.

    done, total, unit: how much of what is done. resource: that it uses, or waits for.
    weights: of the model that it runs. result: as far as there is one. error: what ended it.
    is_active: False once it has ended. is_cancelled: True if nobody wants it any more.
    seconds: for which it has had a turn. charged: for that of each resource, from what the least
    charged of the others had when the job came: new jobs do not overtake old ones.
    wanted_until: by session, infinite while it is connected, LEFT once it has left the job.
    """

    def __init__(self, jobs: "Jobs", *, is_urgent: bool = False) -> None:
        self.number = next(_numbers)
        self._jobs, self.is_urgent = jobs, is_urgent
        self.done, self.total, self.unit = 0, 0, ""
        self.resource: Resource | None = None
        self.weights: Weights | None = None
        self.result: T | None = None
        self.error: Exception | None = None
        self.is_active = True
        self.is_cancelled = False
        self.seconds = 0.0
        self.charged: dict[Resource, float] = {}
        self.turn_began = math.inf  # infinite while it has no turn
        self.wanted_until: dict[Hashable, float] = {}

    @property
    def turn(self) -> tuple[bool, float, int]:
        """Jobs have their turns in the order of these: urgent ones, then those of least time."""
        seconds = self.charged[self.resource] if self.resource else 0.0
        return not self.is_urgent, seconds, self.number

    @property
    def model(self) -> str:
        """The fingerprint of the model that it runs, or ""."""
        return self.weights.fingerprint if self.weights else ""

    @property
    def is_wanted(self) -> bool:
        """True if a session wants it that is connected, or has not been gone for long."""
        return max(self.wanted_until.values(), default=LEFT) > time.monotonic()

    def __call__(self, done: int, total: int, unit: str) -> None:
        """Note the progress, and let a job that has had less time have its turn first.

        Raises Cancelled where nobody wants the job any more, and SettingError where it takes longer
        than the server has for it.
        """
        self.done, self.total, self.unit = done, total, unit
        self.check()
        if self.resource not in (None, "fetch"):  # threads of downloads call, too
            self._jobs.yield_turn(self)

    def publish(self, make: Callable[[], T]) -> None:
        """Show it on the page."""
        self.result = make()

    @contextmanager
    def at(self, resource: Resource, weights: "Weights | None" = None) -> Iterator[None]:
        """The lines within use a resource, once it is the job's turn."""
        before = self.resource, self.weights
        self._jobs.move(self, resource, weights)
        try:
            yield
        finally:
            self._jobs.move(self, *before)

    def check(self) -> None:
        """Raise Cancelled or SettingError where the job has to end."""
        self.is_cancelled |= bool(self.wanted_until) and not self.is_wanted
        if self.is_cancelled:
            raise Cancelled
        most = limits.number("job_seconds")
        if self.seconds + max(0.0, time.monotonic() - self.turn_began) > most:
            reason = f"This takes longer than the {most:,g} seconds that the server has for it."
            remedy = "Choose a smaller sample. Run clsviz on your own machine for it."
            raise SettingError(reason, remedy)

    def run(self, function: Callable[["Job[T]"], T]) -> None:
        """Call the function, and note how it ends."""
        try:
            self.result = function(self)
        except Cancelled:
            pass
        except Exception as error:  # the user's, or a bug: the page says it
            if not isinstance(error, ClsvizError):  # whose message may hold what a visitor sent
                _log.exception("job %d", self.number)
            self.error = error
        self.is_active = False

    def want(self, session: Hashable) -> None:
        """A session wants this job, or is back; one that has left it does not return by itself."""
        if not self.is_cancelled and not self.has_left(session):
            self.wanted_until[session] = math.inf

    def is_wanted_by(self, session: Hashable) -> bool:
        """True if the session wants the job, and has not left it."""
        return self.wanted_until.get(session, LEFT) > LEFT

    def leave(self, session: Hashable) -> None:
        """A session no longer wants it; it ends soon if nobody else does."""
        self.wanted_until[session] = LEFT
        self.is_cancelled = self.is_active and not self.is_wanted

    def has_left(self, session: Hashable) -> bool:
        """True if the session has left the job."""
        return self.wanted_until.get(session) == LEFT


class _Turns:
    """Who has the turn of a resource: the jobs in it, and when its model gives way to another."""

    def __init__(self, n_at_once: int = 1) -> None:
        self.n_at_once = n_at_once
        self.inside: set[Job[Any]] = set()
        self.waiting: set[Job[Any]] = set()
        self.model, self.ends = "", 0.0
        self.is_loading = False

    def next(self) -> Job[Any]:
        """The job whose turn it is, of those that wait."""
        waiting = sorted(self.waiting, key=lambda job: job.turn)
        if waiting[0].is_urgent or time.monotonic() > self.ends:
            return waiting[0]
        return next((job for job in waiting if job.model == self.model), waiting[0])

    def enter(self, job: Job[Any]) -> None:
        """The job has its turn."""
        self.waiting.remove(job)
        self.inside.add(job)
        self.is_loading = job.model != self.model
        self.model, job.turn_began = job.model, time.monotonic()

    def charge(self, job: Job[Any]) -> None:
        """Charge a job for its turn so far, but for loading a model, which then keeps the turn.

        Who loads it for all would else have the first sentences last.
        """
        now = time.monotonic()
        seconds = now - job.turn_began
        if self.is_loading:
            self.ends = job.turn_began + max(TURN_SECONDS, LOADING_SHARE * seconds)
        else:
            assert job.resource
            job.charged[job.resource] += seconds
        job.seconds += seconds
        self.is_loading, job.turn_began = False, now

    def leave(self, job: Job[Any]) -> None:
        """The job gives up its turn."""
        self.charge(job)
        self.inside.remove(job)
        job.turn_began = math.inf


class Jobs:
    """Jobs by key, and their turns; limits of a server hold for each session and job."""

    def __init__(self) -> None:
        self._jobs: dict[Hashable, Job[Any]] = {}
        self._changed = threading.Condition(threading.RLock())
        self._turns: dict[Resource, _Turns] = {
            "fetch": _Turns(N_FETCHING),
            "model": _Turns(),
            "analysis": _Turns(),
        }

    def ask(
        self,
        key: Hashable,
        function: Callable[[Job[T]], T],
        session: Hashable,
        *,
        is_urgent: bool = False,
    ) -> Job[T]:
        """The job of this key, started if there is none.

        A failed or cancelled job is returned as it is; `again` restarts it. function: takes the job
        as its progress, and returns the result. A session that has too many jobs leaves the one
        that was asked for longest ago.
        """
        with self._changed:
            job = self._jobs.pop(key, None)
            if job is None:
                job = Job(self, is_urgent=is_urgent)
                job.want(session)
                name = f"job-{job.number}"
                threading.Thread(target=job.run, args=(function,), daemon=True, name=name).start()
                ended = [key for key, other in self._jobs.items() if not other.is_active]
                for old in ended[:-MOST_ENDED]:
                    del self._jobs[old]
            if job.is_active:
                job.want(session)
            active = [other for other in self._jobs.values() if other.is_active]
            others = [other for other in active if other.is_wanted_by(session)]
            while others and len(others) >= limits.number("jobs"):
                others.pop(0).leave(session)
            self._jobs[key] = job  # last asked for, last forgotten
            return job

    def again(self, job: Job[Any], session: Hashable) -> None:
        """Let a session have a job again that it left, or that failed: the next `ask` does it."""
        with self._changed:
            job.wanted_until.pop(session, None)
            job.want(session)
            if job.error or job.is_cancelled:
                self._jobs = {key: other for key, other in self._jobs.items() if other is not job}

    def ahead(self, job: Job[Any]) -> int:
        """How many jobs have their turn before this one at the resource that it waits for."""
        with self._changed:
            if job.resource is None:
                return 0
            turns = self._turns[job.resource]
            return sum(other.turn < job.turn for other in turns.waiting | turns.inside)

    def disconnect(self, session: Hashable) -> None:
        """A session has gone: in public mode its jobs end in a while, if no other wants them."""
        seconds = GRACE_SECONDS if limits.is_public() else math.inf
        with self._changed:
            for job in self._jobs.values():
                if job.is_wanted_by(session):
                    job.wanted_until[session] = time.monotonic() + seconds

    def move(self, job: Job[Any], resource: Resource | None, weights: "Weights | None") -> None:
        """Give up the turn that a job has, and wait for its turn at another resource.

        Raises Cancelled or SettingError where the job has to end meanwhile.
        """
        with self._changed:
            if job.resource:
                self._turns[job.resource].leave(job)
                self._changed.notify_all()
            job.resource, job.weights = None, weights
            if resource:
                self._wait(job, resource)

    def yield_turn(self, job: Job[Any]) -> None:
        """Let a job that has had less time have its turn first."""
        with self._changed:
            assert job.resource
            turns = self._turns[job.resource]
            turns.charge(job)
            if turns.waiting:
                self.move(job, job.resource, job.weights)

    def _wait(self, job: Job[Any], resource: Resource) -> None:
        turns = self._turns[resource]
        others = (other.charged[resource] for other in turns.waiting | turns.inside)
        job.charged.setdefault(resource, min(others, default=0.0))
        turns.waiting.add(job)
        job.resource = resource
        try:
            while len(turns.inside) >= turns.n_at_once or turns.next() is not job:
                self._changed.wait(LOOK_SECONDS)
                job.check()
        except BaseException:
            turns.waiting.remove(job)
            job.resource = None
            self._changed.notify_all()
            raise
        turns.enter(job)
        self._changed.notify_all()  # there may be room for another one
