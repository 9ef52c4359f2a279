"""Vectors of texts by some poolings after one layer, block by block: what a search test keeps of a model."""

import functools
import hashlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clsviz.jobs.drawn import encoder_of
from clsviz.jobs.worker_process import Encoders
from clsviz.progress import Progress, interruptible
from clsviz.settings import Pooling
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches
from clsviz.store.results import ResultCache, ResultKey
from clsviz.store.store import Store
from clsviz.vectors import PooledVectors

_BLOCK, _AT_ONCE = 256, 64
"""Texts that are kept together, after which others may have their turn, and texts between two looks at whether to stop.
"""

_MEMORY = 2**20
"""Of blocks that were read: each is needed once."""


class PooledTexts:
    """The vectors of texts, kept on disk in blocks, of which those that are there are not measured again.

    n_tokens: int32 (n,), without special ones, before truncation. truncated: bool (n,).
    """

    def __init__(
        self,
        texts: Sequence[str],
        weights: Weights,
        poolings: Sequence[Pooling],
        layer: int | None,
        store: Store,
        encoders: Encoders,
        progress: Progress,
        stage: str = "Measuring texts",
    ) -> None:
        """Measure what is not there; raises ModelError, and CancelledError, after which what was measured is kept."""
        self._cache = ResultCache(store.results, max_bytes=_MEMORY)
        self._blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
        self._weights, self._poolings, self._layer = weights, list(poolings), layer
        self._load = functools.partial(encoder_of, weights, encoders, store)
        self._progress = progress
        progress.begin(stage, len(texts))
        blocks = []
        for number in range(len(self._blocks)):
            block = self._block(number)
            blocks.append((block.n_tokens, block.truncated))
            progress.advance(min(len(texts), (number + 1) * _BLOCK))
            progress.rest()
        n_tokens, truncated = zip(*blocks, strict=True)
        self.n_tokens: NDArray[np.int32] = np.concatenate(n_tokens)
        self.truncated: NDArray[np.bool_] = np.concatenate(truncated)

    def vectors(self, pooling: Pooling) -> NDArray[np.float32]:
        """The vectors of one pooling: float32 (n, width)."""
        return np.concatenate([self._block(number).vectors[pooling] for number in range(len(self._blocks))])

    def _block(self, number: int) -> PooledVectors:
        texts = self._blocks[number]
        about = {
            "result": "pooled",
            "model": self._weights.fingerprint,
            "texts": hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest(),
            "poolings": self._poolings,
            "layer": self._layer,
        }
        key = ResultKey(json.dumps(about, sort_keys=True))
        return self._cache.get_or_compute(key, lambda: self._measured(texts, number * _BLOCK))

    def _measured(self, texts: Sequence[str], n_before: int) -> PooledVectors:
        encoder = interruptible(self._load, self._progress, daemon=False)
        parts = []
        for start in range(0, len(texts), _AT_ONCE):
            parts.append(encoder.pooled(texts[start : start + _AT_ONCE], self._poolings, self._layer))
            if self._progress.total:
                self._progress.advance(n_before + min(start + _AT_ONCE, len(texts)))
        return PooledVectors(
            np.concatenate([part.n_tokens for part in parts]),
            np.concatenate([part.truncated for part in parts]),
            {pooling: np.concatenate([part.vectors[pooling] for part in parts]) for pooling in self._poolings},
        )


class ModelVectors:
    """Vectors of the texts and the queries of a search test by one model.

    n_tokens, truncated: of the texts, as `PooledTexts` has them. normalizes: as `Weights` has it. poolings: measured.
    """

    def __init__(
        self,
        searches: Searches,
        weights: Weights,
        poolings: Sequence[Pooling],
        layer: int | None,
        store: Store,
        encoders: Encoders,
        progress: Progress,
    ) -> None:
        """Measure what is not there; raises as `PooledTexts` does."""
        self.poolings, self.normalizes = list(poolings), weights.normalizes
        of = weights, self.poolings, layer, store, encoders, progress
        self._texts = PooledTexts(searches.texts, *of)
        self._queries = PooledTexts(searches.queries, *of, stage="Measuring searches")
        self.n_tokens, self.truncated = self._texts.n_tokens, self._texts.truncated

    def texts(self, pooling: Pooling) -> NDArray[np.float32]:
        """Of the texts: float32 (n_texts, width)."""
        return self._texts.vectors(pooling)

    def queries(self, pooling: Pooling) -> NDArray[np.float32]:
        """Of the queries: float32 (n_searches, width)."""
        return self._queries.vectors(pooling)
