"""Batches of sentences within a budget of tokens, and running a model over them."""

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder.memory import is_out_of_memory
from clsviz.errors import ModelError
from clsviz.measurements import MAX_LENGTH

T = TypeVar("T")


TOKEN_BUDGETS = {"cpu": 2048, "cuda": 131_072, "mps": 8192}
"""Most tokens in a batch, by device. On a CPU, larger batches fall out of its caches."""


_MOST_QUEUED = 2
"""Batches that may wait for a GPU while it computes another: enough to keep it busy."""


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

    @torch.inference_mode()
    def run(
        self,
        lengths: NDArray[np.int32],
        compute: Callable[[NDArray[np.intp]], T],
        on_batch: Callable[[int], None] | None = None,
    ) -> tuple[list[T], NDArray[np.intp]]:
        """Give `compute` the indices of each batch of sentences (n,), and return its results and all indices in order.

        After each batch `on_batch` gets the number of sentences done; an exception it raises ends the work. Raises
        ModelError where memory does not suffice for a single sentence.
        """
        done: list[NDArray[np.intp]] = []
        results: list[T] = []
        running: deque[torch.cuda.Event] = deque()
        pending = plan_batches(lengths, self.budget, self._pads)[::-1]
        while pending:
            batch = pending.pop()
            try:
                results.append(compute(batch))
            except (RuntimeError, MemoryError) as error:
                self._shrink(error, lengths[batch])
                left = np.concatenate([batch, *reversed(pending)])
                pending = [left[part] for part in plan_batches(lengths[left], self.budget, self._pads)][::-1]
                continue
            done.append(batch)
            if self._device.type == "cuda":  # a GPU queues its work: bound it, so that the user can stop it
                running.append(torch.cuda.Event())  # type: ignore[no-untyped-call]
                running[-1].record()
                if len(running) > _MOST_QUEUED:
                    running.popleft().synchronize()
            if on_batch is not None:
                on_batch(sum(map(len, done)))
        return results, np.concatenate([*done, np.empty(0, np.intp)])

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


def plan_batches(lengths: NDArray[Any], token_budget: int, pads: bool = True) -> list[NDArray[np.intp]]:
    """Divide sentences (n,) into batches of indices, longest first, each as large as the budget allows.

    pads: whether every sentence takes as much room as the longest in its batch.
    """
    order = np.argsort(-lengths, kind="stable")
    ends = np.cumsum(lengths[order])
    batches = []
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        whole = int(np.searchsorted(ends, ends[start] - longest + token_budget, side="right")) - start
        size = max(1, token_budget // longest if pads else whole)
        batches.append(order[start : start + size])
        start += size
    return batches


def best_device() -> str:
    """The fastest kind of device on this machine: cuda, mps or cpu."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def token_budget(config: Any, device: torch.device) -> int:
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
