"""How fast the device multiplies matrices."""

import time

import torch

from clsviz.encoder.batches import TOKEN_BUDGETS, best_device
from clsviz.encoder.linear import Linear

_WINDOW_SECONDS = 0.25


def product_rate(seconds: float) -> float:
    """Floating-point operations per second of the best device, in matrix products of the size of BERT base's.

    Takes that many seconds and counts the best quarter of a second, because other programs come and go.
    """
    device, (width, inner) = torch.device(best_device()), (768, 3072)
    n_tokens = TOKEN_BUDGETS[device.type]
    with torch.inference_mode():
        linear = Linear(torch.ones(inner, width, device=device), None, torch.float32)
        tokens = torch.ones(n_tokens, width, device=device)
        linear(tokens)  # the first call selects a kernel
        rates = []
        for _ in range(max(1, round(seconds / _WINDOW_SECONDS))):
            n, began = 0, time.perf_counter()
            while (passed := time.perf_counter() - began) < _WINDOW_SECONDS:
                float(linear(tokens)[0, 0])  # waits for a GPU
                n += 1
            rates.append(n * 2 * n_tokens * width * inner / passed)
        return max(rates)
