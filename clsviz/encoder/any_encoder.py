"""What all encoders have in common, wherever they are loaded."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from clsviz.measurements import Kind, Means, Measurements
from clsviz.settings import Alteration, Pooling, Precision
from clsviz.sources.models import Weights
from clsviz.vectors import PooledVectors, Vectors

if TYPE_CHECKING:
    from clsviz.encoder.anatomy import Anatomy


class AnyEncoder(Protocol):
    """An encoder in this process, or in one of its own. `Encoder` says what its parts mean."""

    weights: Weights
    precision: Precision
    max_length: int
    n_layers: int
    has_pooler: bool
    layer_norms: NDArray[np.float32]
    slow_path_reason: str
    drawn: str

    @property
    def anatomy(self) -> "Anatomy":
        """What the model is made of, and how it reads a sentence."""

    def altered(self, alteration: Alteration, seed: int) -> "AnyEncoder":
        """One that changes every sentence before it reads it."""

    def tokens(self, sentence: str) -> list[str]:
        """The tokens of the sentence, without special tokens, before truncation."""

    def framed_tokens(self, sentence: str) -> list[tuple[str, int]]:
        """Every token the model reads, with its id: with special tokens, after truncation."""

    def measure(self, sentences: Sequence[str]) -> Measurements:
        """The norms of each sentence."""

    def seconds_for(self, sentences: Sequence[str], kind: Kind) -> float:
        """How long it takes to measure these."""

    def vectors(self, sentences: Sequence[str]) -> Vectors:
        """The vectors of each sentence, by pooling and layer."""

    def pooled(self, texts: Sequence[str], poolings: Sequence[Pooling], layer: int | None = None) -> PooledVectors:
        """The vectors of texts by some poolings after one layer."""

    def means(self, sentences: Sequence[str]) -> Means:
        """The norms of each sentence that need the vectors of all its tokens."""

    def stream(
        self, parts: Iterable[Sequence[str]], on_batch: Callable[[int], None] | None = None, kind: Kind = Kind.NORMS
    ) -> Iterator[Measurements]:
        """Measure several runs of sentences."""

    def cls_and_pooler(self, sentences: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[CLS] after the last layer and the pooler output, exactly as computed."""

    def cls_by_layer(self, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
        """[CLS] after every layer, exactly as computed."""

    def pooler_steps(self, cls: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """What the pooler makes of [CLS] vectors: after its dense layer, and after its activation."""
