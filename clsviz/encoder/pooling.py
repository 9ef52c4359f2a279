"""How the tokens of a sentence become one vector: a row per pooling, and the two steps of a pooler.

To add a pooling: a member of `settings.Pooling`, its arithmetic in `POOLINGS`, and its label in `words`. Both forward
passes, `Vectors` and the profile take it from there. Stored vectors hold every pooling, so raise the store's schema
number as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from clsviz.measurements import POOLED
from clsviz.settings import Pooling

POOLINGS: dict[Pooling, Callable[[Tensor, int], Tensor]] = {
    Pooling.CLS: lambda tokens, cls: tokens[:, cls],
    Pooling.MEAN: lambda tokens, cls: tokens.mean(1),
    Pooling.MAX: lambda tokens, cls: tokens.amax(1),
}
"""Takes the tokens of n sentences of one length, (n, length, width), special ones included, and the position of [CLS],
from the end if negative; gives vectors (n, width)."""


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
