"""Batches of sentences within a budget of tokens, running a model over them, and pooling what comes out."""

import functools
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from clsviz.errors import ModelError
from clsviz.measurements import MAX_LENGTH, POOLED
from clsviz.settings import Pooling

T = TypeVar("T")
TOKEN_BUDGETS = {"cpu": 2048, "cuda": 131_072, "mps": 8192}
"""Most tokens in a batch, by device. On a CPU, larger batches fall out of its caches."""
_MOST_QUEUED = 2
"""Batches that may wait for a GPU while it computes another: enough to keep it busy."""
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Implementations of attention that PyTorch may choose from; on a CPU there are no others. On NVIDIA's newer GPUs it
would choose cuDNN's in bfloat16, which takes about a tenth of a second to plan for every number of sentences and tokens
that it has not seen (https://github.com/pytorch/pytorch/pull/155958), and every batch has several new ones."""
_SMALLEST = 256
"""Tokens of the last batches that are computed side by side; smaller ones would take more time per token."""
_MOST_THREADS = 8
"""Threads that compute side by side: they share Python's lock between operations, so more would wait for it."""
_LARGEST_KEPT = 2**25 - 2**16
"""Bytes, a little less than 32 MiB: see `keep_freed_memory`."""


class BatchRunner:
    """Runs a computation over sentences batch by batch; after running out of memory it goes on with smaller batches.

    budget: most tokens in a batch, halved whenever memory runs out.
    """

    def __init__(self, label: str, device: torch.device, budget: int, *, pads: bool) -> None:
        """label: the model's, for messages. pads: see `plan_batches`."""
        self.budget = budget
        self._label = label
        self._device = device
        self._pads = pads

    @sdpa_kernel(ATTENTION)
    @torch.inference_mode()
    def run(
        self,
        lengths: NDArray[np.int32],
        compute: Callable[[NDArray[np.intp]], T],
        on_batch: Callable[[int], None] | None = None,
    ) -> tuple[list[T], NDArray[np.intp]]:
        """Give `compute` the indices of each batch of sentences (n,), and return its results and all indices in order.

        On a CPU several threads may call it at a time. After each batch `on_batch` gets the number of sentences done,
        in the calling thread; an exception it raises ends the work. Raises ModelError where memory does not suffice for
        a single sentence.
        """
        done = [np.empty(0, np.intp)]
        results: list[T] = []
        running: deque[torch.cuda.Event] = deque()
        while len(left := np.setdiff1d(np.arange(len(lengths)), np.concatenate(done))):
            with closing(self._computed(left, lengths[left], compute)) as computed:
                for batch, result in computed:
                    try:
                        results.append(result())
                    except (RuntimeError, MemoryError) as error:
                        self._shrink(error, lengths[batch])
                        break
                    done.append(batch)
                    if self._device.type == "cuda":  # a GPU queues its work: bound it, so that the user can stop it
                        running.append(torch.cuda.Event())  # type: ignore[no-untyped-call]
                        running[-1].record()
                        if len(running) > _MOST_QUEUED:
                            running.popleft().synchronize()
                    if on_batch is not None:
                        on_batch(sum(map(len, done)))
        return results, np.concatenate(done)

    def _computed(
        self, left: NDArray[np.intp], lengths: NDArray[np.int32], compute: Callable[[NDArray[np.intp]], T]
    ) -> Generator[tuple[NDArray[np.intp], Callable[[], T]]]:
        """Each batch of what is left, with what computes its result, or has it."""
        n = n_workers() if self._device.type == "cpu" and not self._pads else 1
        batches = [left[part] for part in plan_batches(lengths, self.budget, self._pads, n)]
        if n > 1 and len(batches) > 1:
            yield from side_by_side(batches, compute)
        else:
            yield from ((batch, functools.partial(compute, batch)) for batch in batches)

    def _shrink(self, error: RuntimeError | MemoryError, lengths: NDArray[np.int32]) -> None:
        """Halve the token budget if `error` says that memory ran out on a batch of these lengths; else raise it."""
        if not is_out_of_memory(error):
            raise error
        if len(lengths) == 1:
            raise ModelError(
                f"{self._label} needs more memory than the {self._device.type} device has for a sentence of "
                f"{lengths[0]} tokens. Close other programs, or choose a smaller model."
            ) from error
        self.budget = max(int(lengths.sum()) // 2, int(lengths.max()))
        if self._device.type == "cuda":
            torch.cuda.empty_cache()


def plan_batches(
    lengths: NDArray[Any], token_budget: int, pads: bool = True, n_workers: int = 1
) -> list[NDArray[np.intp]]:
    """Divide sentences (n,) into batches of indices, longest first, each as large as the budget allows.

    pads: whether every sentence takes as much room as the longest in its batch. n_workers: how many batches are
    computed side by side; if more than one, the last batches become smaller, so that all end at about the same time.
    """
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])
    batches = []
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        before = ends[start] - longest
        share = int(ends[-1] - before) // n_workers
        budget = token_budget if n_workers == 1 else min(token_budget, max(share, _SMALLEST))
        whole = int(np.searchsorted(ends, before + budget, side="right")) - start
        size = max(1, budget // longest if pads else whole)
        batches.append(order[start : start + size])
        start += size
    return batches


def best_device() -> str:
    """The fastest kind of device on this machine: cuda, mps or cpu."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def token_budget_of(config: Any, device: torch.device) -> int:
    """Most tokens in a batch: as many as suit the device and fit into a quarter of a GPU's free memory."""
    budget = TOKEN_BUDGETS[device.type]
    if device.type == "cuda":
        hidden = getattr(config, "hidden_size", 1024)
        heads = getattr(config, "num_attention_heads", 16)
        inner = getattr(config, "intermediate_size", 4 * hidden)
        # At the peak: the sums, their copies in half precision, three projections, the inner layer, and the scores.
        bytes_per_token = 4 * (8 * hidden + 2 * inner + MAX_LENGTH * heads)
        budget = min(budget, torch.cuda.mem_get_info(device)[0] // 4 // bytes_per_token)
    return max(budget, MAX_LENGTH)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on the device; pinned memory lets a GPU fetch it by itself, so that nothing waits for the GPU."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def n_workers() -> int:
    """How many batches are computed side by side: one for every thread that PyTorch may use, or every few of them."""
    n_threads = torch.get_num_threads()
    return n_threads // -(-n_threads // _MOST_THREADS)


def side_by_side(
    batches: Sequence[NDArray[np.intp]], compute: Callable[[NDArray[np.intp]], T]
) -> Generator[tuple[NDArray[np.intp], Callable[[], T]]]:
    """Each batch as soon as it is done, with what gives its result or raises what was raised.

    Each is computed by a thread with a share of the cores. PyTorch divides every operation among its threads, which
    wait for each other at the end of each: where another program takes a core away from one, all others wait, hundreds
    of times per batch, and burn processor time. A thread that has a batch to itself waits for nobody.

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

    def take_share() -> None:
        torch.get_num_threads()  # sets this thread's number, which is then changed
        threadpoolctl.threadpool_limits(n_threads // n, user_api="openmp")

    return ThreadPoolExecutor(n, thread_name_prefix="batch", initializer=take_share)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: CUDA does not always raise its own type, and others raise a RuntimeError that says so."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error).lower()
        for words in ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    )


def keep_freed_memory() -> None:
    """Let the memory that a batch frees serve the next one, where glibc allocates it.

    It gives freed memory back to the system beyond twice the largest block that was ever freed, up to 32 MiB a block
    (mallopt(3), M_MMAP_THRESHOLD), and the system gives it out anew page by page: a seventh of the time of a batch. So
    free a block of nearly that size; nothing touches it, so it takes no memory.
    """
    torch.empty(_LARGEST_KEPT, dtype=torch.uint8)


POOLINGS: dict[Pooling, Callable[[Tensor, int], Tensor]] = {
    Pooling.CLS: lambda tokens, cls: tokens[:, cls],
    Pooling.MEAN: lambda tokens, cls: tokens.mean(1),
    Pooling.MAX: lambda tokens, cls: tokens.amax(1),
}
"""Takes the tokens of n sentences of one length, (n, length, width), special ones included, and the position of [CLS],
from the end if negative; gives vectors (n, width).

CONTRIBUTING.md says what else a new one takes.
"""


def pool(runs: Sequence[Tensor], cls: int = 0) -> Tensor:
    """All of `POOLED`, of runs of sentences of equal length, (n, length, width) each: (poolings, sum of n, width)."""
    return torch.stack([torch.cat([POOLINGS[pooling](tokens, cls) for tokens in runs]) for pooling in POOLED])


@dataclass(frozen=True)
class PoolerSteps:
    """The two steps of a pooler built like BERT's; always in float32, whatever precision the model runs in."""

    dense: nn.Linear
    activation: Callable[[Tensor], Tensor]


@torch.inference_mode()
def pooler_steps(model: Any) -> PoolerSteps | None:
    """The steps of the model's pooler; None if it has none, or if the steps together do not reproduce it."""
    module: Any = getattr(model, "pooler", None)
    if isinstance(module, nn.Linear):  # ALBERT keeps the activation elsewhere
        return PoolerSteps(module, model.pooler_activation)
    dense, activation = getattr(module, "dense", None), getattr(module, "activation", None)
    if not isinstance(dense, nn.Linear) or not callable(activation):
        return None
    x = torch.linspace(-1, 1, dense.in_features)[None]
    expected = module(x[:, None])
    agrees = isinstance(expected, Tensor) and torch.allclose(activation(dense(x)), expected, rtol=1e-5, atol=1e-6)
    return PoolerSteps(dense, activation) if agrees else None
