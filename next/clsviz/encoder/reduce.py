"""What is measured of a batch of sentences, by name."""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from clsviz.experiment import Pooling


class Forward(Protocol):
    """A forward pass through a model.

    A batch is a list of token ids, int64 (n, length): one matrix for each length.
    mixes_lengths: whether sentences of several lengths in a batch are as fast as those of one.
    """

    mixes_lengths: bool

    def cls(self, batch: Sequence[Tensor]) -> list[Tensor]:
        """[CLS] after every layer, float32 (n, width)."""

    def tokens(self, batch: Sequence[Tensor]) -> list[list[Tensor]]:
        """All tokens after every layer, float32 (n, length, width) for each matrix of the batch."""

    def pool(self, cls: Tensor) -> Tensor | None:
        """The pooler's output of [CLS] after the last layer, (n, width), if there is a pooler."""


Measure = Callable[[Forward, Sequence[Tensor]], dict[str, Tensor]]


def norms(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Norms` that take a model."""
    cls = forward.cls(batch)
    return {"cls": _norms(cls), "pooler": _norms(_pooled(forward, cls[-1]))}


def vectors(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Vectors` that take a model."""
    layers = forward.tokens(batch)
    cls = [torch.cat([tokens[:, 0] for tokens in layer]) for layer in layers]
    means = [torch.cat([tokens.mean(1) for tokens in layer]) for layer in layers]
    pooler = _pooled(forward, cls[-1])
    return {
        "cls": _norms(cls),
        "pooler": _norms(pooler),
        "mean": _norms(means),
        "vectors": _packed([*cls, means[-1], *pooler]),
    }


REDUCERS: dict[str, Measure] = {"norms": norms, "vectors": vectors}


def cls_vectors(forward: Forward, batch: Sequence[Tensor], layer: int) -> dict[str, Tensor]:
    """[CLS] after a layer."""
    return {"vectors": forward.cls(batch)[layer]}


def mean_vectors(forward: Forward, batch: Sequence[Tensor], layer: int) -> dict[str, Tensor]:
    """The mean over all tokens after a layer."""
    return {"vectors": torch.cat([tokens.mean(1) for tokens in forward.tokens(batch)[layer]])}


def pooler_vectors(forward: Forward, batch: Sequence[Tensor], layer: int) -> dict[str, Tensor]:
    """The pooler's output."""
    return {"vectors": torch.cat(_pooled(forward, forward.cls(batch)[layer]))}


POOLED: dict[Pooling, Callable[..., dict[str, Tensor]]] = {
    "cls": cls_vectors,
    "mean": mean_vectors,
    "pooler": pooler_vectors,
}


def _pooled(forward: Forward, cls: Tensor) -> list[Tensor]:
    pooled = forward.pool(cls)
    return [] if pooled is None else [pooled]


def _norms(vectors: Sequence[Tensor]) -> Tensor:
    """float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector, dim=1) for vector in vectors], dim=1)


def _packed(vectors: Sequence[Tensor]) -> Tensor:
    """As `measurements.Vectors` has them: uint8 (n, number of vectors, width, 3)."""
    rounded = torch.stack(list(vectors), dim=1).view(torch.int32) + 128
    return rounded.view(torch.uint8).unflatten(-1, (-1, 4))[..., 1:]
