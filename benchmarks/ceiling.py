"""The ceiling of benchmarks.encoder: how long the products of a model's linear layers take, and nothing else."""

import time
from collections import Counter
from collections.abc import Callable

import torch

from clsviz.encoder import Linear

_ROWS = 2048
"""Tokens at a time in the products: as many as a batch has on a CPU."""


def flops_per_token(products: Counter[tuple[int, int]]) -> int:
    """Floating-point operations of the linear layers."""
    return 2 * sum(rows * columns * n for (rows, columns), n in products.items())


def seconds_per_token(products: Counter[tuple[int, int]], dtype: torch.dtype, device: str) -> float:
    """Time of all products for one token, each with the fastest kernel found for its shape."""
    rows = _ROWS if device == "cpu" else 64 * _ROWS
    return sum(n * _product_seconds(shape, rows, dtype, device) / rows for shape, n in products.items())


@torch.inference_mode()
def _product_seconds(shape: tuple[int, int], rows: int, dtype: torch.dtype, device: str) -> float:
    weight = torch.randn(shape, device=device, dtype=dtype)
    bias = torch.randn(shape[0], device=device, dtype=dtype)
    x = torch.randn((rows, shape[1]), device=device, dtype=dtype)
    packed = Linear(weight, bias, dtype)
    kernels: list[Callable[[], object]] = [
        lambda: torch.nn.functional.linear(x, weight, bias),
        lambda: packed(x),
    ]
    if device == "cpu" and dtype == torch.float32:
        left, right = x.numpy(), weight.numpy().T
        kernels.append(lambda: left @ right)
    best = float("inf")
    for kernel in kernels:
        for _ in range(4):
            _wait(device)
            began = time.perf_counter()
            kernel()
            _wait(device)
            best = min(best, time.perf_counter() - began)
    return best


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
