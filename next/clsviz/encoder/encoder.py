"""The encoder: sentences to norms and vectors."""

import functools
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder import pipeline
from clsviz.encoder.load import load as load_model
from clsviz.encoder.reduce import POOLED, REDUCERS, Measure
from clsviz.encoder.verify import ModelPass
from clsviz.errors import ModelError, SettingError
from clsviz.experiment import Pooling, Precision
from clsviz.measurements import Arrays
from clsviz.sources.models import Weights

BUDGETS = {"cpu": 2048, "cuda": 131_072, "mps": 8192}
"""Tokens in a batch, by device; on a CPU larger batches fall out of its caches."""


@functools.lru_cache(maxsize=2)
def load(weights: Weights, precision: Precision = "exact", device: str = "auto") -> "Encoder":
    """The encoder of these weights; see `Encoder`."""
    return Encoder(weights, precision, device)


class Encoder:
    """A loaded model.

    n_layers: number of the last layer; 0 is the embedding output. max_length: tokens that it reads
    of a sentence, special ones included. width: dimensions of a vector. has_pooler: whether the
    model has a pooler. caveats: sentences about how it runs, and what was left out.
    """

    def __init__(
        self, weights: Weights, precision: Precision = "exact", device: str = "auto"
    ) -> None:
        """Load weights, on a GPU where there is one and device is “auto”.

        Raises ModelError where they are damaged, too large, or not an encoder with a [CLS] token,
        and SettingError where the precision cannot be had.
        """
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.weights = weights
        self.precision = precision
        self.device = torch.device(device)
        steps = pipeline.read(weights.folder)
        self._tokenizer, model = load_model(weights, steps)
        self._forward = ModelPass(model.to(self.device), self._tokenizer.frame)
        with torch.inference_mode():
            states = self._forward.cls(
                [torch.tensor([self._tokenizer.framed([])], device=self.device)]
            )
            self.has_pooler = self._forward.pool(states[-1]) is not None
        self.n_layers = len(states) - 1
        self.width = int(states[-1].shape[1])
        self.max_length = self._tokenizer.max_length
        self.caveats = steps.caveats
        self._lock = threading.Lock()

    def run(self, sentences: Sequence[str], reduce: str) -> Arrays:
        """Measure sentences, in their order; reduce: a key of `REDUCERS`.

        A sentence's measurements depend on the others at most in rounding. Raises CorpusError where
        a sentence is not text, and ModelError where memory does not suffice or norms are not
        finite.
        """
        ids = self._tokenizer.ids(sentences)
        arrays = self._measure(ids, REDUCERS[reduce])
        n_tokens = np.array([len(row) for row in ids], np.int32)
        room = self.max_length - len(self._tokenizer.frame)
        return {
            "n_tokens": n_tokens,
            "truncated": n_tokens > room,
            "error": np.full(len(ids), np.nan, np.float32),
            **arrays,
        }

    def vectors(
        self, sentences: Sequence[str], pooling: Pooling = "cls", layer: int | None = None
    ) -> NDArray[np.float32]:
        """The vectors of sentences after a layer (None: the last), float32 (n, width).

        Raises SettingError where the model has no such layer, or no pooler, and errors as `run`.
        """
        layer = self.n_layers if layer is None else layer
        if not 0 <= layer <= self.n_layers or (pooling == "pooler" and layer < self.n_layers):
            reason = f"There are no vectors of {pooling} after layer {layer}."
            raise SettingError(reason, f"The last layer is {self.n_layers}.")
        if pooling == "pooler" and not self.has_pooler:
            raise SettingError(f"{self.weights.label} has no pooler.", "Choose cls or mean.")
        measure = functools.partial(POOLED[pooling], layer=layer)
        return self._measure(self._tokenizer.ids(sentences), measure)["vectors"]

    def _measure(self, ids: Sequence[Sequence[int]], measure: Measure) -> Arrays:
        """What is measured of token ids, in their order."""
        rows = [self._tokenizer.framed(row) for row in ids or [[]]]
        lengths = np.array([len(row) for row in rows])
        order = np.argsort(-lengths, kind="stable")
        batches = list(_batches(lengths[order], BUDGETS[self.device.type], False))
        with self._lock:
            parts = [self._run([rows[i] for i in order[batch]], measure) for batch in batches]
        places = np.argsort(order)[: len(ids)]
        arrays = {
            name: torch.cat([part[name] for part in parts]).cpu().numpy()[places]
            for name in parts[0]
        }
        for array in arrays.values():
            if not np.isfinite(array).all():
                reason = f"{self.weights.label} gives vectors that are not finite."
                raise ModelError(reason, "Its weights may be damaged: fetch them again.")
        return arrays

    @torch.inference_mode()
    def _run(self, rows: Sequence[Sequence[int]], measure: Measure) -> dict[str, Tensor]:
        """What is measured of a batch; where memory runs out, of its halves."""
        try:
            return measure(self._forward, [torch.tensor(rows, device=self.device)])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                reason = f"{self.weights.label} needs too much memory for {len(rows[0]):,} tokens."
                remedy = "Close other programs, or choose a smaller model."
                raise ModelError(reason, remedy) from error
        middle = len(rows) // 2
        halves = [self._run(half, measure) for half in (rows[:middle], rows[middle:])]
        return {name: torch.cat([half[name] for half in halves]) for name in halves[0]}


def _batches(lengths: NDArray[np.int64], budget: int, mixes: bool) -> Iterator[slice]:
    """Slices of sorted lengths within a budget of tokens, of one length unless it mixes them."""
    start = n_tokens = 0
    for i, length in enumerate(lengths):
        is_full = n_tokens + length > budget or (not mixes and length != lengths[start])
        if i > start and is_full:
            yield slice(start, i)
            start, n_tokens = i, 0
        n_tokens += length
    if len(lengths):
        yield slice(start, len(lengths))


def is_out_of_memory(error: Exception) -> bool:
    """True if memory ran out: CUDA and the CPU raise several types, some only with a message."""
    words = ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    is_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return is_type or any(word in str(error).lower() for word in words)
