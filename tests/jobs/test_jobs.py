import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clsviz.errors import CorpusError
from clsviz.jobs import jobs as module
from clsviz.jobs.jobs import Job, Jobs
from clsviz.progress import Progress
from clsviz.sources.models import Weights


def wait_for(holds: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def model(name: str) -> Weights:
    return Weights(name, name, Path(), name)


def count(
    n: float, order: list[object] | None = None, name: object = "", weights: Weights | None = None
) -> Callable[[Progress], int]:
    """Counts in turns of .01 s, and notes a name in each."""
    order = [] if order is None else order

    def counting(progress: Progress) -> int:
        done = 0
        with progress.at("model", weights):
            while done < n:
                order.append(name)
                time.sleep(0.01)
                done += 1
                progress(done, 100, "numbers")
        return done

    return counting


@pytest.fixture
def jobs() -> Jobs:
    return Jobs()


@pytest.fixture
def gate(jobs: Jobs) -> threading.Event:
    """Opens the model, which a job holds until then."""
    gate = threading.Event()

    def hold(progress: Progress) -> None:
        with progress.at("model"):
            gate.wait(20)

    holding = jobs.ask("hold", hold, "holder")
    wait_for(lambda: holding.resource)
    return gate


def test_all_who_ask_for_the_same_share_a_job(jobs: Jobs) -> None:
    first = jobs.ask("key", count(3), "a")
    assert jobs.ask("key", count(3), "b") is first
    wait_for(lambda: not first.is_active)
    assert (first.result, first.is_cancelled, first.error) == (3, False, None)
    assert jobs.ask("key", count(3), "c") is first


def test_an_error_ends_its_job_and_not_the_thread(jobs: Jobs) -> None:
    def fail(progress: Progress) -> int:
        raise CorpusError("There is none.", "Choose another.")

    failed = jobs.ask("key", fail, "a")
    wait_for(lambda: not failed.is_active)
    assert isinstance(failed.error, CorpusError)
    assert jobs.ask("key", fail, "a") is failed, "it must not begin again with every redraw"
    jobs.again(failed, "a")
    again = jobs.ask("key", count(1), "a")
    wait_for(lambda: not again.is_active)
    assert again.result == 1


def test_a_job_ends_when_the_last_session_leaves_it(jobs: Jobs) -> None:
    job = jobs.ask("key", count(math.inf), "a")
    jobs.ask("key", count(math.inf), "b")
    job.leave("a")
    jobs.ask("key", count(math.inf), "a")  # a redraw of the page that has left
    assert (job.has_left("a"), job.is_cancelled) == (True, False)
    jobs.again(job, "a")
    assert jobs.ask("key", count(math.inf), "a") is job
    job.leave("b")
    assert not job.is_cancelled
    job.leave("a")
    wait_for(lambda: not job.is_active)
    assert (job.is_cancelled, job.error) == (True, None)


@pytest.mark.parametrize(("is_public", "ends"), [("1", True), ("0", False)])
def test_a_public_job_ends_a_while_after_its_last_session_has_gone(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, is_public: str, ends: bool
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", is_public)
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.05)
    job = jobs.ask("key", count(math.inf), "a")
    jobs.ask("key", count(math.inf), "b")
    jobs.disconnect("a")
    time.sleep(0.1)
    assert job.is_active
    jobs.disconnect("b")
    time.sleep(0.2)
    assert job.is_active != ends
    job.leave("b")


def test_a_job_ends_in_time(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_JOB_SECONDS", "0")
    long = jobs.ask("long", count(math.inf), "a")
    wait_for(lambda: not long.is_active)
    assert "longer than the 0 seconds" in str(long.error)


def test_a_session_that_asks_for_too_many_leaves_the_one_of_longest_ago(jobs, monkeypatch) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_JOBS", "2")
    first, second, third = (jobs.ask(n, count(math.inf), "one") for n in range(3))
    assert [job.is_cancelled for job in (first, second, third)] == [True, False, False]
    for session, key in (("other", 2), ("one", 1), ("one", 3)):
        last = jobs.ask(key, count(math.inf), session)
    assert third.has_left("one")
    assert not third.is_cancelled
    for job, session in ((third, "other"), (second, "one"), (last, "one")):
        job.leave(session)


def test_jobs_take_turns_and_urgent_ones_come_first(jobs: Jobs, gate: threading.Event) -> None:
    order: list[object] = []
    first, second = (jobs.ask(name, count(2, order, name), "a") for name in ("first", "second"))
    urgent = jobs.ask("urgent", count(2, order, "urgent"), "c", is_urgent=True)
    wait_for(lambda: all(job.resource for job in (first, second, urgent)))
    assert jobs.ahead(second) == jobs.ahead(first) + 1
    gate.set()
    wait_for(lambda: len(order) == 6)
    assert order[:2] == ["urgent", "urgent"]
    assert {*order[2:4]} == {*order[4:]} == {"first", "second"}


def test_another_model_waits_for_its_turn(jobs, gate, monkeypatch) -> None:
    monkeypatch.setattr(module, "TURN_SECONDS", 60.0)
    order: list[object] = []
    asked = [jobs.ask(name, count(3, order, name, model(name)), "a") for name in ("one", "other")]
    wait_for(lambda: all(job.resource for job in asked))
    gate.set()
    wait_for(lambda: len(order) == 6)
    assert order == ["one"] * 3 + ["other"] * 3


def test_who_loads_a_model_for_all_is_not_charged_for_it(jobs: Jobs, gate: threading.Event) -> None:
    order: list[object] = []
    loaded: list[str] = []

    def measure(name: str) -> Callable[[Progress], None]:
        def measuring(progress: Progress) -> None:
            with progress.at("model", model("shared")):
                if not loaded:
                    loaded.append(name)
                    time.sleep(0.3)
                for _ in range(3):
                    progress(0, 3, "numbers")
                    order.append(name)
                    time.sleep(0.02)

        return measuring

    asked = [jobs.ask(name, measure(name), "a") for name in ("one", "other")]
    wait_for(lambda: all(job.resource for job in asked))
    gate.set()
    wait_for(lambda: len(order) == 6)
    assert loaded == ["one"]
    assert {*order[:2]} == {*order[2:4]} == {"one", "other"}


def test_a_job_that_waits_ends_when_its_session_leaves(jobs: Jobs, gate: threading.Event) -> None:
    waiting = jobs.ask("waiting", count(1), "a")
    wait_for(lambda: waiting.resource)
    waiting.leave("a")
    wait_for(lambda: not waiting.is_active)
    assert (waiting.result, waiting.error, waiting.is_cancelled) == (None, None, True)
    gate.set()
    other = jobs.ask("other", count(1), "a")
    wait_for(lambda: not other.is_active)
    assert other.result == 1


def test_parts_count_as_the_whole_and_publish_nothing(jobs: Jobs) -> None:
    def both(progress: Progress) -> str:
        progress.publish(lambda: "first points")
        for place in range(2):
            count(3)(progress.part(3 * place, 6, "texts"))
        return "answer"

    job: Job[str] = jobs.ask("key", both, "a")
    wait_for(lambda: job.result == "first points" or not job.is_active)
    wait_for(lambda: not job.is_active)
    assert (job.result, job.unit, job.done) == ("answer", "texts", 6)


def test_ended_jobs_are_forgotten_but_for_the_last(jobs: Jobs) -> None:
    ended = [jobs.ask(number, count(0), "a") for number in range(module.MOST_ENDED + 5)]
    wait_for(lambda: not any(job.is_active for job in ended))
    jobs.ask("another", count(0), "a")
    assert jobs.ask(0, count(0), "a") is not ended[0]
    assert jobs.ask(len(ended) - 1, count(0), "a") is ended[-1]
