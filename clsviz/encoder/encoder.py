"""The encoder: tokenizer, model and device; turns sentences into measurements."""

import copy
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clsviz.encoder.alter import altered_forward, altered_tokenizer
from clsviz.encoder.batches import (
    BatchRunner,
    best_device,
    is_out_of_memory,
    keep_freed_memory,
    to_device,
    token_budget_of,
)
from clsviz.encoder.linear import has_fast_bfloat16
from clsviz.encoder.load import load
from clsviz.encoder.tokenize import Tokens
from clsviz.encoder.verify import Batch, choose, norms_of
from clsviz.errors import ModelError
from clsviz.measurements import DEALT, FIXED, POOLED, Kind, Means, Measurements, PooledVectors, Vectors
from clsviz.settings import Alteration, Pooling, Precision
from clsviz.sources.models import Weights

T = TypeVar("T")


class Encoder:
    """A loaded model, ready to measure; safe to share between threads.

    precision: exact is float32; fast computes matrix products in bfloat16. dtype: that type, as PyTorch's.
    max_length: tokens, special ones included, beyond which a sentence is truncated.
    n_layers: number of the last layer; 0 is the embedding output.
    has_pooler: whether the model has a pooler.
    anatomy: what the model is made of, and how it reads a sentence.
    layer_norms: float32 (n_layers + 1, 2, width), as in `Vectors`.
    slow_path_reason: why the fastest forward pass does not apply to this model, or "".
    drawn: the digest of the random weights of an untrained model, or "".
    """

    def __init__(
        self,
        weights: Weights,
        precision: Precision = Precision.EXACT,
        device: str | None = None,
        token_budget: int | None = None,
    ) -> None:
        """Load `weights`; raises ModelError if they are incomplete, too large, or not an encoder with a [CLS] token.

        device: cpu, cuda or mps; the fastest by default. token_budget: most tokens in a batch; by default what suits
        the device.
        """
        self.weights = weights
        self.precision = precision
        self.dtype: torch.dtype = getattr(torch, precision.numbers)
        self.device = torch.device(device or best_device())
        if precision is Precision.FAST and not has_fast_bfloat16(self.device):
            raise ModelError("This machine computes bfloat16 no faster than float32. Choose the exact precision.")
        if self.device.type == "cpu":
            keep_freed_memory()
        try:
            loaded = load(weights)
            loaded.model.to(self.device)
            choice = choose(loaded, self.device, self.dtype)
            budget = token_budget or token_budget_of(loaded.model.config, self.device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ModelError(
                f"{weights.label} does not fit into the memory of the {self.device.type} device. Close other programs, "
                "or choose a smaller model."
            ) from error
        self.anatomy = loaded.anatomy
        self.has_pooler = loaded.has_pooler
        self.drawn = loaded.drawn
        self.max_length = loaded.tokenizer.max_length
        self.n_layers = choice.n_layers
        self.layer_norms = choice.layer_norms
        self.slow_path_reason = choice.slow_path_reason
        self._tokenizer = loaded.tokenizer
        self._pooler = loaded.pooler
        self._forward = choice.forward
        self._runner = BatchRunner(weights.label, self.device, budget, pads=choice.forward.pads)

    def altered(self, alteration: Alteration, seed: int) -> "Encoder":
        """One that changes every sentence before it reads it; it shares everything else with this one.

        seed: of what is drawn at random. Raises AlterationError where that cannot be done with this model.
        """
        changed = copy.copy(self)
        changed._tokenizer = altered_tokenizer(alteration, seed, self._tokenizer, self.weights.label)
        changed._forward = altered_forward(
            alteration, self._forward, changed._tokenizer, self.device, self.weights.label
        )
        return changed

    def tokens(self, sentence: str) -> list[str]:
        """The tokens of the sentence, without special tokens, before truncation. Raises ModelError."""
        return self._tokenizer.names(sentence)

    def framed_tokens(self, sentence: str) -> list[tuple[str, int]]:
        """Every token the model reads, with its id: with special tokens, after truncation. Raises ModelError."""
        return self._tokenizer.framed(sentence)

    def tokenize(self, sentences: Sequence[str]) -> Tokens:
        """The first step of `measure` and `vectors`, which another thread may do ahead.

        Raises ModelError where the tokenizer fails, or gives a token the model does not know.
        """
        return self._tokenizer.tokenize(sentences)

    def measure(self, sentences: Sequence[str] | Tokens, on_batch: Callable[[int], None] | None = None) -> Measurements:
        """The norms of each sentence; up to rounding, they do not depend on what else is measured along with it.

        After every batch `on_batch` gets the number of sentences done; an exception it raises ends the work. Raises
        ModelError where memory does not suffice for a single sentence, or the norms are not finite.
        """
        tokens = self._tokenized(sentences)
        results, order = self._in_batches(
            tokens, lambda batch: norms_of(self._forward(*self._rows(tokens, batch))), on_batch
        )
        norms = np.empty((0, self.n_layers + 1 + self.has_pooler), np.float32)
        if results:
            norms = torch.cat(results).cpu().numpy()  # all at once, as it waits for a GPU
        self._check(norms)
        return Measurements(
            n_tokens=tokens.n_tokens[tokens.order],
            truncated=self._tokenizer.is_truncated(tokens),
            cls_norms=norms[order, : self.n_layers + 1],
            pooler_norms=norms[order, self.n_layers + 1 :],
        )

    def seconds_for(self, sentences: Sequence[str], kind: Kind) -> float:
        """How long it takes to measure these; a few of them go first, since a first call takes longer."""
        measure = {Kind.NORMS: self.measure, Kind.VECTORS: self.vectors, Kind.MEANS: self.means}[kind]
        measure(sentences[:4])
        began = time.perf_counter()
        measure(sentences)
        return time.perf_counter() - began

    def vectors(self, sentences: Sequence[str] | Tokens, on_batch: Callable[[int], None] | None = None) -> Vectors:
        """The vectors of each sentence, by pooling and layer; otherwise like `measure`."""
        tokens = self._tokenized(sentences)
        results, order = self._in_batches(
            tokens, lambda batch: self._forward.pooled(*self._rows(tokens, batch)), on_batch
        )
        if not results:
            return Vectors.none()
        pooled = torch.cat([batch for batch, _ in results], dim=2).float()
        pooler_outputs = [batch.float() for _, batch in results if batch is not None]
        for vectors in (pooled, *pooler_outputs):  # where their norms are finite, so are they
            self._check(torch.linalg.vector_norm(vectors, dim=-1).cpu().numpy())
        return Vectors.pack(
            tokens.n_tokens[tokens.order],
            self._tokenizer.is_truncated(tokens),
            pooled.cpu().numpy()[:, :, order],
            torch.cat(pooler_outputs).cpu().numpy()[order] if pooler_outputs else None,
            self.layer_norms,
        )

    def pooled(self, texts: Sequence[str], poolings: Sequence[Pooling], layer: int | None = None) -> PooledVectors:
        """The vectors of texts by some poolings after one layer (None: the last), exactly as computed.

        Raises ModelError as `measure` does, and IndexError where the model has no such layer, or no pooler.
        """
        at = range(self.n_layers + 1)[self.n_layers if layer is None else layer]
        if Pooling.POOLER in poolings and not self.has_pooler:
            raise IndexError("this model has no pooler")

        def compute(batch: NDArray[np.intp]) -> Tensor:
            pooled, pooler = self._forward.pooled(*self._rows(tokens, batch))
            rows = [pooler if pooling is Pooling.POOLER else pooled[POOLED.index(pooling), at] for pooling in poolings]
            return torch.stack([row for row in rows if row is not None]).float()

        tokens = self.tokenize(texts)
        results, order = self._in_batches(tokens, compute)
        vectors = torch.cat(results, dim=1).cpu().numpy()[:, order]
        self._check(vectors)
        by_pooling = dict(zip(poolings, vectors, strict=True))
        return PooledVectors(tokens.n_tokens[tokens.order], self._tokenizer.is_truncated(tokens), by_pooling)

    def means(self, sentences: Sequence[str] | Tokens, on_batch: Callable[[int], None] | None = None) -> Means:
        """The norms of each sentence that need the vectors of all its tokens; otherwise like `measure`.

        The tokens of DEALT sentences, one after the other, are dealt out among them: see `Means`.
        """
        tokens = self._tokenized(sentences)
        lengths = self._tokenizer.framed_lengths(tokens)
        ends = np.cumsum(lengths)
        each = np.arange(len(lengths))
        runs = [slice(at, at + DEALT) for at in range(0, len(each), DEALT)]
        deals = [np.random.default_rng(0).permutation(np.repeat(each[run], lengths[run])) for run in runs]
        dealt_to = np.concatenate([each[:0], *deals])
        adds_at = self.device if self.device.type == "cuda" else torch.device("cpu")  # mps has no float64
        dealt = torch.zeros((len(lengths), self.layer_norms.shape[2]), dtype=torch.float64, device=adds_at)
        is_dealt = np.zeros(len(lengths), np.bool_)
        adding = threading.Lock()  # batches are computed side by side

        def compute(batch: NDArray[np.intp]) -> Tensor:
            ids, of_batch = self._tokenizer.rows(tokens, batch)
            last: list[Tensor] = []
            pooled, pooler = self._forward.pooled(to_device(ids, self.device), of_batch, last)
            by_token = [run.float() for run in last]
            norms = torch.linalg.vector_norm(pooled.float(), dim=-1).flatten(0, 1).T
            squares = torch.cat([run.square().sum(2).mean(1) for run in by_token])
            ids_of_runs = torch.split(ids, [*map(len, by_token)])
            fixed = torch.cat([*map(self._fixed_norms, by_token, ids_of_runs)])
            of_pooler = norms[:, :0] if pooler is None else torch.linalg.vector_norm(pooler.float(), dim=1)[:, None]
            targets = np.concatenate([dealt_to[ends[i] - lengths[i] : ends[i]] for i in batch])
            flat = torch.cat([run.flatten(0, 1) for run in by_token]).to(adds_at).double()
            with adding:
                is_new = np.flatnonzero(np.repeat(~is_dealt[batch], lengths[batch]))
                of_new, rows = (to_device(torch.from_numpy(index), adds_at) for index in (targets[is_new], is_new))
                dealt.index_add_(0, of_new, flat[rows])
                is_dealt[batch] = True  # where memory ran out meanwhile, it is computed once more
            return torch.cat([norms, squares[:, None], fixed[:, None], of_pooler], dim=1)

        results, order = self._in_batches(tokens, compute, on_batch)
        if not results:
            return Means.none()
        numbers = torch.cat(results).cpu().numpy()[order]
        dealt_norms = (torch.linalg.vector_norm(dealt, dim=1).cpu().numpy() / lengths).astype(np.float32)
        ends_of_poolings = np.arange(1, len(POOLED) + 1) * (self.n_layers + 1)
        *of_poolings, others = np.split(numbers, ends_of_poolings, axis=1)
        for one in (*of_poolings, others[:, 0], others[:, 2:]):
            self._check(one)
        return Means(
            n_tokens=tokens.n_tokens[tokens.order],
            truncated=self._tokenizer.is_truncated(tokens),
            pooler_norms=others[:, 2:],
            **{f"{pooling}_norms": norms for pooling, norms in zip(POOLED, of_poolings, strict=True)},
            n_pooled=lengths[tokens.order],
            token_squares=others[:, 0],
            fixed_norms=others[:, 1],
            dealt_norms=dealt_norms[tokens.order],
        )

    def _fixed_norms(self, run: Tensor, ids: Tensor) -> Tensor:
        """Norm of the mean of FIXED random word tokens of each sentence of a run, (n, length, width): float32 (n,).

        Which ones is decided by the ids of the sentence, (n, length) and padding, so that they are always the same.
        NaN where there are fewer.
        """
        frame, (n, length, width) = self._tokenizer.frame, run.shape
        words = run[:, len(frame.prefix) : length - len(frame.suffix)]
        if words.shape[1] < FIXED:
            return run.new_full((n,), torch.nan)
        seeds = [zlib.crc32(row.tobytes()) for row in ids[:, :length].numpy()]
        drawn = [np.random.default_rng(seed).permutation(words.shape[1])[:FIXED] for seed in seeds]
        at = to_device(torch.from_numpy(np.stack(drawn)), run.device)[:, :, None].expand(n, FIXED, width)
        norms: Tensor = torch.linalg.vector_norm(words.gather(1, at).mean(1), dim=1)
        return norms

    def stream(
        self,
        parts: Iterable[Sequence[str]],
        on_batch: Callable[[int], None] | None = None,
        kind: Kind = Kind.NORMS,
    ) -> Iterator[Measurements]:
        """Measure several runs of sentences, each by `measure`, `vectors` or `means`.

        The next run is tokenized while the model computes one. After every batch `on_batch` gets the number of
        sentences done, over all runs.
        """
        n_done = 0
        measure = {Kind.NORMS: self.measure, Kind.VECTORS: self.vectors, Kind.MEANS: self.means}[kind]
        with ThreadPoolExecutor(1, thread_name_prefix="tokenize") as ahead:
            coming = (ahead.submit(self.tokenize, part) for part in parts)
            following = next(coming, None)
            while following is not None:
                tokens, following = following.result(), next(coming, None)
                yield measure(tokens, on_batch and (lambda done, before=n_done: on_batch(before + done)))  # type: ignore[misc]
                n_done += len(tokens)

    def cls_and_pooler(self, sentences: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[CLS] after the last layer and the pooler output, exactly as computed: float32 (n, width) each.

        The second is (n, 0) where the model has no pooler. Raises ModelError as `measure` does.
        """
        vectors = self._exact(sentences, slice(self.n_layers, None))
        if not vectors:
            return np.empty((0, 0), np.float32), np.empty((0, 0), np.float32)
        self._check(vectors[0])
        return vectors[0], vectors[1] if self.has_pooler else vectors[0][:, :0]

    def cls_by_layer(self, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
        """[CLS] after every layer, exactly as computed: float32 (n, width of the layer) each.

        Raises ModelError as `measure` does.
        """
        return self._exact(sentences, slice(self.n_layers + 1))

    def _exact(self, sentences: Sequence[str], layers: slice) -> list[NDArray[np.float32]]:
        """[CLS] after some layers, of which one beyond the last is the pooler: float32 (n, width) each."""
        tokens = self.tokenize(sentences)
        results, order = self._in_batches(tokens, lambda batch: self._forward(*self._rows(tokens, batch))[layers])
        return [torch.cat(vectors).float().cpu().numpy()[order] for vectors in zip(*results, strict=True)]

    @torch.inference_mode()
    def pooler_steps(self, cls: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """What the pooler makes of [CLS] vectors: after its dense layer, and after its activation.

        cls and both results: float32 (n, width). None where the model has no pooler, or one not built like BERT's.
        """
        if self._pooler is None:
            return None
        dense = self._pooler.dense(torch.from_numpy(np.asarray(cls, np.float32)).to(self.device))
        return dense.cpu().numpy(), self._pooler.activation(dense).cpu().numpy()

    def _tokenized(self, sentences: Sequence[str] | Tokens) -> Tokens:
        return sentences if isinstance(sentences, Tokens) else self.tokenize(sentences)

    def _rows(self, tokens: Tokens, batch: NDArray[np.intp]) -> Batch:
        """Some of the distinct sentences as a forward pass takes them."""
        ids, lengths = self._tokenizer.rows(tokens, batch)
        return to_device(ids, self.device), lengths

    def _in_batches(
        self,
        tokens: Tokens,
        compute: Callable[[NDArray[np.intp]], T],
        on_batch: Callable[[int], None] | None = None,
    ) -> tuple[list[T], NDArray[np.intp]]:
        """What `compute` gives for each batch of the distinct sentences, and the place of each sentence among these."""
        lengths = self._tokenizer.framed_lengths(tokens)

        def report(n_done: int) -> None:
            assert on_batch is not None
            on_batch(n_done * len(tokens) // len(lengths))

        results, done = self._runner.run(lengths, compute, on_batch and report)
        return results, np.argsort(done)[tokens.order]

    def _check(self, numbers: NDArray[np.float32]) -> None:
        if not np.isfinite(numbers).all():
            raise ModelError(f"{self.weights.label} gives vectors that are not finite. Its weights may be damaged.")
