"""What is measured of a batch of sentences, by name."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from clsviz.experiment import Pooling


class Forward(Protocol):
    """A forward pass through a model.

    A batch is a list of token ids, int64 (n, length): one matrix for each length.
    model: of transformers. mixes_lengths: True if a batch may have several matrices at no cost.
    flat: for each layer, (width,), the value of dimensions that vary by rounding alone, else NaN.
    """

    model: Any
    mixes_lengths: bool
    flat: list[Tensor]

    def cls(self, batch: Sequence[Tensor]) -> list[Tensor]:
        """[CLS] after every layer, float32 (n, width)."""

    def tokens(self, batch: Sequence[Tensor]) -> Iterator[list[Tensor]]:
        """All tokens after every layer, float32 (n, length, width) for each matrix of the batch."""


Measure = Callable[[Forward, Sequence[Tensor]], dict[str, Tensor]]


def norms(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Norms` that take a model."""
    return _norms(forward, forward.cls(batch))


def means(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Means` that take a model."""
    cls, mean = _by_layer(forward, batch)
    return {**_norms(forward, cls), "mean": _lengths(mean)}


def vectors(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Vectors` that take a model."""
    cls, mean = _by_layer(forward, batch)
    return {**_norms(forward, cls), "mean": _lengths(mean), **_vectors(forward, cls, mean[-1])}


def last(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Last` that take a model."""
    cls, tokens = [], []
    for tokens in forward.tokens(batch):
        cls.append(_firsts(tokens))
    return {**_norms(forward, cls), **_vectors(forward, cls[-1:], _means(tokens))}


def trace(forward: Forward, batch: Sequence[Tensor]) -> dict[str, Tensor]:
    """The arrays of `Norms`; states, [CLS] after every layer; pooled, the output of the pooler."""
    cls = forward.cls(batch)
    pooled = pool(forward.model, cls[-1]) or [cls[-1][:, :0]]
    return {**_norms(forward, cls), "states": torch.stack(cls, dim=1), "pooled": pooled[0]}


REDUCERS: dict[str, Measure] = {
    "norms": norms,
    "means": means,
    "vectors": vectors,
    "last": last,
    "trace": trace,
}


def pooled(
    forward: Forward, batch: Sequence[Tensor], pooling: Pooling, layer: int
) -> dict[str, Tensor]:
    """The vectors of a pooling after a layer."""
    if pooling == "mean":
        tokens = next(itertools.islice(forward.tokens(batch), layer, None))
        return {"vectors": _means(tokens)}
    cls = forward.cls(batch)[layer]
    return {"vectors": cls if pooling == "cls" else pool(forward.model, cls)[0]}


def pool(model: Any, cls: Tensor) -> list[Tensor]:
    """The output of a model's pooler for [CLS] after the last layer, (n, width), if it has one."""
    pooler = getattr(model, "pooler", None)
    if pooler is None:
        return []
    if isinstance(pooler, nn.Linear):  # ALBERT's and BigBird's have their activation elsewhere
        activation = getattr(model, "pooler_activation", None) or model.activation
        return [activation(pooler(cls))]
    return [pooler(cls[:, None])]


def _by_layer(forward: Forward, batch: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """[CLS], and the mean over all tokens, after every layer, float32 (n, width) each."""
    layers = [(_firsts(tokens), _means(tokens)) for tokens in forward.tokens(batch)]
    return [cls for cls, _ in layers], [mean for _, mean in layers]


def _firsts(tokens: Sequence[Tensor]) -> Tensor:
    return torch.cat([run[:, 0] for run in tokens])


def _means(tokens: Sequence[Tensor]) -> Tensor:
    return torch.cat([run.mean(1) for run in tokens])


def _norms(forward: Forward, cls: list[Tensor]) -> dict[str, Tensor]:
    lengths = _lengths([*cls, *pool(forward.model, cls[-1])])
    return {"cls": lengths[:, : len(cls)], "pooler": lengths[:, len(cls) :]}


def _lengths(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms, float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector, dim=1) for vector in vectors], dim=1)


def _vectors(forward: Forward, cls: Sequence[Tensor], mean: Tensor) -> dict[str, Tensor]:
    """[CLS] after the last layers, the mean and the pooler's output, without what is rounding."""
    flat = [*forward.flat[-len(cls) :], forward.flat[-1]]
    varying = [torch.where(f.isnan(), v, f) for v, f in zip([*cls, mean], flat, strict=True)]
    return {"vectors": torch.stack([*varying, *pool(forward.model, cls[-1])], dim=1)}


def is_out_of_memory(error: Exception) -> bool:
    """True if memory ran out: CUDA and the CPU raise several types, some only with a message."""
    words = ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    is_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return is_type or any(word in str(error).lower() for word in words)
