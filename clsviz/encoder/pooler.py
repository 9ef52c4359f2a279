"""The two steps of a pooler that is built like BERT's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Pooler:
    """The two steps of a pooler built like BERT's; always in float32, whatever precision the model runs in."""

    dense: nn.Linear
    activation: Callable[[Tensor], Tensor]


@torch.inference_mode()
def pooler_of(model: Any) -> Pooler | None:
    """The steps of the model's pooler; None if it has none, or if the steps together do not reproduce it."""
    module: Any = getattr(model, "pooler", None)
    if isinstance(module, nn.Linear):  # ALBERT keeps the activation elsewhere
        return Pooler(module, model.pooler_activation)
    dense, activation = getattr(module, "dense", None), getattr(module, "activation", None)
    if not isinstance(dense, nn.Linear) or not callable(activation):
        return None
    x = torch.linspace(-1, 1, dense.in_features)[None]
    expected = module(x[:, None])
    agrees = isinstance(expected, Tensor) and torch.allclose(activation(dense(x)), expected, rtol=1e-5, atol=1e-6)
    return Pooler(dense, activation) if agrees else None
