import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.waiting import wait_for

from clsviz.ui.state.turns import NICENESS, Turns


class Threads:
    """Threads that take turns, and how many are at work."""

    def __init__(self, turns: Turns) -> None:
        self._turns, self.n_in, self.n_done = turns, 0, 0
        self._lock, self.go = threading.Lock(), threading.Event()

    def start(self, work: Callable[[], object] = lambda: None) -> None:
        def run() -> None:
            with self._turns.one():
                with self._lock:
                    self.n_in += 1
                self.go.wait(60)
                work()
                with self._lock:
                    self.n_in, self.n_done = self.n_in - 1, self.n_done + 1

        threading.Thread(target=run, daemon=True).start()


def test_no_more_than_so_many_are_at_work_and_all_get_their_turn() -> None:
    turns = Turns(2, patience_seconds=60)
    threads = Threads(turns)
    most: list[int] = []
    for _ in range(10):
        threads.start(lambda: most.append(threads.n_in))
    wait_for(lambda: threads.n_in == 2)
    threads.go.set()
    wait_for(lambda: threads.n_done == 10)
    assert max(most) == 2


def test_a_turn_within_a_turn_is_the_same() -> None:
    turns = Turns(1, patience_seconds=60)
    with turns.one(), turns.one():
        pass
    threads = Threads(turns)
    threads.go.set()
    with turns.one():
        with turns.one():
            pass
        threads.start()
        assert threads.n_in == 0  # the inner one gave nothing back
    wait_for(lambda: threads.n_done == 1)


def test_whoever_only_waits_leaves_the_turn_to_another() -> None:
    turns = Turns(1, patience_seconds=60)
    threads = Threads(turns)
    threads.go.set()
    with turns.one():
        threads.start()
        with turns.left():
            wait_for(lambda: threads.n_done == 1)
    with turns.left():  # of one who has none
        pass
    with turns.one():
        pass


def test_a_turn_is_given_back_by_one_who_fails() -> None:
    turns = Turns(1, patience_seconds=60)
    with pytest.raises(ValueError, match="of the page"), turns.one():
        raise ValueError("of the page")
    threads = Threads(turns)
    threads.go.set()
    threads.start()
    wait_for(lambda: threads.n_done == 1)


def test_nobody_waits_for_ever_for_those_who_are_held_up() -> None:
    turns = Turns(1, patience_seconds=0.01)
    held_up, other = Threads(turns), Threads(turns)
    held_up.start()
    wait_for(lambda: held_up.n_in == 1)
    other.go.set()
    other.start()
    wait_for(lambda: other.n_done == 1)
    held_up.go.set()
    wait_for(lambda: held_up.n_done == 1)
    with turns.one():  # whoever went without has none to give back
        third = Threads(turns)
        third.go.set()
        third.start()
        wait_for(lambda: third.n_done == 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only there a thread has a priority of its own")
def test_a_run_that_gives_way_comes_after_others_and_the_next_one_does_not() -> None:
    gives_way = True
    turns = Turns(1, patience_seconds=60, give_way=lambda: gives_way)

    def run() -> int:
        with turns.one():
            return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() == NICENESS
    gives_way = False
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() == before
