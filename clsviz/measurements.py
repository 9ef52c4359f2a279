"""The arrays that cross the borders between parts of the program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import SettingError
from clsviz.settings import Pooling

SCHEMA: Final = "3"  # changes when measured arrays do: older ones are measured again
ROUNDING: Final = 1e-6  # dimensions of a smaller share of the largest range count as constant

Arrays = dict[str, NDArray[Any]]
"""What is measured of consecutive sentences, by name; the first axis of each is the sentences."""

TINY: Final = 1e-12  # a norm by which sentence-transformers divides at least

Kind = Literal["norms", "means", "vectors", "last", "query", "text"]
"""Each of the first three has the arrays of those before it; the last two are emitted vectors."""


@dataclass(frozen=True, eq=False)
class Norms:
    """Norms of n sentences, in the order of the sentences.

    n_tokens: int32 (n,), tokens without special ones, before truncation.
    truncated: bool (n,), whether the model read only the beginning.
    cls: float32 (n, n_layers + 1), L2 norm of [CLS] after every layer; 0 is the embedding output.
    pooler: float32 (n, 1), L2 norm of the pooler's output; (n, 0) where the model has no pooler.
    error: float32 (n, n_layers + 1), relative error of the norms of [CLS] in the fast precision;
        NaN where they were not compared with the exact ones.
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
    def from_slices(cls, slices: Sequence[Mapping[str, NDArray[Any]]]) -> Self:
        """Join the arrays of consecutive slices."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([part[name] for part in slices]) for name in names})


@dataclass(frozen=True, eq=False)
class Means(Norms):
    """Norms of n sentences, also of the mean over all tokens.

    mean: float32 (n, n_layers + 1), L2 norm of the mean over all tokens, special ones included,
        after every layer.
    """

    mean: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Last(Norms):
    """Norms of n sentences, and vectors after the last layer.

    vectors: float32 (n, 2 or 3, width): [CLS], the mean, and the pooler's output if there is one.
    """

    vectors: NDArray[np.float32]

    def of(self, pooling: Pooling, layer: int | None = None) -> NDArray[np.float32]:
        """The vectors of a pooling after a layer (None: the last), float32 (n, width).

        Dimensions that vary by rounding alone are constant, or a probe would read the rounding.
        Raises SettingError where the vectors were not measured.
        """
        last, n_poolers = self.n_layers, self.pooler.shape[1]
        layer = last if layer is None else layer
        if pooling == "pooler" and not n_poolers:
            raise SettingError("The model has no pooler.", "Choose cls or mean.")
        from_end = {"cls": last - layer + 2 + n_poolers, "mean": 1 + n_poolers, "pooler": 1}
        place = self.vectors.shape[1] - from_end[pooling]
        if layer > last or place < 0 or (layer < last and pooling != "cls"):
            reason = f"There are no vectors of {pooling} after layer {layer}."
            raise SettingError(reason, "Choose the last layer.")
        vectors = self.vectors[:, place].copy()
        if len(vectors):
            spread = np.ptp(vectors, axis=0)
            is_flat = spread < ROUNDING * spread.max()
            vectors[:, is_flat] = vectors[0, is_flat]
        return vectors


@dataclass(frozen=True, eq=False)
class Vectors(Means, Last):
    """Norms and vectors of n sentences.

    vectors: float32 (n, n_layers + 2 or 3, width): [CLS] after every layer, the mean after the
        last, and the pooler's output if there is one.
    """


@dataclass(frozen=True, eq=False)
class Emitted(Last):
    """Vectors that a model's own pipeline, or a function, gives of n queries or texts.

    Their norms and vectors are stored as if of [CLS] in a model without layers.
    vectors: float32 (n, 1, width).
    """

    def of(self, pooling: Pooling = "pipeline", layer: int | None = None) -> NDArray[np.float32]:
        """The vectors, float32 (n, width)."""
        return self.vectors[:, 0]

    @classmethod
    def arrays(
        cls,
        vectors: NDArray[np.float32],
        n_tokens: ArrayLike,
        truncated: ArrayLike,
        *,
        is_unit: bool = False,
    ) -> Arrays:
        """The arrays of vectors (n, width) of n texts. is_unit: they are divided by their norms."""
        n, norms = len(vectors), np.linalg.norm(vectors, axis=1, keepdims=True)
        if is_unit:
            vectors, norms = vectors / np.maximum(norms, TINY), np.sign(norms)
        return {
            "n_tokens": np.asarray(n_tokens, np.int32),
            "truncated": np.asarray(truncated, np.bool_),
            "cls": norms.astype(np.float32),
            "pooler": np.empty((n, 0), np.float32),
            "error": np.full((n, 1), np.nan, np.float32),
            "vectors": np.ascontiguousarray(vectors[:, None]),
        }


FORMS: Final[dict[Kind, type[Norms]]] = {
    "norms": Norms,
    "means": Means,
    "vectors": Vectors,
    "last": Last,
    "query": Emitted,
    "text": Emitted,
}
"""The class that holds each kind of measurement."""
