import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.logs import logged
from support.tiny import random_sentences
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.errors import CorpusError
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


def test_what_is_quick_starts_by_itself_and_ends(jobs: JobQueue, experiment: Experiment) -> None:
    job = jobs.open(experiment)
    wait_for(lambda: not job.state.is_active)
    assert job.state is State.DONE
    assert n_measured(job) == 300


def test_all_who_ask_the_same_share_one_job(jobs: JobQueue, experiment: Experiment) -> None:
    job = jobs.open(experiment)
    assert jobs.open(replace(experiment, length_cutoff=10, layer=1)) is job
    assert jobs.open(Experiment(experiment.model, experiment.corpus, sample_size=299)) is not job


def test_two_servers_on_one_store_measure_the_same_once(
    store: Store, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits while the first measures, and reads what that has measured."""
    go, measure = threading.Event(), Encoder.measure

    def slowly(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> object:
        while on_batch and len(sentences) > 32 and not go.wait(0.01):
            on_batch(0)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", slowly)
    servers = [JobQueue(Store(store.root)) for _ in range(2)]
    first, second = (server.open(experiment) for server in servers)
    wait_for(lambda: "Another process" in first.stage + second.stage)
    go.set()
    wait_for(lambda: first.state is State.DONE and second.state is State.DONE)
    assert n_measured(first) == n_measured(second) == 300
    assert sum(server.store.tally.n for server in servers) == 300
    np.testing.assert_array_equal(*(job.work.found.measurements.cls_norms for job in (first, second)))
    for server in servers:
        server.close()


def test_what_takes_long_waits_to_be_started(
    jobs: JobQueue, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(31.0))
    job = jobs.open(experiment)
    wait_for(lambda: job.state is State.WAITING)
    assert job.cost == Cost(31.0)
    assert jobs.open(experiment, start=True) is job
    wait_for(lambda: job.state is State.DONE)


def test_what_waits_and_was_left_can_be_started_later(
    jobs: JobQueue, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(31.0))
    job = jobs.open(experiment)
    job.watch("visitor", lambda: True)
    wait_for(lambda: job.state is State.WAITING)
    job.leave("visitor")
    again = jobs.open(experiment, start=True)
    wait_for(lambda: not again.state.is_active)
    assert again.state is State.DONE


def test_a_start_before_the_cost_is_known_counts(
    jobs: JobQueue, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = threading.Event()
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: known.wait(30) and Cost(31.0))
    job = jobs.open(experiment)
    jobs.open(experiment, start=True)
    known.set()
    wait_for(lambda: job.state is State.DONE)


def test_another_experiment_queues_and_knows_its_place(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    first = jobs.open(experiment)
    wait_for(lambda: n_measured(first) == 64)
    second = jobs.open(Experiment(experiment.model, experiment.corpus, sample_size=200, seed=1))
    wait_for(lambda: second.state is State.QUEUED)
    third = jobs.open(Experiment(experiment.model, experiment.corpus, sample_size=200, seed=2))
    wait_for(lambda: third.state is State.QUEUED)
    assert [jobs.n_ahead(job) for job in (first, second, third)] == [None, 1, 2]
    second.cancel()
    assert jobs.n_ahead(third) == 1
    gate.set()
    wait_for(lambda: third.state is State.DONE)
    assert first.state is State.DONE
    assert second.state is State.CANCELLED
    assert n_measured(second) == 0


def test_what_is_stored_does_not_queue(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event, store: Store
) -> None:
    gate.set()
    stored = Experiment(experiment.model, experiment.corpus, sample_size=50, seed=9)
    wait_for(lambda: jobs.open(stored).state is State.DONE)
    gate.clear()
    busy = jobs.open(experiment)
    wait_for(lambda: n_measured(busy) == 64)
    other_server = JobQueue(store)
    for server in (jobs, other_server):
        job = server.open(Experiment(experiment.model, experiment.corpus, sample_size=40, seed=9))
        wait_for(lambda job=job: job.state is State.DONE)
    assert busy.state is State.RUNNING
    other_server.close()


def test_cancelling_stops_and_keeps_what_is_there(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    job = jobs.open(experiment)
    wait_for(lambda: n_measured(job) == 64)
    job.cancel()
    assert job.state is State.CANCELLED
    assert n_measured(job) == 64
    again = jobs.open(experiment)
    assert again is not job
    assert n_measured(again) == 64  # without having read anything again
    gate.set()
    wait_for(lambda: again.state is State.DONE)
    assert n_measured(again) == 300


def test_a_job_goes_on_as_long_as_somebody_watches(
    jobs: JobQueue, experiment: Experiment, gate: threading.Event
) -> None:
    job = jobs.open(experiment)
    job.watch("one", lambda: True)
    job.watch("other", lambda: True)
    wait_for(lambda: n_measured(job) == 64)
    job.leave("one")
    assert job.state is State.RUNNING
    job.leave("other")
    assert job.state is State.CANCELLED


def test_who_looks_on_at_several_jobs_is_one(jobs: JobQueue, experiment: Experiment, gate: threading.Event) -> None:
    measuring = [jobs.open(replace(experiment, sample_size=size)) for size in (100, 200, 300)]
    for job in measuring:
        job.watch("one", lambda: True)
    computing = [jobs.analyse(key, lambda: iter([gate.wait(60)]), visitor="one") for key in range(4)]
    assert jobs.n_watchers == 1
    measuring[0].watch("other", lambda: True)
    assert jobs.n_watchers == 2
    gate.set()
    wait_for(lambda: not any(job.state.is_active for job in (*measuring, *computing)))
    assert jobs.n_watchers == 0


@pytest.mark.parametrize("seconds", [0.2, None])
def test_a_job_whose_watchers_have_gone_is_cancelled_where_that_is_the_rule(
    store: Store, experiment: Experiment, gate: threading.Event, seconds: float | None
) -> None:
    jobs = JobQueue(store, unwatched_seconds=seconds)
    there = True
    job = jobs.open(experiment)
    job.watch("one", lambda: there)
    wait_for(lambda: n_measured(job) == 64)
    time.sleep(0.4)
    assert job.state is State.RUNNING
    assert jobs.running is job
    there = False
    if seconds is None:
        time.sleep(0.4)
        assert job.state is State.RUNNING
        gate.set()
        wait_for(lambda: job.state is State.DONE)
        assert jobs.running is None
    else:
        wait_for(lambda: job.state is State.CANCELLED)
    jobs.close()


def test_what_is_held_waits_until_it_is_asked_for_otherwise(jobs: JobQueue, experiment: Experiment) -> None:
    held = jobs.open(experiment, hold=True)
    wait_for(lambda: held.state is State.WAITING)
    assert jobs.open(experiment, hold=True) is held
    assert held.state is State.WAITING
    assert jobs.open(experiment) is held  # by somebody who does not want to look at the corpus first
    wait_for(lambda: held.state is State.DONE)
    other = jobs.open(replace(experiment, seed=1), hold=True)
    wait_for(lambda: other.state is State.WAITING)
    assert jobs.open(replace(experiment, seed=1), hold=True, start=True) is other
    wait_for(lambda: other.state is State.DONE)


def test_a_mistake_of_the_user_is_told_and_the_next_job_runs(jobs: JobQueue, experiment: Experiment) -> None:
    failed = jobs.open(Experiment(model="/nowhere", corpus=experiment.corpus))
    wait_for(lambda: failed.state is State.FAILED)
    assert "no folder /nowhere" in str(failed.error)
    job = jobs.open(experiment)
    wait_for(lambda: job.state is State.DONE)
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
        wait_for(lambda: job.state is State.FAILED)
    assert "secret" not in str(job.error)
    assert "a secret detail" in log.getvalue()


def test_only_so_many_ended_jobs_stay(jobs: JobQueue, experiment: Experiment) -> None:
    asked = [Experiment(experiment.model, experiment.corpus, sample_size=20, seed=seed) for seed in range(8)]
    first = [jobs.open(one) for one in asked]
    for job in first:
        wait_for(lambda job=job: job.state is State.DONE)
    jobs.open(asked[-1])
    kept = [jobs.open(one) is job for one, job in zip(asked[::-1], first[::-1], strict=True)]
    assert kept[0]
    assert sum(kept) <= JOBS_KEPT + 1


def test_what_is_watched_stays_whatever_else_is_asked(store: Store, experiment: Experiment) -> None:
    jobs = JobQueue(store)
    watched = [jobs.open(replace(experiment, sample_size=size)) for size in range(1, JOBS_KEPT + 5)]
    for job in watched:
        job.watch("visitor", lambda: True)
    wait_for(lambda: all(job.state is State.DONE for job in watched))
    for size in range(50, 50 + 2 * JOBS_KEPT):
        other = jobs.open(replace(experiment, sample_size=size))
        wait_for(lambda other=other: other.state is State.DONE)
    assert [jobs.open(job.work.experiment) for job in watched] == watched
    jobs.close()


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
    assert job.state is State.QUEUED
    assert jobs.n_ahead(job) == 1
    assert jobs.measure_more("more", steps) is job
    gate.set()
    wait_for(lambda: job.state is State.DONE)
    assert measuring.state is State.DONE
    assert (job.work.result, job.stage, job.done, job.total) == (2, "Measuring more", 2, 3)


def test_closing_ends_the_work(store: Store, experiment: Experiment, gate: threading.Event) -> None:
    before = set(threading.enumerate())
    jobs = JobQueue(store)
    started = set(threading.enumerate()) - before
    job = jobs.open(experiment)
    wait_for(lambda: n_measured(job) == 64)
    jobs.close()
    assert started
    assert not any(thread.is_alive() for thread in started)
    assert job.state is State.CANCELLED


def test_a_file_that_has_changed_is_looked_at_again(jobs: JobQueue, experiment: Experiment, tmp_path: Path) -> None:
    path = tmp_path / "changing.txt"
    path.write_text("\n".join(random_sentences(40, seed=1)))
    experiment = replace(experiment, corpus=str(path), sample_size=40)
    first = jobs.open(experiment, start=True)
    wait_for(lambda: first.state is State.DONE)
    path.write_text("\n".join(random_sentences(40, seed=2)))
    second = jobs.open(experiment, start=True)
    wait_for(lambda: second.state is State.DONE)
    assert first.work.found.corpus.fingerprint != second.work.found.corpus.fingerprint
    assert set(second.work.found.sentences) == set(path.read_text().splitlines())


def test_what_waits_for_the_network_waits_for_nothing_else_and_is_tried_again_once_nobody_looks(store: Store) -> None:
    jobs = JobQueue(store, unasked_seconds=0.0)
    go, asked = threading.Event(), 0

    def busy() -> Iterator[int]:
        go.wait(60)
        yield 0

    def fetch(progress: Progress) -> str:
        nonlocal asked
        asked += 1
        progress.begin("Reading", 3)
        if asked == 1:
            raise CorpusError("The Hub cannot be reached. Try again.")
        return "values"

    def look() -> Job:
        job = jobs.fetch("key", fetch)
        job.watch("test", lambda: True)
        return job

    computing = jobs.analyse("busy", busy)
    computing.watch("test", lambda: True)
    failed = look()
    wait_for(lambda: failed.state is State.FAILED)
    assert (str(failed.error), failed.total) == ("The Hub cannot be reached. Try again.", 3)
    assert look() is failed
    failed.look_away("test")
    again = look()
    wait_for(lambda: again.state is State.DONE)
    assert (again.work.result, asked) == ("values", 2)
    assert look() is again
    assert computing.state.is_active
    go.set()
    jobs.close()


def test_what_the_worker_computes_is_not_waited_for_when_the_queue_closes(store: Store) -> None:
    jobs = JobQueue(store, RemoteEncoders())
    jobs.encoders.product_rate(0.1)
    began = threading.Event()

    def work(_: Progress) -> float:
        began.set()
        return jobs.encoders.product_rate(3600)

    jobs.fetch("long", work)
    began.wait()
    before = time.monotonic()
    jobs.close()
    assert time.monotonic() - before < 60
    assert jobs.encoders.pid is None
