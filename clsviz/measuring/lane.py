"""A queue of jobs that takes turns between those who want them."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from clsviz.errors import CancelledError, TooManyError
from clsviz.measuring.job import Job, State, Work

TURN_SECONDS = 20.0
"""A job that can be interrupted, and has run for so long, gives way to those of other visitors."""


class Place(NamedTuple):
    """How many jobs come before one that waits, and about how many seconds they take, or None if that is not known.

    Both hold if no more are asked for.
    """

    n_ahead: int
    seconds: float | None


def in_turns(jobs: Sequence[Job[Work]], turns: Sequence[Hashable]) -> list[Job[Work]]:
    """The order in which waiting jobs run, if no more come: one job of each visitor in turn.

    jobs: in the order in which each visitor's own run. turns: all visitors who want any, the next one first. A job that
    several want runs at the earliest of their turns.
    """
    own: dict[Hashable, deque[Job[Work]]] = {visitor: deque() for visitor in turns}
    for job in jobs:
        for visitor in job.visitors:
            if visitor in own:
                own[visitor].append(job)
    order: dict[int, Job[Work]] = {}
    left = deque(turns)
    while left:
        visitor = left.popleft()
        while own[visitor] and id(own[visitor][0]) in order:
            own[visitor].popleft()
        if own[visitor]:
            job = own[visitor].popleft()
            order[id(job)] = job
            left.append(visitor)
    return list(order.values())


def seconds_until(
    jobs: Sequence[Job[Work]],
    turns: Sequence[Hashable],
    running: Job[Work] | None,
    turn: float,
    had: float = 0.0,
) -> dict[int, float]:
    """About how long it takes until each of `jobs` runs if no more come, by id; without those where it is not known.

    jobs, turns: as in `in_turns`. turn: after how many seconds a job gives way; had: how many the running one has had.
    """
    waiting, left, seconds = list(jobs), deque(turns), 0.0
    to_go = {id(job): job.seconds_to_go for job in (*jobs, *([running] if running else []))}
    visitors = {id(job): job.visitors for job in (*jobs, *([running] if running else []))}
    begins: dict[int, float] = {}
    asked = {id(job) for job in jobs}
    following = running
    while not begins.keys() >= asked:
        if following is None:
            if not left:
                break
            visitor = left.popleft()
            if (following := next((job for job in waiting if visitor in visitors[id(job)]), None)) is not None:
                left.append(visitor)
                begins.setdefault(id(following), seconds)
            continue
        if (whole := to_go[id(following)]) is None:
            break
        has_others = any(not visitors[id(following)] & visitors[id(other)] for other in waiting)
        most = max(turn - had, 1.0) if following.can_rest and has_others else whole
        part, had = min(whole, most), 0.0
        seconds, to_go[id(following)] = seconds + part, whole - part
        if following in waiting and part == whole:
            waiting.remove(following)
        elif following not in waiting and part < whole:
            waiting.insert(0, following)
        following = None
    return begins


class Lane:
    """Jobs that one thread works through, one after another.

    Visitors take turns. Of one visitor's jobs those that were not left for others come first, and of these small ones,
    unless a large one has waited for longer than the difference between the two takes. Whoever comes anew takes the
    last of the turns, before whoever is having theirs, so that nobody waits for ever.
    """

    def __init__(
        self,
        name: str,
        on_end: Callable[[], None] = lambda: None,
        turn_seconds: float = TURN_SECONDS,
        visitor_jobs: int | None = None,
        fresh_seconds: float = 0.0,
    ) -> None:
        """on_end: called after every job. turn_seconds: how long a job runs before it gives way to others'.

        visitor_jobs: how many jobs of one visitor may run or wait; None means any number. fresh_seconds: for how long
        the places in the queue hold that were worked out, however many ask for theirs.
        """
        self._fresh_seconds = fresh_seconds
        self._visitor_jobs = visitor_jobs
        self._waiting: list[Job[Work]] = []
        self._turns: list[Hashable] = []  # the visitors, the next one first
        self._served: set[Hashable] = set()  # the one whose turn it is while a job runs, who is then the last
        self._running: Job[Work] | None = None
        self._turn_began = 0.0
        self._turn_seconds = turn_seconds
        self._changed = threading.Condition()
        self._is_closed = False
        self._places: dict[int, Place] = {}
        self._placed: tuple[float, tuple[int, ...]] = 0.0, ()
        self._on_end = on_end
        # A daemon, so that the server can be stopped at any time.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, job: Job[Work], *visitors: Hashable) -> None:
        """Queue a job, for `visitors` beside its own; raises TooManyError if none of them may have one more."""
        with self._changed:
            if all(self._is_full(visitor) for visitor in {*job.visitors, *visitors}):
                runs = "a run" if self._visitor_jobs == 1 else f"{self._visitor_jobs:,} runs"
                raise TooManyError(
                    f"You have {runs} going or waiting, as many as one visitor may have on this server. Ask again when "
                    "one has ended."
                )
            job.state = State.QUEUED
            job.queued_at = time.monotonic()
            job.gives_way = lambda: self._gives_way(job)
            self._waiting.append(job)
            self._changed.notify()

    def _is_full(self, visitor: Hashable) -> bool:
        """Whether a visitor has as many jobs as may run or wait."""
        if self._visitor_jobs is None:
            return False
        jobs = [*self._waiting, *([self._running] if self._running else [])]
        return sum(job.state.is_active and visitor in job.visitors for job in jobs) >= self._visitor_jobs

    def place_of(self, job: Job[Work]) -> Place | None:
        """Where a job that waits stands; None if it does not wait."""
        with self._changed:
            if job not in self._waiting or not job.state.is_active:
                return None
            jobs = [self._running, *self._waiting]
            now, of = time.monotonic(), tuple(id(job) for job in jobs if job and job.state.is_active)
            if of != self._placed[1] or now - self._placed[0] >= self._fresh_seconds:
                self._places, self._placed = self._all_places(), (now, of)
            return self._places.get(id(job))

    def _all_places(self) -> dict[int, Place]:
        jobs, turns = self._by_size()
        order = in_turns(jobs, turns)
        running = self._running if self._running and self._running.state.is_active else None
        turns = [*turns, *(self._served - {*turns})]  # whoever is served has another turn for what is left
        had = time.monotonic() - self._turn_began if running else 0.0
        begins = seconds_until(jobs, turns, running, self._turn_seconds, had)
        is_ahead = running is not None
        return {id(job): Place(n + is_ahead, begins.get(id(job))) for n, job in enumerate(order)}

    def close(self) -> None:
        """Cancel its jobs, and wait for the running one to stop: torch must not run while Python ends."""
        with self._changed:
            self._is_closed = True
            for job in [*self._waiting, *([self._running] if self._running else [])]:
                job.cancel()
            self._changed.notify()
        self._thread.join(timeout=5)

    def _order(self) -> list[Job[Work]]:
        """The waiting jobs in the order in which they run; those that nobody wants any more are dropped."""
        return in_turns(*self._by_size())

    def _by_size(self) -> tuple[list[Job[Work]], list[Hashable]]:
        """The waiting jobs in the order in which those of one visitor run, and the turns of the visitors."""
        for job in self._waiting:
            with contextlib.suppress(CancelledError):
                job.check()
        self._waiting = [job for job in self._waiting if job.state.is_active]
        visitors = {visitor: None for job in self._waiting for visitor in job.visitors}
        self._turns = [visitor for visitor in self._turns if visitor in visitors]
        self._turns += [visitor for visitor in visitors if visitor not in self._turns]
        self._turns.sort(key=lambda visitor: visitor in self._served)  # the others keep their order

        def rank(job: Job[Work]) -> tuple[bool, float]:
            return job.is_left, job.queued_at + (job.cost.seconds if job.cost else 0.0)

        return sorted(self._waiting, key=rank), self._turns

    def _next(self) -> Job[Work] | None:
        """The job whose turn it is, which then runs; None if there is none."""
        order = self._order()
        if not order:
            return None
        job = order[0]
        self._served = {next(visitor for visitor in self._turns if visitor in job.visitors)}
        self._waiting.remove(job)
        self._running, self._turn_began = job, time.monotonic()
        return job

    def _gives_way(self, job: Job[Work]) -> bool:
        """Whether the running job has had its turn, and somebody else waits who does not wait for it.

        One that was left for others gives way to any that was not.
        """
        had_its_turn = time.monotonic() - self._turn_began >= self._turn_seconds
        if not had_its_turn and not job.is_left:
            return False
        with self._changed:
            order = self._order()
        if job.is_left and not all(other.is_left for other in order):
            return True
        return had_its_turn and any(not job.visitors & other.visitors for other in order)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._is_closed and (job := self._next()) is None:
                    self._changed.wait()
                if self._is_closed:
                    return
            assert job is not None  # it was waited for
            job.run()
            with self._changed:
                self._by_size()  # whoever came meanwhile is before the visitor that was served
                self._running, self._served = None, set()
                if job.state is State.QUEUED:  # it gave way, and waits for its next turn
                    self._waiting.append(job)
            self._on_end()
