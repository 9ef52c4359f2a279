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
