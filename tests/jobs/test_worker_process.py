"""The process that holds the models: lost, hung, and asked by several at once."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import JobQueue, RemoteEncoders, State, WorkerLostError, worker_process
from clsviz.measurements import KINDS
from clsviz.sources.models import Weights
from clsviz.store import Store


@pytest.fixture(scope="module")
def encoders() -> Iterator[RemoteEncoders]:
    """Those of all tests here, as it takes long to start one: whoever ends it is followed by another."""
    encoders = RemoteEncoders()
    yield encoders
    encoders.close()


def test_it_measures_what_an_encoder_here_measures(
    encoders: RemoteEncoders, tiny_weights: Weights, tiny_encoder: Encoder
) -> None:
    remote, sentences = encoders.get(tiny_weights), [f"the cat {'sat ' * (n % 9)}" for n in range(150)]
    for kind, method in zip(KINDS, ("measure", "means", "vectors"), strict=True):
        (measured,) = remote.stream([sentences], kind=kind)
        expected = getattr(tiny_encoder, method)(sentences)
        assert measured.n_tokens.tolist() == expected.n_tokens.tolist()
        assert abs(measured.cls_norms - expected.cls_norms).max() < 1e-4
    assert encoders.pid not in (None, os.getpid())


def test_what_was_being_measured_is_measured_on_when_it_is_killed(
    store: Store, encoders: RemoteEncoders, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    call = RemoteEncoders.call

    def call_and_kill(
        self: RemoteEncoders, key: tuple[object, ...], method: str, *args: object, **named: float
    ) -> object:
        if method == "measure" and not killed and self.pid is not None:
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        return call(self, key, method, *args, **named)

    monkeypatch.setattr(RemoteEncoders, "call", call_and_kill)
    jobs = JobQueue(store, encoders)
    job = jobs.open(experiment, start=True)
    wait_for(lambda: not job.state.is_active)
    jobs.close()
    assert (job.state, job.error) == (State.DONE, None)
    assert len(killed) == 1
    assert job.work.found is not None
    assert len(job.work.found.measurements) == 300


def test_one_that_hangs_is_replaced_after_its_limit(
    encoders: RemoteEncoders, tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = encoders.get(tiny_weights)
    pid = encoders.pid
    assert pid is not None
    monkeypatch.setattr(worker_process, "HUNG_SECONDS", 1.0)
    monkeypatch.setattr(worker_process, "HUNG_TIMES", 1)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(WorkerLostError, match="ended before its time"):
        encoders.product_rate(0.1)
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    monkeypatch.undo()
    assert remote.tokens("the cat") == ["the", "cat"]
    assert encoders.pid != pid


def test_all_threads_share_one_that_any_of_them_can_end(encoders: RemoteEncoders) -> None:
    pids: list[int | None] = []

    def ask() -> None:
        encoders.product_rate(0.05)
        pids.append(encoders.pid)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(pids) == 4
    (pid,) = {*pids}
    assert pid is not None
    encoders.close()
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_it_ends_with_its_parent() -> None:
    program = """
from clsviz.jobs import RemoteEncoders
encoders = RemoteEncoders()
encoders.product_rate(0.1)
print(encoders.pid, flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
    wait_for(lambda: not psutil.pid_exists(pid))


def test_typed_sentences_are_read_between_the_slices_of_a_measurement(
    encoders: RemoteEncoders, tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "SLICE_SECONDS", 0.0)  # slices of 64
    remote, done = encoders.get(tiny_weights), []
    sentences = [f"the cat sat on {n}" for n in range(5_000)]
    measuring = threading.Thread(target=lambda: [*remote.stream([sentences], done.append)])
    measuring.start()
    wait_for(lambda: len(done) > 2)
    assert remote.tokens("a dog") == ["a", "dog"]
    assert measuring.is_alive()
    assert done[-1] < len(sentences)
    encoders.close()
    measuring.join(60)
