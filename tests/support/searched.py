"""Sentences and vectors whose bend by length is known, because they are made up."""

import numpy as np

from clsviz.experiment import Selection
from clsviz.jobs import Found
from clsviz.measurements import Vectors
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample

N, WIDTH = 600, 24


def lengths(n: int = N) -> np.ndarray:
    return np.random.default_rng(1).integers(3, 60, n).astype(np.int32)


def noise(n: int = N, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, WIDTH))


def with_length(strength: float, n: int = N) -> np.ndarray:
    """Noise, and one direction in which the length lies."""
    z = (lengths(n) - lengths(n).mean()) / lengths(n).std()
    along = np.random.default_rng(3).normal(size=WIDTH)
    return noise(n) + strength * np.outer(z, along)


def random_words(n: int = N, of: int = 400) -> list[str]:
    """Sentences of the lengths above, of random words: they share no more than chance has it."""
    draw = np.random.default_rng(4)
    return [" ".join(f"w{word}" for word in draw.integers(0, of, length)) for length in lengths(n)]


def found_of(
    weights: Weights, vectors: np.ndarray, sentences: list[str] | None = None, mean: np.ndarray | None = None
) -> Found:
    """What a measurement would have given: these vectors are [CLS] after the only layer; `mean`, the mean of tokens."""
    n = len(vectors)
    texts = random_words(n) if sentences is None else sentences
    pooled = np.stack([vectors, vectors if mean is None else mean, vectors])[:, None].astype(np.float32)
    corpus = Corpus(Selection("made up"), "Made up", "0" * 64, n, "made up")
    measured = Vectors.pack(lengths(n), np.zeros(n, bool), np.concatenate([pooled, pooled], axis=1))
    return Found(weights, Sample(corpus, texts, "drawn"), measurements=measured)
