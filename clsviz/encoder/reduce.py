"""What is measured of a batch of sentences."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from clsviz.measurements import Kind


class Forward(Protocol):
    """A forward pass through a model.

    model: of transformers. mixes_lengths: True if a batch may have several matrices at no cost.
    """

    model: Any
    mixes_lengths: bool

    def layers(self, batch: Sequence[Tensor], only_cls: bool) -> Iterator[list[Tensor]]:
        """All tokens after every layer, float32 (n, length, width) for each matrix of the batch.

        batch: token ids, int64 (n, length): one matrix for each length.
        only_cls: after the last layer, tokens other than [CLS] may be left out.
        """


def reduce(forward: Forward, batch: Sequence[Tensor], kind: Kind) -> dict[str, Tensor]:
    """The arrays of a kind, as `clsviz.measurements` describes them, that take a model."""
    cls, means = [], []
    for tokens in forward.layers(batch, only_cls=kind == "norms"):
        cls.append(torch.cat([run[:, 0] for run in tokens]))
        if kind != "norms":
            means.append(torch.cat([run.mean(1) for run in tokens]))
    pooled = pool(forward.model, cls[-1])
    norms = _norms([*cls, *pooled])
    arrays = {"cls": norms[:, : len(cls)], "pooler": norms[:, len(cls) :]}
    if kind in ("means", "vectors"):
        arrays["mean"] = _norms(means)
    if kind in ("vectors", "last"):
        first = 0 if kind == "vectors" else -1
        arrays["vectors"] = torch.stack([*cls[first:], means[-1], *pooled], dim=1)
    return arrays


def pool(model: Any, cls: Tensor) -> list[Tensor]:
    """The output of a model's pooler for [CLS] after the last layer, (n, width), if it has one."""
    pooler = getattr(model, "pooler", None)
    if pooler is None:
        return []
    if isinstance(pooler, nn.Linear):  # ALBERT's and BigBird's have their activation elsewhere
        activation = getattr(model, "pooler_activation", None) or model.activation
        return [activation(pooler(cls))]
    return [pooler(cls[:, None])]


def _norms(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms, float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector, dim=1) for vector in vectors], dim=1)


def is_out_of_memory(error: Exception) -> bool:
    """True if memory ran out: CUDA and the CPU raise several types, some only with a message."""
    words = ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    is_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return is_type or any(word in str(error).lower() for word in words)
