"""The arrays that cross the borders between parts of the program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
"""What is measured of consecutive sentences, by name; the first axis of each is the sentences."""

Kind = Literal["norms", "vectors"]


@dataclass(frozen=True, eq=False)
class Norms:
    """Norms of n sentences, in the order of the sentences.

    n_tokens: int32 (n,), tokens without special ones, before truncation.
    truncated: bool (n,), whether the model read only the beginning.
    cls: float32 (n, n_layers + 1), L2 norm of [CLS] after every layer; 0 is the embedding output.
    pooler: float32 (n, 1), L2 norm of the pooler's output; (n, 0) where the model has no pooler.
    error: float32 (n,), relative error of the last norm of [CLS] in the fast precision; NaN where
        it was not compared with the exact one.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    cls: NDArray[np.float32]
    pooler: NDArray[np.float32]
    error: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.n_tokens)

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return int(self.cls.shape[1]) - 1

    @classmethod
    def from_chunks(cls, chunks: Sequence[Mapping[str, NDArray[Any]]]) -> Self:
        """Join the arrays of consecutive chunks."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([chunk[name] for chunk in chunks]) for name in names})
