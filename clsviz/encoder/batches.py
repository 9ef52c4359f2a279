"""Batches of sentences, cut by a budget of tokens."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.measurements import MAX_LENGTH

TOKEN_BUDGETS = {"cpu": 2048, "cuda": 131_072, "mps": 8192}
"""Tokens of a batch at most. On a CPU larger batches fall out of its caches."""


def plan_batches(lengths: NDArray[Any], token_budget: int, pads: bool = True) -> list[NDArray[np.intp]]:
    """Cut sentences into batches: indices, longest first, as many as fit the budget.

    pads: whether a sentence takes as much room as the longest of its batch.
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
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def token_budget(config: Any, device: torch.device) -> int:
    """Tokens of a batch: as many as the device works well with, and a quarter of a card's free memory holds."""
    budget = TOKEN_BUDGETS[device.type]
    if device.type == "cuda":
        hidden = getattr(config, "hidden_size", 1024)
        heads = getattr(config, "num_attention_heads", 16)
        inner = getattr(config, "intermediate_size", 4 * hidden)
        # At the widest: the sums, their copies in half precision, three projections, the inner layer, and scores.
        bytes_per_token = 4 * (8 * hidden + 2 * inner + MAX_LENGTH * heads)
        budget = min(budget, torch.cuda.mem_get_info(device)[0] // 4 // bytes_per_token)
    return max(budget, MAX_LENGTH)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on the device, through memory that a card reads by itself: nobody waits for what it is at."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
