import gc
import io
import os
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.waiting import Somebody, wait_for

from clsviz.experiment import Experiment
from clsviz.jobs import Housekeeping, JobQueue
from clsviz.jobs.housekeeping import RECENT_SECONDS
from clsviz.limits import LOCAL, PUBLIC
from clsviz.sources import uploads
from clsviz.store import Store


@pytest.fixture
def jobs(store: Store) -> Iterator[JobQueue]:
    jobs = JobQueue(store)
    yield jobs
    jobs.close()


def uploaded(store: Store) -> str:
    """An upload that was last looked at long ago."""
    name = uploads.keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", store.corpora)
    for path in store.corpora.iterdir():
        os.utime(path, (0, 0))
    return name


def test_an_upload_is_kept_while_somebody_is_there_and_deleted_afterwards(store: Store, jobs: JobQueue) -> None:
    housekeeping = Housekeeping(jobs, PUBLIC, every_seconds=3600)
    name, somebody = uploaded(store), Somebody()
    housekeeping.hold(name, somebody)
    housekeeping.tidy()
    assert (store.corpora / name).exists()
    somebody.is_connected = False
    housekeeping.tidy()
    assert (store.corpora / name).exists()  # whoever reloads the page is back in a moment
    os.utime(store.corpora / f"{name}.json", (0, 0))
    housekeeping.tidy()
    assert not list(store.corpora.iterdir())


def test_what_was_measured_of_a_deleted_upload_is_forgotten(
    store: Store, jobs: JobQueue, experiment: Experiment
) -> None:
    name = uploaded(store)
    job = jobs.open(replace(experiment, corpus=name))
    wait_for(lambda: not job.state.is_active)
    os.utime(store.corpora / f"{name}.json", (0, 0))
    Housekeeping(jobs, PUBLIC, every_seconds=3600).tidy()
    assert jobs.open(replace(experiment, corpus=name)) is not job


def test_on_a_machine_of_ones_own_uploads_stay_and_the_store_grows(store: Store, jobs: JobQueue) -> None:
    name = uploaded(store)
    Housekeeping(jobs, LOCAL, every_seconds=3600).tidy()
    assert (store.corpora / name).exists()


def test_what_is_looked_at_is_never_evicted(store: Store, jobs: JobQueue, experiment: Experiment) -> None:
    watched, left = jobs.open(experiment), jobs.open(replace(experiment, seed=1))
    watched.watch(Somebody())
    wait_for(lambda: not (watched.state.is_active or left.state.is_active))
    folders = {job: store.root / job.work.key_of(job.work.found).folder_name for job in (watched, left)}
    for path in store.root.rglob("*"):
        os.utime(path, (time.time() - RECENT_SECONDS - 60,) * 2)
    Housekeeping(jobs, replace(PUBLIC, store_bytes=1), every_seconds=3600).tidy()
    assert folders[watched].exists()
    assert not folders[left].exists()


def test_it_tidies_by_itself_and_ends_with_its_object(store: Store, jobs: JobQueue) -> None:
    name = uploaded(store)
    (store.root / ".evicted-0a").mkdir()
    housekeeping = Housekeeping(jobs, PUBLIC, every_seconds=0.01)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "housekeeping"]
    wait_for(lambda: not (store.corpora / name).exists() and not (store.root / ".evicted-0a").exists())
    is_gone = weakref.ref(housekeeping)
    del housekeeping
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
    assert is_gone() is None
