"""Vectors of texts that are no sample: altered sentences, those of untrained models, and what is searched."""

import contextlib
import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.jobs.drawn import RedrawnError, encoder_of, identified
from clsviz.jobs.extraction import Extraction, Found
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import Kind, PooledVectors, Vectors
from clsviz.progress import Progress, interruptible
from clsviz.settings import RANGES, Alteration, Pooling
from clsviz.sources import models, sampling
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches
from clsviz.store.results import ResultCache, ResultKey
from clsviz.store.store import Store

_ALTERING = 1
"""Raise it when an alteration changes sentences in another way; what was measured before is then ignored."""


def measure_texts(
    texts: Sequence[str],
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    fingerprint: str = "",
) -> Vectors:
    """The vectors of texts by the model that `found` is by; those that the store has are not measured again.

    experiment: what was found with. fingerprint: of what the texts are the beginning of, which they are a corpus of in
    the store; by default their own. Raises ClsvizError, and CancelledError if cancelled.
    """
    fingerprint = fingerprint or hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    return _measure(fingerprint, list(texts), None, experiment, found, store, encoders, progress)


def measure_altered(
    n: int,
    alteration: Alteration,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    draw: int = 0,
) -> Vectors:
    """The vectors of the first n sentences of what was found, altered before the same model reads them.

    As `measure_texts`; in the store they are a corpus with a fingerprint made of the sample’s and the alteration, so
    that more sentences are measured in addition to those that are there. draw: of an alteration drawn at random, its
    number. Raises AlterationError where the model cannot read them.
    """
    drawn = replace(experiment, seed=(experiment.seed + draw) % (RANGES["seed"][1] + 1))
    fingerprint = _altered(found, alteration, draw)
    return _measure(fingerprint, found.sentences[:n], alteration, drawn, found, store, encoders, progress)


def _altered(found: Found, alteration: Alteration, draw: int = 0) -> str:
    """The fingerprint of altered sentences as a corpus in the store."""
    text = f"{found.corpus.fingerprint}\n{alteration}\n{_ALTERING}" + (f"\n{draw}" if draw else "")
    return hashlib.sha256(text.encode()).hexdigest()


def measure_untrained(
    seed: int,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    alteration: Alteration | None = None,
) -> Vectors:
    """The vectors of the sentences that were found, by the same architecture with random weights of that seed.

    Otherwise as `measure_altered`; in the store they are those of the model “untrained:…”.
    """
    sample = found.sample.head(len(found.measurements))
    if alteration:
        sample = replace(sample, corpus=replace(found.corpus, fingerprint=_altered(found, alteration)))
    name = str(replace(models.Name.parse(found.weights.pinned), untrained=True, seed=seed))
    weights = identified(models.fetch(name, progress), store)
    with contextlib.suppress(RedrawnError):  # what is stored of other weights is left where it is
        encoder_of(weights, encoders, store)
    nothing_yet = Found(identified(weights, store), sample, measurements=Vectors.none(), seed=found.seed)
    untrained = replace(experiment.for_vectors, model=name)
    extraction = Extraction(untrained, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors


def _measure(
    fingerprint: str,
    texts: list[str],
    alteration: Alteration | None,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
) -> Vectors:
    if identified(models.fetch(experiment.model, progress), store).fingerprint != found.weights.fingerprint:
        raise ModelError(f"The files of {found.weights.label} were changed meanwhile. Reload the page.")
    sample = sampling.Sample(replace(found.corpus, fingerprint=fingerprint), texts, "")
    nothing_yet = Found(found.weights, sample, measurements=Vectors.none(), seed=experiment.seed)
    extraction = Extraction(experiment, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors


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
