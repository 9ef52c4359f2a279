"""Who runs when: turns of visitors, the places that are told, and what a visitor may have."""

import itertools
import random
import threading
import time
from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.waiting import wait_for

from clsviz.errors import OutOfTimeError, TooManyError
from clsviz.experiment import Experiment
from clsviz.measuring import Cost, Extraction, Job, Jobs, State, Steps, Store
from clsviz.measuring.lane import Lane, Place


class Queue:
    """A lane whose thread is kept busy until it is let go, and the names of the jobs in the order in which they ran."""

    def __init__(self, **settings: float) -> None:
        self.lane = Lane("test", **settings)  # type: ignore[arg-type]
        self.go = threading.Event()
        self.ran: list[Hashable] = []
        self.busy = self.put("busy", "whoever runs first", 10.0)
        wait_for(lambda: self.busy.state is State.RUNNING)

    def put(self, name: Hashable, visitor: Hashable, seconds: float | None = 1.0) -> Job:
        def steps(progress: object) -> Iterator[int]:
            self.ran.append(name)
            while not self.go.wait(0.01):
                yield 0

        job: Job = Job(Steps(steps), None, visitor=visitor)
        job.cost = None if seconds is None else Cost(seconds)
        self.lane.put(job)
        return job

    def run(self, *jobs: Job) -> list[Hashable]:
        self.go.set()
        wait_for(lambda: not any(job.state.is_active for job in jobs))
        return self.ran[1:]


@pytest.fixture
def queue() -> Iterator[Queue]:
    queue = Queue()
    yield queue
    queue.lane.close()


def test_visitors_take_turns_whoever_asked_first(queue: Queue) -> None:
    jobs = [queue.put(f"greedy {i}", "greedy") for i in range(5)]
    jobs += [queue.put("modest", "modest"), queue.put("third", "third")]
    places = [queue.lane.place_of(job) for job in jobs]
    assert [place and place.n_ahead for place in places] == [1, 4, 5, 6, 7, 2, 3]
    assert queue.run(*jobs) == ["greedy 0", "modest", "third", "greedy 1", "greedy 2", "greedy 3", "greedy 4"]


def test_small_comes_before_large_of_one_visitor_and_not_of_another(queue: Queue) -> None:
    jobs = [queue.put(*job) for job in (("large", "a", 30.0), ("small", "a", 2.0), ("larger", "b", 60.0))]
    assert queue.run(*jobs) == ["small", "larger", "large"]


def test_a_large_job_is_not_put_off_for_ever_by_small_ones_of_its_visitor(queue: Queue) -> None:
    large = queue.put("large", "a", 30.0)
    large.queued_at -= 29.5  # it has waited for so long
    jobs = [large, queue.put("small", "a", 2.0)]
    assert queue.run(*jobs) == ["large", "small"]


def test_whoever_comes_anew_takes_the_last_turn(queue: Queue) -> None:
    jobs = [queue.put(*job) for job in (("a 0", "a"), ("b 0", "b"), ("a 1", "a"))]
    place = queue.lane.place_of(jobs[1])
    for i in range(20):
        jobs.append(queue.put(f"new {i}", f"new {i}", 0.001))
        assert queue.lane.place_of(jobs[1]).n_ahead == place.n_ahead == 2
    assert queue.run(*jobs)[:2] == ["a 0", "b 0"]


def test_what_several_want_counts_once_and_runs_at_the_earliest_of_their_turns(queue: Queue) -> None:
    jobs = [queue.put(*job) for job in (("a 0", "a"), ("b 0", "b"), ("b 1", "b", 50.0))]
    shared = jobs[2]
    assert queue.lane.place_of(shared).n_ahead == 3
    shared.watch("tab of b", lambda: True, "b")
    shared.watch("tab of c", lambda: True, "c")
    shared.watch("another tab of c", lambda: True, "c")
    c = queue.put("c 0", "c", 100.0)
    place = queue.lane.place_of(shared)  # after what runs, a 0 and b 0, at the turn of c
    assert (place.n_ahead, place.seconds) == (3, pytest.approx(12.0, abs=1.5))
    assert queue.lane.place_of(c).n_ahead == 4
    assert queue.run(*jobs, c) == ["a 0", "b 0", "b 1", "c 0"]


