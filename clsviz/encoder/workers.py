"""Batches computed side by side on a CPU, each by a thread with a share of the cores.

PyTorch divides every operation among its threads, which wait for each other at the end of each: where another program
takes a core away from one, all others wait, hundreds of times per batch, and burn processor time while they do. A
thread that has a batch to itself waits for nobody, and no time passes in dividing either.
"""

import functools
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

import numpy as np
import threadpoolctl
import torch
from numpy.typing import NDArray

T = TypeVar("T")


_MOST = 8
"""Threads that compute side by side: they share Python's lock between operations, so more would wait for it."""


def n_workers() -> int:
    """How many batches are computed side by side: one for every thread that PyTorch may use, or every few of them."""
    n_threads = torch.get_num_threads()
    return n_threads // -(-n_threads // _MOST)


def side_by_side(
    batches: Sequence[NDArray[np.intp]], compute: Callable[[NDArray[np.intp]], T]
) -> Generator[tuple[NDArray[np.intp], Callable[[], T]]]:
    """Each batch as soon as it is done, with what gives its result or raises what was raised.

    Whoever stops listening waits for the batches that are being computed; the others are dropped.
    """
    pool = _pool(n_workers(), torch.get_num_threads())
    futures: dict[Future[T], NDArray[np.intp]] = {}
    try:
        futures = {pool.submit(torch.inference_mode()(compute), batch): batch for batch in batches}
        for future in as_completed(futures):
            yield futures[future], future.result
    finally:
        for future in futures:
            future.cancel()
        wait(futures)


@functools.cache
def _pool(n: int, n_threads: int) -> ThreadPoolExecutor:
    """Of n threads that share so many of PyTorch's; all encoders share the pool, and so the cores."""
    return ThreadPoolExecutor(n, thread_name_prefix="batch", initializer=_limit, initargs=(n_threads // n,))


def _limit(n_threads: int) -> None:
    """Let PyTorch use so many threads for an operation that this thread asks for."""
    torch.get_num_threads()  # sets this thread's number, which is then changed
    threadpoolctl.threadpool_limits(n_threads, user_api="openmp")
