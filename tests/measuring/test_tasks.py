import gc
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from clsviz.errors import UndefinedFitError
from clsviz.measuring import Task, Tasks


def wait(task: Task) -> None:
    deadline = time.monotonic() + 10
    while task.is_at_work:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_results_come_step_by_step_and_those_who_ask_the_same_share_them() -> None:
    go = threading.Semaphore(0)
    begun: list[int] = []

    def steps() -> Iterator[int]:
        begun.append(1)
        for result in (1, 2, 3):
            go.acquire()
            yield result

    analyses = Tasks()
    task = analyses.open("key", steps)
    assert task.result is None
    assert analyses.open("key", steps) is task
    go.release()
    while task.result != 1:
        time.sleep(0.005)
    assert not task.is_done
    go.release(2)
    wait(task)
    assert (task.result, task.is_done, begun) == (3, True, [1])
    assert analyses.open("key", steps).result == 3
    assert begun == [1]


def test_what_nobody_looks_on_at_stops_and_begins_anew_when_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.measuring.tasks._UNWATCHED_SECONDS", 0.05)
    taken: list[int] = []

    def steps() -> Iterator[int]:
        for result in range(1000):
            time.sleep(0.01)
            taken.append(result)
            yield result

    analyses = Tasks()
    task = analyses.open("key", steps)
    wait(task)
    assert not task.is_done
    assert 1 <= len(taken) < 500
    n_taken = len(taken)
    assert analyses.open("key", steps) is task
    wait(task)
    assert taken[n_taken] == 0


def test_failures_are_kept_and_the_next_task_goes_on() -> None:
    def undefined() -> Iterator[int]:
        yield 1
        raise UndefinedFitError("There is nothing to fit.")

    def broken() -> Iterator[int]:
        yield 1 // 0

    analyses = Tasks()
    first, second, third = (
        analyses.open(key, steps)
        for key, steps in (("first", undefined), ("second", broken), ("third", lambda: iter([7])))
    )
    for task in (first, second, third):
        wait(task)
        assert task.is_done
    assert str(first.error) == "There is nothing to fit."
    assert first.result == 1
    assert "unexpected" in str(second.error)
    assert (third.result, third.error) == (7, None)


def test_only_so_many_results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.measuring.tasks._KEPT", 2)
    analyses = Tasks()
    first = analyses.open("first", lambda: iter([1]))
    wait(first)
    for key in ("second", "third"):
        wait(analyses.open(key, lambda: iter([1])))
    assert analyses.open("first", lambda: iter([1])) is not first


def test_what_broke_gets_another_attempt_and_what_is_undefined_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.measuring.tasks._UNWATCHED_SECONDS", 0.05)
    analyses = Tasks()
    for error, is_anew in ((MemoryError(), True), (UndefinedFitError("There is nothing to fit."), False)):

        def failing(error: Exception = error) -> Iterator[int]:
            yield 1
            raise error

        first = analyses.open(error, failing)
        wait(first)
        assert analyses.open(error, failing) is first  # not at every poll
        time.sleep(0.1)
        second = analyses.open(error, lambda: iter([7]))
        wait(second)
        assert (second is not first, second.result == 7) == (is_anew, is_anew)


def test_what_an_analysis_is_of_is_let_go_when_it_is_done() -> None:
    class Large:
        pass

    large = Large()
    is_there = weakref.ref(large)
    analyses = Tasks()

    def steps(of: Large = large) -> Iterator[int]:
        yield 1

    task = analyses.open("key", steps)
    wait(task)
    del large, steps
    gc.collect()
    assert is_there() is None
    assert task.result == 1
