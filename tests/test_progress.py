import threading
from types import SimpleNamespace

import pytest

from clsviz.errors import CancelledError
from clsviz.progress import Progress, interruptible


def test_a_stage_counts_from_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 102.0])
    progress = Progress()
    monkeypatch.setattr("clsviz.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    progress.begin("Measuring", total=1000, done=200)
    progress.advance(300)
    assert (progress.stage, progress.done, progress.total) == ("Measuring", 300, 1000)
    assert progress.rate == pytest.approx(50)
    assert progress.seconds_left == pytest.approx(14)


def test_the_time_left_is_unknown_before_the_first_step() -> None:
    progress = Progress()
    progress.begin("Loading")
    assert progress.seconds_left is None


def test_a_cancelled_task_stops_at_its_next_step() -> None:
    progress = Progress()
    progress.begin("Measuring", total=10)
    progress.advance(1)
    progress.cancel()
    with pytest.raises(CancelledError):
        progress.advance(2)
    assert progress.done == 1
    with pytest.raises(CancelledError):
        progress.begin("Next")


def test_work_that_hangs_is_waited_for_no_longer_than_it_may_take() -> None:
    is_over = threading.Event()
    with pytest.raises(TimeoutError, match="over 0 s"):
        interruptible(lambda: is_over.wait(60), Progress(), most_seconds=0.2)
    is_over.set()
    assert interruptible(lambda: 7, Progress(), most_seconds=60) == 7