def test_places_come_true_for_a_crowd_and_nobody_is_passed_over(queue: Queue) -> None:
    draw = random.Random(7)
    asked = [(f"visitor {visitor}", n) for visitor in range(30) for n in range(draw.randint(1, 3))]
    draw.shuffle(asked)
    jobs = {(visitor, n): queue.put((visitor, n), visitor, draw.uniform(1.0, 9.0)) for visitor, n in asked}
    told = {name: queue.lane.place_of(job) for name, job in jobs.items()}
    costs = {name: job.queued_at + job.cost.seconds for name, job in jobs.items()}
    ran = queue.run(*jobs.values())
    assert sorted(ran) == sorted(jobs)
    for place, name in enumerate(ran, 1):
        ahead = [jobs[other].cost.seconds for other in ran[: place - 1]]
        assert told[name].n_ahead == place
        assert told[name].seconds == pytest.approx(10.0 + sum(ahead), abs=1.5)  # the first has run for a moment
    # Between two jobs of one visitor, all others who had one waiting had exactly one turn.
    for visitor in {visitor for visitor, _ in ran}:
        turns = [i for i, (other, _) in enumerate(ran) if other == visitor]
        assert [costs[ran[i]] for i in turns] == sorted(costs[ran[i]] for i in turns)
        for first, second in itertools.pairwise(turns):
            between = [other for other, _ in ran[first + 1 : second]]
            waiting = {other for other, _ in ran[first + 1 :]} - {visitor}
            assert sorted(between) == sorted(waiting)


def test_a_wait_is_not_told_where_what_comes_first_is_not_known(queue: Queue) -> None:
    jobs = [queue.put("a", "a", 2.0), queue.put("b", "b", None), queue.put("c", "c", 2.0)]
    places = [queue.lane.place_of(job) for job in jobs]
    assert [place.seconds is None for place in places] == [False, False, True]
    jobs[1].cancel()
    assert queue.lane.place_of(jobs[2]).n_ahead == 2
    assert queue.lane.place_of(jobs[2]).seconds == pytest.approx(12.0, abs=1.5)
    assert queue.lane.place_of(jobs[1]) is None


def test_a_wait_counts_the_turns_of_what_gives_way() -> None:
    """With turns of 5 s: 5 of the one that runs, then 5 and 3 s of a and b, 5 of the first again, and 2 of c."""
    queue = Queue(turn_seconds=5.0)
    queue.busy.can_rest = True
    jobs = [queue.put("a", "a", 7.0), queue.put("b", "b", 3.0), queue.put("c", "c", 2.0)]
    jobs[0].can_rest = True
    second = queue.put("another of c", "c", 9.0)
    assert queue.lane.place_of(jobs[2]).seconds == pytest.approx(5 + 5 + 3, abs=1.5)
    assert queue.lane.place_of(second).seconds == pytest.approx(5 + 5 + 3 + 2 + 5 + 2, abs=1.5)
    queue.lane.close()


def test_a_download_takes_nobody_knows_how_long(queue: Queue) -> None:
    first, second = queue.put("a", "a"), queue.put("b", "b")
    first.cost = Cost(2.0, megabytes=440)
    assert queue.lane.place_of(second) == Place(2, None)


def test_what_nobody_watches_any_more_is_not_waited_for(queue: Queue) -> None:
    is_there = True
    left: Job = Job(Steps(lambda progress: iter(())), 0.0, visitor="a")
    left.watch("tab", lambda: is_there, "a")
    queue.lane.put(left)
    following = queue.put("b", "b")
    assert queue.lane.place_of(following).n_ahead == 2
    is_there = False
    wait_for(lambda: queue.lane.place_of(following).n_ahead == 1)
    assert left.state is State.CANCELLED


def test_a_visitor_has_so_many_jobs_and_no_more() -> None:
    queue = Queue(visitor_jobs=3)
    jobs = [queue.put(i, "a") for i in range(3)]
    with pytest.raises(TooManyError, match="You have 3 runs going or waiting"):
        queue.put("one more", "a")
    other = queue.put("b", "b")
    jobs[1].cancel()
    jobs.append(queue.put("instead", "a"))
    assert queue.run(*jobs, other) == [0, "b", 2, "instead"]
    queue.put("afterwards", "a")
    queue.lane.close()


