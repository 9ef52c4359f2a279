"""The encoder: sentences to norms and vectors."""

import functools
import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import threadpoolctl
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder import pipeline
from clsviz.encoder.forward import has_bfloat16
from clsviz.encoder.load import load as load_model
from clsviz.encoder.reduce import REDUCERS, Forward, Measure, is_out_of_memory, pooled
from clsviz.encoder.verify import choose
from clsviz.errors import ModelError, SettingError
from clsviz.experiment import Pooling, Precision
from clsviz.measurements import Arrays
from clsviz.sources.models import Weights

TOKENS = {"cpu": 2048, "cuda": 131_072}
"""Tokens in a batch; on a CPU more fall out of its caches."""

FREED = 2**25 - 2**16
"""Bytes, a little below 32 MiB: once a block of this size was freed, glibc keeps freed memory
for the next batch, which takes a tenth less time (mallopt(3), M_MMAP_THRESHOLD)."""

FEWEST_TOKENS = 256
"""Tokens in the last batches of threads; smaller ones take more time for each token."""

MOST_THREADS = 8
"""Threads that compute a batch each; more would wait for Python's lock."""

COMPARED = 8
"""Sentences of a run whose fast norms are compared with exact ones."""


@functools.lru_cache(maxsize=2)
def load(weights: Weights, precision: Precision = "exact", device: str = "auto") -> "Encoder":
    """The encoder of these weights; see `Encoder`."""
    return Encoder(weights, precision, device)


class Encoder:
    """A loaded model.

    n_layers: number of the last layer; 0 is the embedding output. max_length: tokens that it reads
    of a sentence, special ones included. width: dimensions of a vector. has_pooler: whether the
    model has a pooler. caveats: sentences about how it runs.
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
        if precision == "fast" and not has_bfloat16(self.device):
            reason = "This processor has no products in bfloat16, which the fast precision takes."
            raise SettingError(reason, "Choose the exact one.")
        steps = pipeline.read(weights.folder)
        self.tokenizer, model = load_model(weights, steps)
        if self.device.type == "cuda":
            torch.backends.cuda.enable_cudnn_sdp(False)  # it plans each new shape for .1 s
            torch.backends.cudnn.allow_tf32 = False  # convolutions would lose 13 bits
            torch.backends.cuda.matmul.allow_tf32 = False
        torch.empty(FREED, dtype=torch.uint8)
        try:
            passes = choose(model.to(self.device), self.tokenizer, precision)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise self._too_large("a short text") from error
        self.forward, self._exact, caveats = passes
        self.n_layers = len(self.forward.flat) - 1
        self.width = len(self.forward.flat[-1])
        self.has_pooler = getattr(model, "pooler", None) is not None
        self.max_length = self.tokenizer.max_length
        self.caveats = caveats
        self._budget = TOKENS.get(self.device.type, TOKENS["cpu"])
        self._lock = threading.Lock()
        n_cores = torch.get_num_threads()
        self._n_threads = min(n_cores, MOST_THREADS) if self.device.type == "cpu" else 1
        helpers = (n_cores // self._n_threads,)
        self._pool = ThreadPoolExecutor(self._n_threads, "batch", _share, helpers)

    def run(self, sentences: Sequence[str], reduce: str) -> Arrays:
        """Measure sentences, in their order; reduce: a key of `REDUCERS`.

        A sentence's measurements depend on the others at most in rounding. Raises CorpusError where
        a sentence is not text, and ModelError where memory does not suffice or norms are not
        finite.
        """
        ids = self.tokenizer.ids(sentences)
        first = [self.tokenizer.framed(row) for row in ids[:COMPARED]]
        if self.precision == "fast" and ids:
            exact = self._pool.submit(self._run, REDUCERS["norms"], self._exact, first)
        arrays = self._measure(ids, REDUCERS[reduce])
        error = np.full_like(arrays["cls"], np.nan)
        if self.precision == "fast" and ids:
            norms = exact.result()["cls"].cpu().numpy()
            error[:COMPARED] = np.abs(arrays["cls"][:COMPARED] / norms - 1)
        n_tokens = np.array([len(row) for row in ids], np.int32)
        room = self.max_length - len(self.tokenizer.frame)
        return {"n_tokens": n_tokens, "truncated": n_tokens > room, "error": error, **arrays}

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
        measure = functools.partial(pooled, pooling=pooling, layer=layer)
        return self._measure(self.tokenizer.ids(sentences), measure)["vectors"]

    def _measure(self, ids: Sequence[Sequence[int]], measure: Measure) -> Arrays:
        """What is measured of token ids, in their order."""
        rows = [self.tokenizer.framed(row) for row in ids or [[]]]
        lengths = np.array([len(row) for row in rows])
        order = np.argsort(-lengths, kind="stable")
        n_threads = self._n_threads if self.forward.mixes_lengths else 0
        slices = _batches(lengths[order], self._budget, n_threads)
        batches = [[rows[i] for i in order[part]] for part in slices]
        run = functools.partial(self._run, measure, self.forward)
        with self._lock:
            parts = list((self._pool.map if n_threads > 1 else map)(run, batches))
        arrays = {
            name: torch.cat([part[name] for part in parts]).cpu().numpy() for name in parts[0]
        }
        if not all(np.isfinite(array).all() for array in arrays.values()):
            reason = f"{self.weights.label} gives vectors that are not finite."
            raise ModelError(reason, "Its weights may be damaged: fetch them again.")
        places = np.argsort(order)[: len(ids)]
        return {name: array[places] for name, array in arrays.items()}

    @torch.inference_mode()
    def _run(
        self, measure: Measure, forward: Forward, rows: Sequence[Sequence[int]]
    ) -> dict[str, Tensor]:
        """What is measured of a batch; where memory runs out, of its halves."""
        shapes = [(len(list(run)), length) for length, run in itertools.groupby(rows, len)]
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int64)
        try:
            flat = torch.from_numpy(ids).to(self.device)
            runs = torch.split(flat, [n * m for n, m in shapes])
            return measure(forward, [run.view(s) for run, s in zip(runs, shapes, strict=True)])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                raise self._too_large(f"a text of {len(rows[0]):,} tokens") from error
        self._budget = max(self._budget // 2, 1)
        middle = len(rows) // 2
        halves = [self._run(measure, forward, half) for half in (rows[:middle], rows[middle:])]
        return {name: torch.cat([half[name] for half in halves]) for name in halves[0]}

    def _too_large(self, text: str) -> ModelError:
        reason = f"{self.weights.label} needs more memory than there is for {text}."
        return ModelError(reason, "Close other programs, or choose a smaller model.")


def _share(n_threads: int) -> None:
    """Limit the threads that help the current one, so that it waits for no other program's turn."""
    torch.get_num_threads()  # sets the number, which is then changed
    threadpoolctl.threadpool_limits(n_threads, user_api="openmp")


def _batches(lengths: NDArray[np.int64], budget: int, n_threads: int) -> Iterator[slice]:
    """Slices of sorted lengths within a budget of tokens; the last ones are small.

    n_threads: that compute a batch each, to end at about the same time; if 0, batches are of one
    length.
    """
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = ends[start] - lengths[start]
        share = (ends[-1] - before) // n_threads if n_threads else budget
        n_tokens = min(budget, max(share, FEWEST_TOKENS))
        stop = max(start + 1, int(np.searchsorted(ends, before + n_tokens, "right")))
        if not n_threads:
            stop = min(stop, int(np.searchsorted(-lengths, -lengths[start], "right")))
        yield slice(start, stop)
        start = stop
