"""Processes that keep the cores busy, to measure beside."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_PROGRAM = """
import os
parent = os.getppid()
print(flush=True)
while os.getppid() == parent:
    sum(range(100_000))
"""
"""Computes until it is killed, or whoever started it is gone."""


@contextmanager
def busy_processes(n: int) -> Iterator[None]:
    """So many processes that compute all the time; none is left afterwards."""
    with ExitStack() as stack:
        for _ in range(n):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()  # it has begun
        yield
