"""What was measured of sentences: the plain arrays that pass from the encoder to the store and to the analysis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.settings import Pooling

MAX_LENGTH = 512
"""Tokens, special ones included, that are read of a sentence at most, also by models that could read more."""


POOLED = (Pooling.CLS, Pooling.MEAN, Pooling.MAX)
"""What makes a vector of the tokens after any layer, the special ones included; the pooler knows the last alone."""


class Kind(StrEnum):
    """What is measured of a sentence."""

    NORMS = "norms"
    VECTORS = "vectors"


@dataclass(frozen=True, eq=False)
class Measurements:
    """Norms of n sentences, in the order of the sentences.

    n_tokens: int32 (n,), tokens without the special ones, before truncation.
    truncated: bool (n,), whether the model saw only the beginning.
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
        """Norms of one vector, float32 (n,): [CLS] after `layer` (None: the last), or the pooler output.

        Raises IndexError where the model has no such layer or no pooler, or where that pooling was not measured.
        """
        if pooling is Pooling.POOLER:
            return self.pooler_norms[:, 0]
        if pooling is not Pooling.CLS:
            raise IndexError(f"{pooling} was not measured")
        return self.cls_norms[:, self.n_layers if layer is None else layer]

    def head(self, n: int) -> Self:
        """The first n."""
        return type(self)(*(getattr(self, field.name)[:n] for field in fields(self)))

    @classmethod
    def none(cls) -> Self:
        """Of no sentence, by no model."""
        return cls(
            np.empty(0, np.int32), np.empty(0, np.bool_), np.empty((0, 1), np.float32), np.empty((0, 0), np.float32)
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Several runs of sentences, measured by one model, as one."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return cls.none()
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """As they are stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """What `to_arrays` gave: each an array, or what becomes one when it is sliced."""
        return cls(**{name: array[:] for name, array in arrays.items()})
