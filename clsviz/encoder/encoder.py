"""The encoder: sentences to norms and vectors."""

import contextlib
import functools
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import threadpoolctl
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder.forward import has_bfloat16
from clsviz.encoder.load import Modules
from clsviz.encoder.load import load as load_model
from clsviz.encoder.passes import Forward, choose, is_out_of_memory, reduce
from clsviz.errors import ModelError, NoCls, SettingError
from clsviz.measurements import Arrays, Emitted, Kind, Last, Vectors
from clsviz.settings import Pooling, Precision
from clsviz.sources.models import OTHER_PAGES, Weights, find

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
def load(weights: Weights, precision: Precision = "exact") -> "Encoder":
    """The encoder of these weights; see `Encoder`."""
    return Encoder(weights, precision)


def load_for(kind: Kind, weights: Weights, precision: Precision = "exact") -> "Encoder | Modules":
    """What measures a kind: our own pass, or sentence-transformers' where that must emit vectors.

    Raises errors as they do.
    """
    own = weights.pipeline
    if kind not in ("query", "text") or not own.steps:
        return load(weights, precision)
    if own.is_own and not weights.no_cls:
        with contextlib.suppress(NoCls):
            return load(weights, precision)
    return load_modules(weights, precision)


@functools.lru_cache(maxsize=1)
def load_modules(weights: Weights, precision: Precision) -> Modules:
    """The model's own pipeline by sentence-transformers; see `Modules`."""
    if precision == "fast":
        reason = f"{weights.label} emits its vectors in the exact precision only."
        raise SettingError(reason, "Choose the exact one.")
    return Modules(weights)


