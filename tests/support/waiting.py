"""Waiting for what happens in other threads."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; fails after three minutes, as a worker may take half of one to start on a busy machine."""
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


class Somebody:
    """Who watches a job, for as long as a test says."""

    is_connected = True
