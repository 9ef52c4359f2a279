"""What a run costs, before it starts: sentences, tokens, time, megabytes to download, and room in the store."""

import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clsviz import encoder
from clsviz.measurements import POOLED, Vectors

MEASURING_SECONDS = 2.0


class Machine:
    """How fast this machine multiplies matrices: guessed at once, and measured properly when there is time for it."""

    def __init__(self, product_rate: Callable[[float], float] | None = None) -> None:
        """product_rate: measures that for so many seconds; by default in this process."""
        self._product_rate = product_rate or (lambda seconds: encoder.product_rate(seconds))
        self._measured: float | None = None
        self._measuring = threading.Lock()

    @property
    def rate(self) -> float:
        """Floating-point operations per second of a large float32 product."""
        return self._measured or _guess()

    def measure(self) -> None:
        """Measure it once, for two seconds; best while nothing else is running."""
        with self._measuring:
            if self._measured is None:
                self._measured = self._product_rate(MEASURING_SECONDS)


@functools.cache
def _guess() -> float:
    """The best of many short products, because other work runs while the page opens. Takes a tenth of a second."""
    left, right = np.ones((512, 512), np.float32), np.ones((512, 512), np.float32)
    seconds = []
    for _ in range(60):
        began = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - began)
    return 2 * 512**3 / min(seconds)


LOAD_SECONDS = 4.0
"""About how long it takes to load a model."""

RATE_OF_VECTORS = 0.8
"""The speed of measuring vectors, relative to norms: the last layer is computed in full, and everything is pooled."""

N_TRIED = 32
"""Sentences that are measured to learn how long others like them take; their mean length is about that of all."""

TRIAL_SECONDS = 3.0
"""How long that is waited for: something else may be measured meanwhile."""

TYPICAL_CHARACTERS = 75
"""Mean length of a sentence in the built-in corpora."""


@dataclass(frozen=True)
class Cost:
    """About what it takes to complete an experiment: seconds, and megabytes to download."""

    seconds: float
    megabytes: int = 0


def gigabytes_of(vectors: Vectors, n_sentences: int) -> float:
    """About how large the vectors of so many sentences are in the store, by the model of these."""
    slots = len(POOLED) * (vectors.n_layers + 1) + vectors.has_pooler
    return 2 * slots * vectors.width * n_sentences / 1e9


def operations_of(n_parameters: int, n_characters: float) -> float:
    """About how many floating-point operations a model of that many weights takes for a sentence of `n_characters`."""
    return 2 * n_parameters * tokens_of(n_characters)


def tokens_of(n_characters: float) -> float:
    """About how many tokens, special ones included, a sentence of `n_characters` has."""
    return 2 + n_characters / 4.5


GPU_RATE = 40e12
"""Floating-point operations a second that an NVIDIA H100 sustained in float32, with a model of BERT base's shape.

Matrix products alone reached 51e12; NVIDIA's data sheet of the H100 SXM gives 67e12 at most. See docs/performance.md.
"""


@dataclass(frozen=True)
class Plan:
    """What it takes to measure norms.

    n_sentences: of the sample. is_counted: whether that is known, and not judged by the size of files. n_missing: those
    not measured yet; everything below is about these. n_tokens: special ones included; estimated from characters. rate:
    sentences a second on this machine. is_measured: whether that is how fast this model was measured here; else it is
    estimated from the model's size and the speed of matrix products. gpu_seconds: on a GPU of GPU_RATE.
    norms_bytes, vectors_bytes: of their parts, if all were measured. megabytes: to be downloaded first.
    """

    n_sentences: int
    n_missing: int
    n_tokens: int
    rate: float
    is_measured: bool
    gpu_seconds: float
    norms_bytes: int
    vectors_bytes: int
    megabytes: int
    is_counted: bool = True

    def seconds(self, n_workers: int = 1) -> float:
        """How long so many machines like this one take, each with all its processors to itself."""
        return self.n_missing / self.rate / n_workers