class Encoder:
    """A loaded model.

    shapes: of its parameters, by name.
    """

    def __init__(
        self, weights: Weights | str, precision: Precision = "exact", device: str = "auto"
    ) -> None:
        """Load weights, or the model of a name, on a GPU where there is one and device is “auto”.

        Raises ModelError where they are damaged, too large, or not an encoder with a [CLS] token,
        and SettingError where the precision cannot be had.
        """
        if isinstance(weights, str):
            weights = find(weights)
        if weights.no_cls:
            raise NoCls(f"{weights.label} {weights.no_cls}.", OTHER_PAGES)
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.weights, self.precision, self.device = weights, precision, torch.device(device)
        if precision == "fast" and not has_bfloat16(self.device):
            reason = "This processor has no products in bfloat16, which the fast precision takes."
            raise SettingError(reason, "Choose the exact one.")
        self.tokenizer, model = load_model(weights)
        self.shapes = {name: list(weight.shape) for name, weight in model.named_parameters()}
        if self.device.type == "cuda":
            torch.backends.cuda.enable_cudnn_sdp(False)  # it plans each new shape for .1 s
            torch.backends.cudnn.allow_tf32 = False  # convolutions would lose 13 bits
            torch.backends.cuda.matmul.allow_tf32 = False
        torch.empty(FREED, dtype=torch.uint8)
        try:
            passes = choose(model.to(self.device), self.tokenizer, precision)
        except (RuntimeError, MemoryError) as error:
            raise self._failure(error, "a short text") from error
        self.forward, self._exact = passes
        self._budget = TOKENS[self.device.type]
        n_cores = torch.get_num_threads()
        self._n_threads = min(n_cores, MOST_THREADS) if self.device.type == "cpu" else 1
        helpers = (n_cores // self._n_threads,)
        self._pool = ThreadPoolExecutor(self._n_threads, "batch", _share, helpers)

    def run(self, sentences: Sequence[str], kind: Kind, prompt: str = "") -> Arrays:
        """Measure sentences, in their order; the arrays are those of the kind.

        prompt: stands before each sentence; its tokens are not counted. A sentence's measurements
        depend on the others at most in rounding. Raises CorpusError where a sentence is not text,
        and ModelError where memory does not suffice or norms are not finite.
        """
        ids = self.tokenizer.ids(sentences)
        n_tokens = np.array([len(row) for row in ids], np.int32)
        if prompt:
            ids = self.tokenizer.ids([prompt + sentence for sentence in sentences])
        rows = [self.tokenizer.with_special_tokens(row) for row in ids or [[]]]
        lengths = np.array([len(row) for row in rows])
        order = np.argsort(-lengths, kind="stable")
        n_threads = self._n_threads if self.forward.mixes_lengths else 0
        slices = _batches(lengths[order], self._budget, n_threads)
        batches = [[rows[i] for i in order[part]] for part in slices]
        exact = None
        if self.precision == "fast" and ids:
            exact = self._pool.submit(self._run, self._exact, "norms", rows[:COMPARED])
        is_emitted = kind in ("query", "text")
        run = functools.partial(self._run, self.forward, "last" if is_emitted else kind)
        parts = list((self._pool.map if n_threads > 1 else map)(run, batches))
        places = np.argsort(order)[: len(ids)]
        arrays = {
            name: torch.cat([part[name] for part in parts]).cpu().numpy()[places]
            for name in parts[0]
        }
        if not all(np.isfinite(array).all() for array in arrays.values()):
            reason = f"{self.weights.label} gives vectors that are not finite."
            raise ModelError(reason, "Its weights may be damaged: fetch them again.")
        room = self.tokenizer.max_length - len(self.tokenizer.frame)
        truncated = np.array([len(row) for row in ids]) > room
        if is_emitted:
            own = self.weights.pipeline
            vectors = arrays["vectors"][:, ("cls", "mean").index(own.pooling)]
            return Emitted.arrays(vectors, n_tokens, truncated, is_unit=own.normalizes)
        error = np.full_like(arrays["cls"], np.nan)
        if exact:
            norms = exact.result()["cls"].cpu().numpy()
            error[:COMPARED] = np.abs(arrays["cls"][:COMPARED] / norms - 1)
        return {"n_tokens": n_tokens, "truncated": truncated, "error": error, **arrays}

    def encode(
        self, texts: Sequence[str], pooling: Pooling = "cls", layer: int | None = None
    ) -> NDArray[np.float32]:
        """The vectors of texts after a layer (None: the last), float32 (n, width).

        Raises SettingError where the model has none, and errors as `run`.
        """
        if layer is None:
            return Last.from_slices([self.run(texts, "last")]).of(pooling)
        return Vectors.from_slices([self.run(texts, "vectors")]).of(pooling, layer)

    @torch.inference_mode()
    def tokens(self, sentence: str) -> NDArray[np.float32]:
        """The vector of every token of a sentence, special ones included, after every layer.

        float32 (n_tokens, n_layers + 1, width). Raises CorpusError where it is not text.
        """
        ids = self.tokenizer.with_special_tokens(self.tokenizer.ids([sentence])[0])
        batch = [torch.tensor([ids], device=self.device)]
        states = [tokens[0] for [tokens] in self.forward.layers(batch, only_cls=False)]
        return torch.stack(states, dim=1).float().cpu().numpy()

    @torch.inference_mode()
    def _run(
        self, forward: Forward, kind: Kind, rows: Sequence[Sequence[int]]
    ) -> dict[str, Tensor]:
        """What is measured of a batch; where memory runs out, of its halves."""
        shapes = [(len(list(run)), length) for length, run in itertools.groupby(rows, len)]
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int64)
        try:
            flat = torch.from_numpy(ids).to(self.device)
            runs = torch.split(flat, [n * length for n, length in shapes])
            batch = [run.view(shape) for run, shape in zip(runs, shapes, strict=True)]
            return reduce(forward, batch, kind)
        except (RuntimeError, MemoryError) as error:
            failure = self._failure(error, f"a text of {len(rows[0]):,} tokens")
            if len(rows) == 1:
                raise failure from error
        self._budget = max(self._budget // 2, 1)
        middle = len(rows) // 2
        halves = [self._run(forward, kind, half) for half in (rows[:middle], rows[middle:])]
        return {name: torch.cat([half[name] for half in halves]) for name in halves[0]}

    def _failure(self, error: Exception, text: str) -> ModelError:
        """The error where memory ran out; raises any other as it is."""
        if not is_out_of_memory(error):
            raise error
        reason = f"{self.weights.label} needs more memory than there is for {text}."
        return ModelError(reason, "Close other programs, or choose a smaller model.")


def _share(n_threads: int) -> None:
    """Limit the threads that help the current one, so that it waits for no other program's turn."""
    torch.get_num_threads()  # sets the number, which is then changed
    threadpoolctl.threadpool_limits(n_threads, user_api="openmp")


def _batches(lengths: NDArray[np.int64], budget: int, n_threads: int) -> Iterator[slice]:
    """Slices of sorted lengths within a budget of tokens; the last ones are small.

    n_threads: that compute a batch each, to end together; if 0, batches are of one length.
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
