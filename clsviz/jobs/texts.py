"""Vectors of texts that are no sample: altered sentences, those of untrained models, and what is searched."""

import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

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
    alteration: Alteration | None = None,
) -> Vectors:
    """The vectors of texts by the model that `found` is by; those that the store has are not measured again.

    experiment: what was found with. fingerprint: of what the texts are the beginning of, which they are a corpus of in
    the store; by default their own. Raises ClsvizError, and CancelledError if cancelled.
    """
    if identified(models.fetch(experiment.model, progress), store).fingerprint != found.weights.fingerprint:
        raise ModelError(f"The files of {found.weights.label} were changed meanwhile. Reload the page.")
    fingerprint = fingerprint or hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    sample = sampling.Sample(replace(found.corpus, fingerprint=fingerprint), list(texts), "")
    nothing_yet = Found(found.weights, sample, measurements=Vectors.none(), seed=experiment.seed)
    extraction = Extraction(experiment, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors


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
    return measure_texts(found.sentences[:n], drawn, found, store, encoders, progress, fingerprint, alteration)


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


_BLOCK, _AT_ONCE = 256, 64
"""Texts that are kept together, after which others may have their turn, and texts between two looks at whether to stop.
"""

_MEMORY = 2**20
"""Of blocks that were read: each is needed once."""


@dataclass(frozen=True, eq=False)
class SearchVectors:
    """Vectors of the texts and queries of searches.

    n_tokens: int32 (n_texts,), of the texts, without special ones, before truncation. truncated: bool (n_texts,).
    texts, queries: their vectors by pooling, float32 (n_texts, width) and (n_searches, width). poolings: those that
    there are. normalizes: whether the model's own pipeline divides its vectors by their norms; None where that is not
    known.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    texts: Callable[[Pooling], NDArray[np.float32]]
    queries: Callable[[Pooling], NDArray[np.float32]]
    poolings: Sequence[Pooling]
    normalizes: bool | None = None


def search_vectors(
    searches: Searches,
    weights: Weights,
    poolings: Sequence[Pooling],
    layer: int | None,
    store: Store,
    encoders: Encoders,
    progress: Progress,
) -> SearchVectors:
    """Those of one model, kept on disk in blocks, of which those that are there are not measured again.

    Raises ModelError, and CancelledError, after which what was measured is kept.
    """
    cache = ResultCache(store.results, max_bytes=_MEMORY)

    def measured(texts: Sequence[str], n_before: int) -> PooledVectors:
        encoder = interruptible(lambda: encoder_of(weights, encoders, store), progress, daemon=False)
        parts = []
        for start in range(0, len(texts), _AT_ONCE):
            parts.append(encoder.pooled(texts[start : start + _AT_ONCE], list(poolings), layer))
            if progress.total:
                progress.advance(n_before + min(start + _AT_ONCE, len(texts)))
        return PooledVectors(
            np.concatenate([part.n_tokens for part in parts]),
            np.concatenate([part.truncated for part in parts]),
            {pooling: np.concatenate([part.vectors[pooling] for part in parts]) for pooling in poolings},
        )

    def blocks(texts: Sequence[str]) -> Iterator[PooledVectors]:
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            about = {
                "result": "pooled",
                "model": weights.fingerprint,
                "texts": hashlib.sha256(json.dumps(list(block)).encode()).hexdigest(),
                "poolings": list(poolings),
                "layer": layer,
            }
            key = ResultKey(json.dumps(about, sort_keys=True))
            yield cache.get_or_compute(key, functools.partial(measured, block, start))

    def vectors(texts: Sequence[str], pooling: Pooling) -> NDArray[np.float32]:
        return np.concatenate([block.vectors[pooling] for block in blocks(texts)])

    def measure(stage: str, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Measure them all, of which their lengths and whether they are truncated are held in memory."""
        progress.begin(stage, len(texts))
        n_tokens, truncated = [], []
        for number, block in enumerate(blocks(texts), 1):
            n_tokens.append(block.n_tokens)
            truncated.append(block.truncated)
            progress.advance(min(len(texts), number * _BLOCK))
            progress.rest()
        return np.concatenate(n_tokens), np.concatenate(truncated)

    lengths = measure("Measuring texts", searches.texts)
    measure("Measuring searches", searches.queries)
    of_texts, of_queries = (functools.partial(vectors, texts) for texts in (searches.texts, searches.queries))
    return SearchVectors(*lengths, of_texts, of_queries, list(poolings), weights.normalizes)
