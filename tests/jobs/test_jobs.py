import threading
import time
from collections.abc import Callable

import pytest

from clsviz.errors import CorpusError
from clsviz.jobs import jobs as module
from clsviz.jobs.jobs import Job, Jobs, Steps


def wait_for(holds: Callable[[], object], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def count(n: int) -> Callable[[Job[int]], Steps]:
    def steps(job: Job[int]) -> Steps:
        for number in range(n):
            job.show(number, n, "steps")
            yield
        job.result = n

    return steps


class Gated:
    """Steps that wait until they are let on."""

    def __init__(self) -> None:
        self.gate = threading.Semaphore(0)
        self.n_begun = 0

    def __call__(self, job: Job[int]) -> Steps:
        while True:
            self.n_begun += 1
            self.gate.acquire(timeout=5)
            job.show(self.n_begun, 100, "steps")
            yield


def test_all_who_ask_for_the_same_share_a_job() -> None:
    jobs = Jobs("test")
    first = jobs.ask("key", count(3), "a")
    assert jobs.ask("key", count(3), "b") is first
    wait_for(lambda: not first.is_active)
    assert (first.result, first.is_cancelled, first.error) == (3, False, None)
    assert jobs.ask("key", count(3), "c") is first


def test_an_error_ends_its_job_and_not_the_thread() -> None:
    def fail(job: Job[int]) -> Steps:
        yield
        raise CorpusError("There is none.", "Choose another.")

    jobs = Jobs("test")
    failed = jobs.ask("key", fail, "a")
    wait_for(lambda: not failed.is_active)
    assert isinstance(failed.error, CorpusError)
    assert jobs.ask("key", fail, "a") is failed, "it must not begin again with every redraw"
    jobs.again(failed, "a")
    again = jobs.ask("key", count(1), "a")
    wait_for(lambda: not again.is_active)
    assert again.result == 1


def test_a_job_ends_when_the_last_session_leaves_it() -> None:
    jobs, steps = Jobs("test"), Gated()
    job = jobs.ask("key", steps, "a")
    jobs.ask("key", steps, "b")
    job.leave("a")
    steps.gate.release()
    wait_for(lambda: steps.n_begun == 2)
    assert job.is_active
    assert job.has_left("a")
    jobs.ask("key", steps, "a")  # a redraw of the page that has left
    job.leave("b")
    steps.gate.release()
    wait_for(lambda: not job.is_active)
    assert job.is_cancelled


def test_a_session_that_left_may_rejoin_while_others_wait() -> None:
    jobs, steps = Jobs("test"), Gated()
    job = jobs.ask("key", steps, "a")
    jobs.ask("key", steps, "b")
    job.leave("a")
    jobs.again(job, "a")
    assert jobs.ask("key", steps, "a") is job
    job.leave("b")
    assert not job.is_cancelled
    job.leave("a")
    steps.gate.release(9)


def test_a_job_ends_when_its_sessions_are_gone_for_long() -> None:
    jobs, steps = Jobs("test", grace_seconds=0.05), Gated()
    job = jobs.ask("key", steps, "a")
    steps.gate.release()
    wait_for(lambda: steps.n_begun == 2)
    jobs.disconnect("a")
    time.sleep(0.06)
    steps.gate.release(9)
    wait_for(lambda: not job.is_active)


def test_jobs_take_turns_and_urgent_ones_come_first() -> None:
    jobs, order = Jobs("test"), []
    hold = Gated()
    holding = jobs.ask("hold", hold, "a")
    wait_for(lambda: hold.n_begun == 1)

    def note(name: str) -> Callable[[Job[int]], Steps]:
        def steps(job: Job[int]) -> Steps:
            for _ in range(2):
                order.append(name)
                time.sleep(0.01)
                yield

        return steps

    first = jobs.ask("first", note("first"), "a")
    second = jobs.ask("second", note("second"), "b")
    jobs.ask("urgent", note("urgent"), "c", is_urgent=True)
    assert jobs.ahead(second) == jobs.ahead(first) + 1
    holding.leave("a")
    hold.gate.release()
    wait_for(lambda: len(order) == 6)
    assert order[:2] == ["urgent", "urgent"]
    assert sorted(order[2:4]) == sorted(order[4:]) == ["first", "second"]


def test_another_model_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TURN_SECONDS", 60.0)
    jobs, order = Jobs("test"), []

    def note(name: str) -> Callable[[Job[int]], Steps]:
        def steps(job: Job[int]) -> Steps:
            for _ in range(3):
                order.append(name)
                time.sleep(0.01)
                yield

        return steps

    jobs.ask("a", note("a"), "a", model="one")
    jobs.ask("b", note("b"), "b", model="other")
    wait_for(lambda: len(order) == 6)
    assert order == ["a", "a", "a", "b", "b", "b"]


def test_ended_jobs_are_forgotten_but_for_the_last() -> None:
    jobs = Jobs("test")
    ended = [jobs.ask(number, count(1), "a") for number in range(module.MOST_ENDED + 5)]
    wait_for(lambda: not any(job.is_active for job in ended))
    jobs.ask("another", count(1), "a")
    assert jobs.ask(0, count(1), "a") is not ended[0]
    last = module.MOST_ENDED + 4
    assert jobs.ask(last, count(1), "a") is ended[-1]
