"""The ceiling of benchmarks.encoder: how long the products of a model's linear layers take, and nothing else."""

import statistics
import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import torch

from clsviz.encoder import Linear
from clsviz.encoder.batches import n_workers, side_by_side

_ROWS = 2048
"""Tokens at a time in the products: as many as a batch has on a CPU."""
_TIMES = 9
"""How often each kernel is timed, after a first time that is not counted."""
_SIDE_BY_SIDE = 4
"""Products that each thread does one after the other, so that starting it does not count."""


def flops_per_token(products: Counter[tuple[int, int]]) -> int:
    """Floating-point operations of the linear layers."""
    return 2 * sum(rows * columns * n for (rows, columns), n in products.items())


def seconds_per_token(products: Counter[tuple[int, int]], dtype: torch.dtype, device: str) -> float:
    """Time of all products for one token, each with the kernel found for its shape whose median is the least."""
    rows = _ROWS if device == "cpu" else 64 * _ROWS
    return sum(n * _product_seconds(shape, rows, dtype, device) / rows for shape, n in products.items())


@torch.inference_mode()
def _product_seconds(shape: tuple[int, int], rows: int, dtype: torch.dtype, device: str) -> float:
    weight = torch.randn(shape, device=device, dtype=dtype)
    bias = torch.randn(shape[0], device=device, dtype=dtype)
    x = torch.randn((rows, shape[1]), device=device, dtype=dtype)
    packed = Linear(weight, bias, dtype)
    kernels = [
        _median_seconds(lambda: torch.nn.functional.linear(x, weight, bias), device),
        _median_seconds(lambda: packed(x), device),
    ]
    if device == "cpu" and dtype == torch.float32:
        left, right = x.numpy(), weight.numpy().T
        kernels.append(_median_seconds(lambda: left @ right, device))
    if device == "cpu":
        n, of_threads = n_workers(), [x.clone() for _ in range(n_workers())]

        def several(thread: np.ndarray) -> None:
            for _ in range(_SIDE_BY_SIDE):
                packed(of_threads[thread[0]])

        seconds = _median_seconds(lambda: list(side_by_side(list(np.arange(n)[:, None]), several)), device)
        kernels.append(seconds / n / _SIDE_BY_SIDE)
    return min(kernels)


def _median_seconds(kernel: Callable[[], object], device: str) -> float:
    seconds = []
    for _ in range(1 + _TIMES):
        _wait(device)
        began = time.perf_counter()
        kernel()
        _wait(device)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
