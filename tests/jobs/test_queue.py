"""The jobs of one server: shared, in turns, started, left, cancelled, failed and closed."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.logs import logged
from support.tiny import random_sentences
from support.waiting import Somebody, wait_for

from clsviz.encoder import Encoder
from clsviz.errors import CorpusError, UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Cost, Extraction, Job, JobQueue, RemoteEncoders, State
from clsviz.jobs.queue import JOBS_KEPT
from clsviz.progress import Progress
from clsviz.store import Store


@pytest.fixture
def jobs(store: Store) -> Iterator[JobQueue]:
    jobs = JobQueue(store)
    yield jobs
    jobs.close()


def n_measured(job: Job) -> int:
    return len(job.work.found.measurements) if job.work.found else 0


def ended(job: Job) -> State:
    wait_for(lambda: not job.state.is_active)
    return job.state


def test_what_is_quick_starts_by_itself_and_is_shared_by_all_who_ask_the_same(
    jobs: JobQueue, experiment: Experiment
) -> None:
    job = jobs.open(experiment)
    assert jobs.open(replace(experiment, length_cutoff=10, layer=1)) is job
    assert jobs.open(replace(experiment, sample_size=299)) is not job
    assert (ended(job), n_measured(job)) == (State.DONE, 300)


def test_two_servers_on_one_store_measure_the_same_once(
    store: Store, experiment: Experiment, gate: threading.Event
) -> None:
    """The second waits while the first measures, and reads what that has measured."""
    servers = [JobQueue(Store(store.root)) for _ in range(2)]
    first, second = (server.open(experiment) for server in servers)
    wait_for(lambda: "Another process" in first.stage + second.stage)
    gate.set()
    assert ended(first) is ended(second) is State.DONE
    assert n_measured(first) == n_measured(second) == 300
    assert sum(server.store.tally.n for server in servers) == 300
    np.testing.assert_array_equal(*(job.work.found.measurements.cls_norms for job in (first, second)))
    for server in servers:
        server.close()


@pytest.mark.parametrize("when", ["before its cost is known", "while it waits", "after it was left"])
def test_what_takes_long_waits_to_be_started(
    jobs: JobQueue, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    known = threading.Event()
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: known.wait(30) and Cost(31.0))
    job, visitor = jobs.open(experiment), Somebody()
    job.watch(visitor)
    if when != "before its cost is known":
        known.set()
        wait_for(lambda: job.state is State.WAITING)
        assert job.cost == Cost(31.0)
    if when == "after it was left":
        job.leave(visitor)
    started = jobs.open(experiment, start=True)
    known.set()
    assert ended(started) is State.DONE
    assert (started is job) == (when != "after it was left")


def test_another_experiment_queues_and_knows_its_place(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    first = jobs.open(experiment)
    wait_for(lambda: n_measured(first) == 64)
    second, third = (jobs.open(replace(experiment, sample_size=200, seed=1)), None)
    wait_for(lambda: second.state is State.QUEUED)
    third = jobs.open(replace(experiment, sample_size=200, seed=2))
    wait_for(lambda: third.state is State.QUEUED)
    assert [jobs.n_ahead(job) for job in (first, second, third)] == [None, 1, 2]
    second.cancel()
    assert jobs.n_ahead(third) == 1
    gate.set()
    assert (ended(third), first.state, second.state) == (State.DONE, State.DONE, State.CANCELLED)
    assert n_measured(second) == 0


def test_what_is_stored_does_not_queue(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event, store: Store
) -> None:
    gate.set()
    stored = replace(experiment, sample_size=50, seed=9)
    assert ended(jobs.open(stored)) is State.DONE
    gate.clear()
    busy, other_server = jobs.open(experiment), JobQueue(store)
    wait_for(lambda: n_measured(busy) == 64)
    for server in (jobs, other_server):
        assert ended(server.open(replace(stored, sample_size=40))) is State.DONE
    assert busy.state is State.RUNNING
    other_server.close()


def test_cancelling_stops_at_once_and_keeps_what_is_there(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    job, one, other = jobs.open(experiment), Somebody(), Somebody()
    job.watch(one)
    job.watch(other)
    wait_for(lambda: n_measured(job) == 64)
    job.leave(one)
    assert job.state is State.RUNNING
    job.leave(other)
    assert (job.state, n_measured(job)) == (State.CANCELLED, 64)
    again = jobs.open(experiment)
    assert again is not job
    assert n_measured(again) == 64  # without having read anything again
    gate.set()
    assert (ended(again), n_measured(again)) == (State.DONE, 300)


def test_who_looks_on_at_several_jobs_is_one(jobs: JobQueue, experiment: Experiment, gate: threading.Event) -> None:
    measuring, one = [jobs.open(replace(experiment, sample_size=size)) for size in (100, 200, 300)], Somebody()
    for job in measuring:
        job.watch(one)
    computing = [jobs.analyse(key, lambda: iter([gate.wait(60)]), visitor="one") for key in range(4)]
    assert jobs.n_watchers == 1
    measuring[0].watch(Somebody())
    assert jobs.n_watchers == 2
    gate.set()
    wait_for(lambda: not any(job.state.is_active for job in (*measuring, *computing)))
    assert jobs.n_watchers == 0


@pytest.mark.parametrize("seconds", [0.2, None])
def test_a_job_whose_watchers_have_gone_is_cancelled_where_that_is_the_rule(
    store: Store, experiment: Experiment, gate: threading.Event, seconds: float | None
) -> None:
    jobs, one = JobQueue(store, unwatched_seconds=seconds), Somebody()
    job = jobs.open(experiment)
    job.watch(one)
    wait_for(lambda: n_measured(job) == 64)
    time.sleep(0.4)
    assert job.state is State.RUNNING
    assert jobs.running is job
    one.is_connected = False
    if seconds is None:
        time.sleep(0.4)
        gate.set()
    assert ended(job) is (State.DONE if seconds is None else State.CANCELLED)
    jobs.close()


def test_what_is_held_waits_until_it_is_asked_for_otherwise(jobs: JobQueue, experiment: Experiment) -> None:
    for one, how in ((experiment, {}), (replace(experiment, seed=1), {"hold": True, "start": True})):
        held = jobs.open(one, hold=True)
        wait_for(lambda held=held: held.state is State.WAITING)
        assert jobs.open(one, hold=True).state is State.WAITING
        assert jobs.open(one, **how) is held
        assert ended(held) is State.DONE


def test_a_mistake_of_the_user_is_told_and_the_next_job_runs(jobs: JobQueue, experiment: Experiment) -> None:
    failed = jobs.open(replace(experiment, model="/nowhere"))
    assert ended(failed) is State.FAILED
    assert "no folder /nowhere" in str(failed.error)
    assert ended(jobs.open(experiment)) is State.DONE
    assert jobs.open(failed.work.experiment) is not failed


@pytest.mark.filterwarnings("ignore")
def test_a_fault_of_ours_is_logged_and_not_shown(
    jobs: JobQueue, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(self: Encoder, sentences: list[str], on_batch: object = None) -> None:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(Encoder, "measure", fault)
    with logged() as log:
        job = jobs.open(experiment)
        assert ended(job) is State.FAILED
    assert "secret" not in str(job.error)
    assert "a secret detail" in log.getvalue()


def test_only_so_many_ended_jobs_stay_beside_those_that_are_watched(jobs: JobQueue, experiment: Experiment) -> None:
    asked = [replace(experiment, sample_size=size) for size in range(1, 2 * JOBS_KEPT + 5)]
    first, somebody = [jobs.open(one) for one in asked], Somebody()
    for job in first[:3]:
        job.watch(somebody)
    assert {ended(job) for job in first} == {State.DONE}
    jobs.open(asked[-1])
    kept = [jobs.open(one) is job for one, job in zip(asked[::-1], first[::-1], strict=True)]
    assert kept[0]
    assert kept[-3:] == [True] * 3
    assert sum(kept) <= JOBS_KEPT + 1 + 3


def test_more_of_the_model_waits_for_its_turn_and_says_how_far_it_is(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    measuring = jobs.open(experiment)
    wait_for(lambda: measuring.state is State.RUNNING)

    def steps(progress: Progress) -> Iterator[int]:
        for done in range(3):
            progress.begin("Measuring more", 3, done)
            yield done

    job = jobs.measure_more("more", steps)
    assert (job.state, jobs.n_ahead(job)) == (State.QUEUED, 1)
    assert jobs.measure_more("more", steps) is job
    gate.set()
    assert (ended(job), measuring.state) == (State.DONE, State.DONE)
    assert (job.work.result, job.stage, job.done, job.total) == (2, "Measuring more", 2, 3)


def test_a_file_that_has_changed_is_looked_at_again(jobs: JobQueue, experiment: Experiment, tmp_path: Path) -> None:
    path, found = tmp_path / "changing.txt", []
    for seed in (1, 2):
        path.write_text("\n".join(random_sentences(40, seed=seed)))
        job = jobs.open(replace(experiment, corpus=str(path), sample_size=40), start=True)
        assert ended(job) is State.DONE
        found.append(job.work.found)
        assert set(found[-1].sentences) == set(path.read_text().splitlines())
    assert found[0].corpus.fingerprint != found[1].corpus.fingerprint


def test_closing_ends_the_work_and_waits_for_nothing_that_the_worker_computes(
    store: Store, experiment: Experiment, gate: threading.Event
) -> None:
    before = set(threading.enumerate())
    jobs = JobQueue(store)
    started = set(threading.enumerate()) - before
    job = jobs.open(experiment)
    wait_for(lambda: n_measured(job) == 64)
    jobs.close()
    assert started
    assert not any(thread.is_alive() for thread in started)
    assert job.state is State.CANCELLED

    jobs, began = JobQueue(store, RemoteEncoders()), threading.Event()
    jobs.encoders.product_rate(0.1)

    def work(_: Progress) -> float:
        began.set()
        return jobs.encoders.product_rate(3600)

    jobs.fetch("long", work)
    began.wait()
    at = time.monotonic()
    jobs.close()
    assert time.monotonic() - at < 60
    assert jobs.encoders.pid is None


def test_results_come_step_by_step_and_those_who_ask_the_same_share_them(jobs: JobQueue) -> None:
    go, begun = threading.Semaphore(0), []

    def steps() -> Iterator[int]:
        begun.append(1)
        for result in (1, 2, 3):
            go.acquire()
            yield result

    task = jobs.analyse("key", steps)
    assert task.work.result is None
    assert jobs.analyse("key", steps) is task
    go.release()
    wait_for(lambda: task.work.result == 1)
    assert task.state is not State.DONE
    go.release(2)
    assert (ended(task), task.work.result, begun) == (State.DONE, 3, [1])
    assert jobs.analyse("key", steps).work.result == 3
    assert begun == [1]


def test_what_nobody_looks_on_at_stops_and_begins_anew_when_it_is_asked_again(store: Store) -> None:
    taken: list[int] = []

    def steps() -> Iterator[int]:
        for result in range(1000):
            time.sleep(0.01)
            taken.append(result)
            yield result

    jobs = JobQueue(store, unasked_seconds=0.05)
    assert ended(jobs.analyse("key", steps)) is State.CANCELLED
    assert 1 <= len(taken) < 500
    n_taken = len(taken)
    again = jobs.analyse("key", steps)
    assert again.work.result is not None  # what was known stays until there is something newer
    ended(again)
    assert taken[n_taken] == 0
    jobs.close()


def test_what_broke_gets_another_attempt_and_what_is_undefined_stays_so(store: Store) -> None:
    jobs = JobQueue(store, unasked_seconds=180.0)
    for error, said, is_anew in (
        (MemoryError(), "unexpected", True),
        (UndefinedFitError("There is nothing to fit."), "There is nothing to fit.", False),
    ):

        def failing(error: Exception = error) -> Iterator[int]:
            yield 1
            raise error

        first = jobs.analyse(error, failing)
        assert ended(first) is State.FAILED
        assert said in str(first.error)
        assert first.work.result == 1
        assert jobs.analyse(error, failing) is first  # not at every poll
        for watcher in first.watchers:
            first.look_away(watcher)
        second = jobs.analyse(error, lambda: iter([7]))
        ended(second)
        assert (second is not first, second.work.result == 7) == (is_anew, is_anew)
    jobs.close()


def test_only_so_many_results_are_kept_and_what_they_are_of_is_let_go(store: Store) -> None:
    class Large:
        pass

    large = Large()
    is_there, jobs = weakref.ref(large), JobQueue(store, results_kept=2)

    def steps(of: Large = large) -> Iterator[int]:
        yield 1

    first = jobs.analyse("first", steps)
    ended(first)
    del large, steps
    gc.collect()
    assert is_there() is None
    assert first.work.result == 1
    for key in ("second", "third"):
        ended(jobs.analyse(key, lambda: iter([1])))
    assert jobs.analyse("first", lambda: iter([1])) is not first
    jobs.close()


def test_what_waits_for_the_network_waits_for_nothing_else_and_is_tried_again_once_nobody_looks(store: Store) -> None:
    jobs, somebody, go = JobQueue(store, unasked_seconds=0.0), Somebody(), threading.Event()
    asked: list[Callable[[], str]] = []

    def fetch(progress: Progress) -> str:
        asked.append(fetch)
        progress.begin("Reading", 3)
        if len(asked) == 1:
            raise CorpusError("The Hub cannot be reached. Try again.")
        return "values"

    def look() -> Job:
        job = jobs.fetch("key", fetch)
        job.watch(somebody)
        return job

    computing = jobs.analyse("busy", lambda: iter([go.wait(60)]))
    computing.watch(somebody)
    failed = look()
    assert ended(failed) is State.FAILED
    assert (str(failed.error), failed.total) == ("The Hub cannot be reached. Try again.", 3)
    assert look() is failed
    failed.look_away(somebody)
    again = look()
    assert (ended(again), again.work.result, len(asked)) == (State.DONE, "values", 2)
    assert look() is again
    assert computing.state.is_active
    go.set()
    jobs.close()