def n_measured(job: Job[Extraction]) -> int:
    return len(job.work.found.measurements) if job.work.found else 0


def test_a_long_measurement_gives_way_to_those_of_others_and_goes_on(
    store: Store, experiment: Experiment, gate: threading.Event
) -> None:
    jobs = Jobs(store, turn_seconds=0.0)
    long = jobs.open(experiment, visitor="a")
    wait_for(lambda: n_measured(long) == 64)
    own = jobs.open(replace(experiment, seed=1), visitor="a")
    wait_for(lambda: own.state is State.QUEUED)
    short = jobs.open(replace(experiment, seed=2, sample_size=32), visitor="b")
    wait_for(lambda: short.state is State.QUEUED)
    assert jobs.place_of(short).n_ahead == 1
    seen: list[int] = []
    run = short.work.run
    short.work.run = lambda progress: (seen.append(n_measured(long)), run(progress))[1]  # type: ignore[assignment,func-returns-value]
    gate.set()
    wait_for(lambda: all(job.state is State.DONE for job in (long, own, short)))
    assert seen == [128]  # at the end of the part that was in hand, and not before
    alone = Jobs(Store(store.root.parent / "other"))
    same = alone.open(experiment)
    wait_for(lambda: same.state is State.DONE)
    for name, measured in same.work.found.measurements.to_arrays().items():
        assert np.array_equal(long.work.found.measurements.to_arrays()[name], measured), name
    jobs.close()
    alone.close()


def test_a_measurement_whose_time_is_up_keeps_what_it_measured_and_can_go_on(
    store: Store, experiment: Experiment, gate: threading.Event
) -> None:
    jobs = Jobs(store, job_seconds=1.0)
    job = jobs.open(experiment)
    wait_for(lambda: job.state is State.CANCELLED)
    assert isinstance(job.error, OutOfTimeError)
    assert "Stopped after 1 s" in str(job.error)
    n_before = n_measured(job)
    gate.set()
    again = jobs.open(experiment)
    assert again is not job
    assert n_measured(again) == n_before
    while again.state is not State.DONE:  # on a busy machine its time may be up again
        assert n_measured(again) >= n_before
        again = jobs.open(experiment)
        wait_for(lambda job=again: not job.state.is_active)
    assert n_measured(again) == 300
    jobs.close()


def test_the_time_that_a_measurement_waits_does_not_count(store: Store, experiment: Experiment) -> None:
    jobs = Jobs(store, job_seconds=30.0)
    job = jobs.open(experiment)
    wait_for(lambda: job.state is State.DONE)
    assert 0 < job.seconds_run < 30
    before = job.seconds_run
    time.sleep(0.01)
    assert job.seconds_run == before
    jobs.close()


def test_a_measurement_beyond_those_of_its_visitor_waits_until_it_is_asked_for_again(
    store: Store, experiment: Experiment, gate: threading.Event
) -> None:
    jobs = Jobs(store, visitor_jobs=2)
    first, second, third = (replace(experiment, seed=seed) for seed in range(3))
    running = jobs.open(first, visitor="a")
    wait_for(lambda: n_measured(running) == 64)
    queued = jobs.open(second, visitor="a")
    wait_for(lambda: queued.state is State.QUEUED)
    refused = jobs.open(third, visitor="a")
    wait_for(lambda: refused.state is State.WAITING)
    assert refused.is_refused
    assert jobs.open(third, visitor="a", start=True).state is State.WAITING
    more = jobs.measure_more("more", lambda progress: iter([1]), "a")
    assert isinstance(more.error, TooManyError)
    assert jobs.open(third, visitor="b") is refused
    assert refused.state is State.QUEUED
    assert not refused.is_refused
    gate.set()
    wait_for(lambda: all(job.state is State.DONE for job in (running, queued, refused)))
    again = jobs.measure_more("more", lambda progress: iter([1]), "a")
    wait_for(lambda: again.state is State.DONE)
    jobs.close()
