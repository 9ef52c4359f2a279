import gc
import threading
import time
import weakref
from collections.abc import Iterator

from clsviz.errors import UndefinedFitError
from clsviz.jobs import Analysis, JobQueue, State
from clsviz.store import Store


def wait(task: Analysis) -> None:
    deadline = time.monotonic() + 10
    while task.state.is_active:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_results_come_step_by_step_and_those_who_ask_the_same_share_them(store: Store) -> None:
    go = threading.Semaphore(0)
    begun: list[int] = []

    def steps() -> Iterator[int]:
        begun.append(1)
        for result in (1, 2, 3):
            go.acquire()
            yield result

    analyses = JobQueue(store)
    task = analyses.analyse("key", steps)
    assert task.work.result is None
    assert analyses.analyse("key", steps) is task
    go.release()
    while task.work.result != 1:
        time.sleep(0.005)
    assert task.state is not State.DONE
    go.release(2)
    wait(task)
    assert (task.work.result, task.state, begun) == (3, State.DONE, [1])
    assert analyses.analyse("key", steps).work.result == 3
    assert begun == [1]


def test_what_nobody_looks_on_at_stops_and_begins_anew_when_it_is_asked_again(store: Store) -> None:
    taken: list[int] = []

    def steps() -> Iterator[int]:
        for result in range(1000):
            time.sleep(0.01)
            taken.append(result)
            yield result

    analyses = JobQueue(store, unasked_seconds=0.05)
    task = analyses.analyse("key", steps)
    wait(task)
    assert task.state is not State.DONE
    assert 1 <= len(taken) < 500
    assert task.state is State.CANCELLED
    n_taken = len(taken)
    again = analyses.analyse("key", steps)
    assert again.work.result is not None  # what was known stays until there is something newer
    wait(again)
    assert taken[n_taken] == 0


def test_failures_are_kept_and_the_next_task_goes_on(store: Store) -> None:
    def undefined() -> Iterator[int]:
        yield 1
        raise UndefinedFitError("There is nothing to fit.")

    def broken() -> Iterator[int]:
        yield 1 // 0

    analyses = JobQueue(store)
    first, second, third = (
        analyses.analyse(key, steps)
        for key, steps in (("first", undefined), ("second", broken), ("third", lambda: iter([7])))
    )
    for task in (first, second, third):
        wait(task)
    assert [task.state for task in (first, second, third)] == [State.FAILED, State.FAILED, State.DONE]
    assert str(first.error) == "There is nothing to fit."
    assert first.work.result == 1
    assert "unexpected" in str(second.error)
    assert (third.work.result, third.error) == (7, None)


def test_only_so_many_results_are_kept(store: Store) -> None:
    analyses = JobQueue(store, results_kept=2)
    first = analyses.analyse("first", lambda: iter([1]))
    wait(first)
    for key in ("second", "third"):
        wait(analyses.analyse(key, lambda: iter([1])))
    assert analyses.analyse("first", lambda: iter([1])) is not first


def test_what_broke_gets_another_attempt_and_what_is_undefined_stays_so(store: Store) -> None:
    analyses = JobQueue(store, unasked_seconds=0.05)
    for error, is_anew in ((MemoryError(), True), (UndefinedFitError("There is nothing to fit."), False)):

        def failing(error: Exception = error) -> Iterator[int]:
            yield 1
            raise error

        first = analyses.analyse(error, failing)
        wait(first)
        assert analyses.analyse(error, failing) is first  # not at every poll
        time.sleep(0.1)
        second = analyses.analyse(error, lambda: iter([7]))
        wait(second)
        assert (second is not first, second.work.result == 7) == (is_anew, is_anew)


def test_what_an_analysis_is_of_is_let_go_when_it_is_done(store: Store) -> None:
    class Large:
        pass

    large = Large()
    is_there = weakref.ref(large)
    analyses = JobQueue(store)

    def steps(of: Large = large) -> Iterator[int]:
        yield 1

    task = analyses.analyse("key", steps)
    wait(task)
    del large, steps
    gc.collect()
    assert is_there() is None
    assert task.work.result == 1
