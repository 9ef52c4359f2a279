"""Measurements of sentences: the plain arrays that pass from the encoder to the store and on to the analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.settings import Pooling

MAX_LENGTH = 512
"""Most tokens read of a sentence, special ones included, even by models that could read more."""


POOLED = tuple(pooling for pooling in Pooling if pooling is not Pooling.POOLER)
"""Poolings that make a vector of the tokens after any layer, special ones included; the pooler takes the last alone."""


class Kind(StrEnum):
    """What is measured of each sentence."""

    NORMS = "norms"
    VECTORS = "vectors"
    MEANS = "means"


def kind_of(pooling: Pooling) -> Kind:
    """What is measured of a sample for the norm of one of its vectors: means and maxima need every token's vector."""
    return Kind.MEANS if pooling in POOLED[1:] else Kind.NORMS


@dataclass(frozen=True, eq=False)
class Measurements:
    """Norms of n sentences, in the order of the sentences.

    n_tokens: int32 (n,), number of tokens without special ones, before truncation.
    truncated: bool (n,), whether the model read only the beginning.
    cls_norms: float32 (n, n_layers + 1), L2 norm of [CLS] after every layer; 0 is the embedding output.
    pooler_norms: float32 (n, 1), L2 norm of the pooler output; (n, 0) where the model has no pooler.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    cls_norms: NDArray[np.float32]
    pooler_norms: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.n_tokens)

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return int(self.cls_norms.shape[1]) - 1

    @property
    def has_pooler(self) -> bool:
        """Whether the model has a pooler."""
        return bool(self.pooler_norms.shape[1])

    def norms(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """Norms of [CLS] after `layer` (None: the last) or of the pooler output, float32 (n,).

        Raises IndexError if the model has no such layer or no pooler, or if the pooling was not measured.
        """
        if pooling is Pooling.POOLER:
            return self.pooler_norms[:, 0]
        if pooling is not Pooling.CLS:
            raise IndexError(f"{pooling} was not measured")
        return self.cls_norms[:, self.n_layers if layer is None else layer]

    def head(self, n: int) -> Self:
        """The first n sentences."""
        return type(self)(*(getattr(self, field.name)[:n] for field in fields(self)))

    @classmethod
    def none(cls) -> Self:
        """Measurements of no sentences."""
        return cls(
            np.empty(0, np.int32), np.empty(0, np.bool_), np.empty((0, 1), np.float32), np.empty((0, 0), np.float32)
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the measurements of several runs of sentences by one model."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to store, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """The inverse of `to_arrays`; a value is an array, or an object that becomes one when sliced."""
        return cls(**{name: array[:] for name, array in arrays.items()})


FIXED = 8
"""Word tokens that are drawn from every sentence, so that one with more of them has no longer an average."""

DEALT = 256
"""Sentences, one after the other, whose tokens are dealt out among them."""


@dataclass(frozen=True, eq=False)
class Means(Measurements):
    """Norms of n sentences that need the vectors of all their tokens; those of the tokens are after the last layer.

    mean_norms, max_norms: float32 (n, n_layers + 1), L2 norm of the mean and of the maximum over all tokens, special
        ones included, after every layer.
    n_pooled: int32 (n,), how many tokens that are. token_squares: float32 (n,), the mean of their squared L2 norms.
    fixed_norms: float32 (n,), L2 norm of the mean of FIXED random word tokens; NaN where there are fewer.
    dealt_norms: float32 (n,), L2 norm of the mean of as many tokens as the sentence has, drawn from it and its
        neighbours in the sample, DEALT of them at a time, each token once.
    """

    mean_norms: NDArray[np.float32]
    max_norms: NDArray[np.float32]
    n_pooled: NDArray[np.int32]
    token_squares: NDArray[np.float32]
    fixed_norms: NDArray[np.float32]
    dealt_norms: NDArray[np.float32]

    @property
    def other_norms(self) -> dict[Pooling, NDArray[np.float32]]:
        """The norms of `POOLED` but [CLS], as `Vectors` has them."""
        return {Pooling.MEAN: self.mean_norms, Pooling.MAX: self.max_norms}

    def norms(self, pooling: Pooling, layer: int | None) -> NDArray[np.float32]:
        """As in `Measurements`, for every pooling."""
        if pooling in self.other_norms:
            return self.other_norms[pooling][:, self.n_layers if layer is None else layer]
        return super().norms(pooling, layer)

    @classmethod
    def none(cls) -> Self:
        """Measurements of no sentences."""
        nothing = vars(Measurements.none())
        each = np.empty(0, np.float32)
        return cls(
            **nothing,
            mean_norms=each[:, None],
            max_norms=each[:, None],
            n_pooled=np.empty(0, np.int32),
            token_squares=each,
            fixed_norms=each,
            dealt_norms=each,
        )
