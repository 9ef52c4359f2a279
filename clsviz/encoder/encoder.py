"""The encoder: tokenizer, model and device; turns sentences into measurements."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clsviz.encoder import batches
from clsviz.encoder.batches import best_device, plan_batches, to_device
from clsviz.encoder.blocks import Blocks
from clsviz.encoder.choice import TOLERANCE, Forward, accelerate, norms_of
from clsviz.encoder.linear import Unsuited, has_fast_bfloat16
from clsviz.encoder.loading import load
from clsviz.encoder.memory import is_out_of_memory
from clsviz.encoder.reference import Plain
from clsviz.errors import ModelError, first_line
from clsviz.measurements import Kind, Measurements
from clsviz.models import Weights
from clsviz.settings import Precision
from clsviz.vectors import Vectors

T = TypeVar("T")


_PART_SIZES = {"cpu": 1024, "cuda": 16_384, "mps": 2048}


_VECTORS_PART_SIZE = 256
"""Sentences whose vectors are measured in one call: those of a large model take 300 kB each, in float32."""


_MOST_QUEUED = 2
"""Batches that wait for a card while it is at one: enough to keep it busy."""


_PROBE_LENGTHS = (24, 9, 9, 3, 1)


@dataclass(frozen=True, eq=False)
class Tokens:
    """n sentences as token ids without the special ones, every distinct sentence once.

    ids: int32, those of all distinct sentences end to end. n_tokens: int32, how many each has.
    order: intp (n,), which of the distinct ones a sentence is.
    """

    ids: NDArray[np.int32]
    n_tokens: NDArray[np.int32]
    order: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.order)


class Encoder:
    """A model that is loaded and can measure; safe to share between threads.

    precision: exact is float32; fast computes the products of matrices in bfloat16. dtype: that type, as PyTorch's.
    max_length: tokens, special ones included, beyond which a sentence is cut.
    n_layers: number of the last layer; 0 is the embedding output.
    layer_norms: float32 (n_layers + 1, 2, width), as of `Vectors`.
    anatomy: what the model is made of, and how it reads.
    slow_path_reason: why the fastest way through this model could not be taken, or "".
    """

    def __init__(
        self,
        weights: Weights,
        precision: Precision = Precision.EXACT,
        device: str | None = None,
        token_budget: int | None = None,
    ) -> None:
        """Load `weights`; raises ModelError where they are no encoder with a [CLS] token, or incomplete."""
        self.weights = weights
        self.precision = precision
        self.dtype: torch.dtype = getattr(torch, precision.numbers)
        self.device = torch.device(device or best_device())
        if precision is Precision.FAST and not has_fast_bfloat16(self.device):
            raise ModelError("This machine computes bfloat16 no faster than float32. Choose the exact precision.")
        self._tokenizing = threading.Lock()
        try:
            self._loaded = load(weights)
            self._loaded.model.to(self.device)
            self.anatomy = self._loaded.anatomy
            self.has_pooler = self._loaded.has_pooler
            self.max_length = self._loaded.max_length
            self._budget = token_budget or batches.token_budget(self._loaded.model.config, self.device)
            self._forward, self.slow_path_reason = self._choose_forward()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ModelError(
                f"{weights.label} does not fit into the memory of {self.device.type}. Close other programs, or choose "
                "a smaller model."
            ) from error

    def part_size(self, kind: Kind = Kind.NORMS) -> int:
        """Sentences that keep the device busy: as many as it is good to measure in one call."""
        return _VECTORS_PART_SIZE if kind is Kind.VECTORS else _PART_SIZES[self.device.type]

    def tokens(self, sentence: str) -> list[str]:
        """The sentence as the model cuts it, without the special tokens, before truncation."""
        names: list[str] = self._loaded.tokenizer.convert_ids_to_tokens(self._token_ids([sentence])[0])
        return names

    def framed_tokens(self, sentence: str) -> list[tuple[str, int]]:
        """All tokens that the model reads of a sentence, with their ids: the special ones too, after truncation."""
        frame = self._loaded.frame
        content = self._token_ids([sentence])[0][: self.max_length - len(frame)]
        ids = [*frame.prefix, *content, *frame.suffix]
        return [(str(self._loaded.tokenizer.convert_ids_to_tokens(token)), token) for token in ids]

    def tokenize(self, sentences: Sequence[str]) -> Tokens:
        """The first step of `measure`, which another thread may do ahead. Raises ModelError.

        That is where the tokenizer knows tokens that the model does not: on a GPU those would end the process.
        """
        distinct = list(dict.fromkeys(sentences))
        token_ids = self._token_ids(distinct)
        n_tokens = np.fromiter(map(len, token_ids), np.int32, len(distinct))
        ids = np.fromiter((token for row in token_ids for token in row), np.int32, int(n_tokens.sum()))
        if ids.max(initial=0) >= self._loaded.vocabulary_size:
            raise ModelError(
                f"The tokenizer of {self.weights.name} gives token {ids.max():,}, but the model has only "
                f"{self._loaded.vocabulary_size:,}: they do not belong together. Fetch its files again."
            )
        position = {sentence: index for index, sentence in enumerate(distinct)}
        order = np.fromiter((position[sentence] for sentence in sentences), np.intp, len(sentences))
        return Tokens(ids, n_tokens, order)

    def measure(self, sentences: Sequence[str] | Tokens, on_batch: Callable[[int], None] | None = None) -> Measurements:
        """Measure the norms of each sentence; they do not depend on what else is measured with it, to rounding.

        After every batch `on_batch` gets the number of sentences done; what it raises ends the work. Raises ModelError
        where the memory does not suffice for a single sentence.
        """
        tokens = sentences if isinstance(sentences, Tokens) else self.tokenize(sentences)
        norms = np.empty((len(tokens.n_tokens), self.n_layers + 1 + self.has_pooler), np.float32)
        results, done = self._in_batches(tokens, lambda *rows: norms_of(self._forward(*rows)), on_batch)
        if results:
            norms[done] = torch.cat(results).cpu().numpy()  # once, as a GPU is waited for
        self._check(norms)
        return Measurements(
            n_tokens=tokens.n_tokens[tokens.order],
            truncated=self._truncated(tokens),
            cls_norms=norms[tokens.order, : self.n_layers + 1],
            pooler_norms=norms[tokens.order, self.n_layers + 1 :],
        )

    def vectors(self, sentences: Sequence[str] | Tokens, on_batch: Callable[[int], None] | None = None) -> Vectors:
        """Measure the vectors of each sentence, of every pooling after every layer; otherwise as `measure`."""
        tokens = sentences if isinstance(sentences, Tokens) else self.tokenize(sentences)
        results, done = self._in_batches(tokens, lambda *rows: self._forward.pooled(*rows), on_batch)
        if not results:
            return Vectors.none()
        order = np.argsort(done)[tokens.order]
        pooled = torch.cat([batch for batch, _ in results], dim=2).float().cpu().numpy()
        self._check(pooled)
        pooler_outputs = [batch for _, batch in results if batch is not None]
        return Vectors.pack(
            tokens.n_tokens[tokens.order],
            self._truncated(tokens),
            pooled[:, :, order],
            torch.cat(pooler_outputs).float().cpu().numpy()[order] if pooler_outputs else None,
            self.layer_norms,
        )

    def cls_and_pooler(self, sentences: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[CLS] after the last layer and the pooler output, as they were measured, not packed.

        Both float32 (n, width); the second is (n, 0) where the model has no pooler. Raises ModelError.
        """
        tokens = self.tokenize(sentences)
        results, done = self._in_batches(tokens, lambda *rows: self._forward(*rows), None)
        if not results:
            return np.empty((0, 0), np.float32), np.empty((0, 0), np.float32)
        order = np.argsort(done)[tokens.order]
        batches = [vectors[self.n_layers :] for vectors in results]
        cls, *pooler = (torch.cat(vectors).float().cpu().numpy()[order] for vectors in zip(*batches, strict=True))
        self._check(cls)
        return cls, pooler[0] if pooler else cls[:, :0]

    @torch.inference_mode()
    def pooler_steps(self, cls: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """What the pooler makes of [CLS] vectors, after its dense layer and after its activation.

        cls and both results: float32 (n, width). None where the model has no pooler, or one that is built otherwise.
        """
        if self._loaded.pooler is None:
            return None
        dense = self._loaded.pooler.dense(torch.from_numpy(np.asarray(cls, np.float32)).to(self.device))
        return dense.cpu().numpy(), self._loaded.pooler.activation(dense).cpu().numpy()

    @torch.inference_mode()
    def _in_batches(
        self, tokens: Tokens, forward: Callable[[Tensor, list[int]], T], on_batch: Callable[[int], None] | None
    ) -> tuple[list[T], NDArray[np.intp]]:
        """What `forward` gives for every batch of the distinct sentences, and in which order it took them."""
        frame = self._loaded.frame
        room = self.max_length - len(frame)
        lengths = np.minimum(tokens.n_tokens, room) + len(frame)
        starts = np.cumsum(tokens.n_tokens) - tokens.n_tokens
        done: list[NDArray[np.intp]] = []
        results: list[T] = []
        running: deque[torch.cuda.Event] = deque()
        pads = not isinstance(self._forward, Blocks)
        pending = plan_batches(lengths, self._budget, pads)[::-1]
        while pending:
            batch = pending.pop()
            try:
                results.append(forward(*self._rows(tokens, starts[batch], lengths[batch])))
            except (RuntimeError, MemoryError) as error:
                self._make_room(error, lengths[batch])
                left = np.concatenate([batch, *reversed(pending)])
                pending = [left[part] for part in plan_batches(lengths[left], self._budget, pads)][::-1]
                continue
            done.append(batch)
            if self.device.type == "cuda":  # its work is queued: not so much that nobody could stop it
                running.append(torch.cuda.Event())  # type: ignore[no-untyped-call]
                running[-1].record()
                if len(running) > _MOST_QUEUED:
                    running.popleft().synchronize()
            if on_batch is not None:
                on_batch(sum(map(len, done)) * len(tokens) // len(lengths))
        return results, np.concatenate([*done, np.empty(0, np.intp)])

    def _truncated(self, tokens: Tokens) -> NDArray[np.bool_]:
        truncated: NDArray[np.bool_] = tokens.n_tokens[tokens.order] > self.max_length - len(self._loaded.frame)
        return truncated

    def _check(self, numbers: NDArray[np.float32]) -> None:
        if not np.isfinite(numbers).all():
            raise ModelError(f"{self.weights.label} gives vectors that are no numbers. Its weights may be damaged.")

    def stream(
        self,
        parts: Iterable[Sequence[str]],
        on_batch: Callable[[int], None] | None = None,
        kind: Kind = Kind.NORMS,
    ) -> Iterator[Measurements]:
        """Measure several runs of sentences, each as `measure` or `vectors` does.

        The next is tokenized while the model is at one. After every batch `on_batch` gets the number of sentences done
        of all runs.
        """
        measure = {Kind.NORMS: self.measure, Kind.VECTORS: self.vectors}[kind]
        with ThreadPoolExecutor(1, thread_name_prefix="tokenize") as ahead:
            coming = (ahead.submit(self.tokenize, part) for part in parts)
            following, n_done = next(coming, None), 0
            while following is not None:
                tokens, following = following.result(), next(coming, None)
                yield measure(tokens, on_batch and (lambda done, before=n_done: on_batch(before + done)))  # type: ignore[misc]
                n_done += len(tokens)

    def _token_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        if not sentences:
            return []
        tokenizer = self._loaded.tokenizer
        try:
            if tokenizer.is_fast:
                encoded = tokenizer.backend_tokenizer.encode_batch_fast(list(sentences), add_special_tokens=False)
                return [one.ids for one in encoded]
            with self._tokenizing:  # its settings are shared state
                ids: list[list[int]] = tokenizer(list(sentences), add_special_tokens=False, verbose=False)["input_ids"]
            return ids
        except Exception as error:  # whatever a tokenizer raises that lacks a token for what is unknown, say
            raise ModelError(
                f"The tokenizer of {self.weights.name} cannot read a sentence: {first_line(error)}"
            ) from error

    def _rows(self, tokens: Tokens, starts: NDArray[Any], lengths: NDArray[Any]) -> tuple[Tensor, list[int]]:
        """A batch as the model takes it: token ids, int64 (n, width), and how many of each row count.

        Padded on the right whatever the tokenizer's habit: a position must not depend on the longest neighbour.
        """
        frame = self._loaded.frame
        columns = np.arange(lengths.max(initial=0) - len(frame))
        n_content = (lengths - len(frame))[:, None]
        is_content = columns < n_content
        padding = self._loaded.tokenizer.pad_token_id or 0
        if padding >= self._loaded.vocabulary_size:
            padding = 0  # it is masked
        ids = np.full((len(lengths), lengths.max(initial=0)), padding, np.int64)
        ids[:, : len(frame.prefix)] = frame.prefix
        content = ids[:, len(frame.prefix) : len(frame.prefix) + len(columns)]
        content[is_content] = tokens.ids[(starts[:, None] + columns)[is_content]]
        after = len(frame.prefix) + n_content + np.arange(len(frame.suffix))
        np.put_along_axis(ids, after, np.array([frame.suffix], np.int64), axis=1)
        return to_device(torch.from_numpy(ids), self.device), lengths.tolist()

    @torch.inference_mode()
    def _choose_forward(self) -> tuple[Forward, str]:
        """The forward pass to use, and why it is not the fastest kind; raises ModelError where the model cannot run."""
        name, frame = self.weights.name, self._loaded.frame
        n_tokens: NDArray[np.int32] = np.minimum(_PROBE_LENGTHS, self.max_length - len(frame)).astype(np.int32)
        ids = np.random.default_rng(0).integers(self._loaded.vocabulary_size, size=n_tokens.sum(), dtype=np.int32)
        tokens = Tokens(ids, n_tokens, np.arange(len(n_tokens)))
        probe = self._rows(tokens, np.cumsum(n_tokens) - n_tokens, n_tokens + len(frame))
        plain, reference = Plain(self._loaded, self.device), Plain(self._loaded, self.device, pads=False)
        try:
            vectors = reference(*probe)
            padded = norms_of(plain(*probe))
            norms = reference.layer_norms(*probe)
        except Exception as error:  # whatever a model raises that is no encoder of text, or is damaged
            if is_out_of_memory(error):
                raise
            raise ModelError(f"{name} cannot read a sentence: {first_line(error)}") from error
        last = vectors[-1 - self.has_pooler]
        if frame.cls >= 0 and torch.allclose(last[0], last[-1], rtol=1e-6, atol=0):
            raise ModelError(
                f"The [CLS] of {name} does not see the words that follow it: this is a decoder. Choose an encoder."
            )
        ignores_padding = torch.allclose(padded, norms_of(vectors), rtol=TOLERANCE[torch.float32], atol=0)
        obstacle = "its tokens are of several types" if frame.has_types else ""
        if frame.cls != 0:
            obstacle = "its [CLS] is not the first token"
        self.n_layers = len(vectors) - 1 - self.has_pooler
        self.layer_norms = _gains_and_biases(norms, last.shape[1])
        try:
            forward, reason = accelerate(
                self._loaded.model, plain if ignores_padding else reference, reference, probe, self.dtype, obstacle
            )
        except Unsuited as unsuited:
            raise ModelError(f"{name} can only be measured in the exact precision: {unsuited}.") from unsuited
        if reason and not ignores_padding:
            reason += "; it is changed by padding, so each length is measured by itself"
        return forward, reason

    def _make_room(self, error: RuntimeError | MemoryError, lengths: NDArray[Any]) -> None:
        """Halve the token budget after running out of memory; raises `error` if that was not it."""
        if not is_out_of_memory(error):
            raise error
        if len(lengths) == 1:
            raise ModelError(
                f"{self.weights.label} needs more memory than {self.device.type} has for a sentence of {lengths[0]} "
                "tokens. Close other programs, or choose a smaller model."
            ) from error
        self._budget = max(int(lengths.sum()) // 2, int(lengths.max()))
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _gains_and_biases(norms: Sequence[nn.LayerNorm | None], width: int) -> NDArray[np.float32]:
    """As of `Vectors`."""
    numbers = np.full((len(norms), 2, width), np.nan, np.float32)
    for layer, norm in enumerate(norms):
        if norm is not None:
            numbers[layer, 0] = 1 if norm.weight is None else norm.weight.detach().cpu().numpy()
            numbers[layer, 1] = 0 if norm.bias is None else norm.bias.detach().cpu().numpy()
    return numbers
