"""How the tokens of a sentence become one vector: one row per pooling.

To add a pooling: a member of `settings.Pooling`, its arithmetic in `POOLINGS`, and its label in `words`. Both forward
passes, `Vectors` and the profile take it from there. Stored vectors hold every pooling, so raise the store's schema
number as well.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

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
