"""The encoder: tokenizer, model and device; turns sentences into measurements."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from numpy.typing import NDArray
from safetensors import SafetensorError

from clsviz.errors import ModelError
from clsviz.measurements import MAX_LENGTH, Measurements
from clsviz.models import Weights

_TOKEN_BUDGETS = {"cpu": 2048, "cuda": 16384, "mps": 8192}
"""Tokens of a batch, padding included. On a CPU larger batches fall out of its caches."""
_FOREIGN = (SafetensorError, StrictDataclassError)
"""What libraries raise for damaged files beside Python's own exceptions."""


class Encoder:
    """A model that is loaded and can measure; safe to share between threads.

    precision: in which the forward pass is computed, "float32".
    max_length: tokens, special ones included, beyond which a sentence is cut.
    """

    def __init__(self, weights: Weights, device: str | None = None, token_budget: int | None = None) -> None:
        """Load `weights`; raises ModelError where they are no encoder with a [CLS] token, or incomplete."""
        self.weights = weights
        self.precision = "float32"
        self.device = torch.device(device or _best_device())
        self._budget = token_budget or _TOKEN_BUDGETS[self.device.type]
        self._tokenizer, self._model, self.has_pooler = _load(weights)
        self._model.to(self.device)
        self._prefix, self._suffix, self._cls = _special_tokens(self._tokenizer, weights.name)
        self.max_length = min(MAX_LENGTH, self._tokenizer.model_max_length, _positions(self._model))
        self._tokenizing = threading.Lock()

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return int(self._model.config.num_hidden_layers)

    def tokens(self, sentence: str) -> list[str]:
        """The sentence as the model cuts it, without the special tokens, before truncation."""
        names: list[str] = self._tokenizer.convert_ids_to_tokens(self._token_ids([sentence])[0])
        return names

    def measure(self, sentences: Sequence[str], on_batch: Callable[[int], None] | None = None) -> Measurements:
        """Measure each sentence; the result does not depend on what else is measured with it, to float32 rounding.

        After every batch `on_batch` gets the number of sentences done; what it raises ends the work. Raises ModelError
        where the memory does not suffice for a single sentence.
        """
        distinct = list(dict.fromkeys(sentences))
        token_ids = self._token_ids(distinct)
        self._check_vocabulary(token_ids)
        n_tokens = np.array([len(ids) for ids in token_ids], dtype=np.int32)
        room = self.max_length - len(self._prefix) - len(self._suffix)
        norms = np.empty((len(distinct), self.n_layers + 1 + self.has_pooler), dtype=np.float32)

        lengths = np.minimum(n_tokens, room) + len(self._prefix) + len(self._suffix)
        pending = plan_batches(lengths, self._budget)[::-1]
        done = 0
        while pending:
            batch = pending.pop()
            rows = [[*self._prefix, *token_ids[index][:room], *self._suffix] for index in batch]
            try:
                norms[batch] = self._forward(rows)
            except (RuntimeError, MemoryError) as error:
                self._make_room(error, lengths[batch])
                left = np.concatenate([batch, *reversed(pending)])
                pending = [left[part] for part in plan_batches(lengths[left], self._budget)][::-1]
                continue
            done += len(batch)
            if on_batch is not None:
                on_batch(done * len(sentences) // len(distinct))

        if not np.isfinite(norms).all():
            raise ModelError(f"{self.weights.label} gives norms that are no numbers. Its weights may be damaged.")
        position = {sentence: index for index, sentence in enumerate(distinct)}
        order = np.array([position[sentence] for sentence in sentences], dtype=np.intp)
        return Measurements(
            n_tokens=n_tokens[order],
            truncated=n_tokens[order] > room,
            cls_norms=norms[order, : self.n_layers + 1],
            pooler_norms=norms[order, self.n_layers + 1 :],
        )

    def _token_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        if not sentences:
            return []
        with self._tokenizing:  # the tokenizer's settings are shared state
            encoded = self._tokenizer(
                list(sentences),
                add_special_tokens=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
            )
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _check_vocabulary(self, token_ids: list[list[int]]) -> None:
        """Raise ModelError where the tokenizer knows tokens that the model does not: on a GPU that ends the process."""
        highest = max((max(ids) for ids in token_ids if ids), default=0)
        size = self._model.get_input_embeddings().num_embeddings
        if highest >= size:
            raise ModelError(
                f"The tokenizer of {self.weights.name} gives token {highest:,}, but the model has only {size:,}: "
                "they do not belong together. Fetch its files again."
            )

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> NDArray[np.float32]:
        """Norms of token id rows, float32 (n, n_layers + 1 [+ 1 for the pooler])."""
        width = max(map(len, rows))
        input_ids = torch.full((len(rows), width), self._tokenizer.pad_token_id or 0)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        # Padded on the right whatever the tokenizer's habit: a position must not depend on the longest neighbour.
        for index, row in enumerate(rows):
            input_ids[index, : len(row)] = torch.tensor(row)
            mask[index, : len(row)] = 1
        # A [CLS] at the end, as some encoders have it, sits at another place in every row.
        at = torch.tensor([self._cls if self._cls >= 0 else len(row) + self._cls for row in rows])
        output = self._model(
            input_ids=input_ids.to(self.device), attention_mask=mask.to(self.device), output_hidden_states=True
        )
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        vectors = [state[torch.arange(len(rows)), at] for state in states]
        if self.has_pooler:
            vectors.append(output.pooler_output)
        norms = [torch.linalg.vector_norm(vector.float(), dim=-1) for vector in vectors]
        result: NDArray[np.float32] = torch.stack(norms, dim=1).cpu().numpy()
        return result

    def _make_room(self, error: RuntimeError | MemoryError, lengths: NDArray[Any]) -> None:
        """Halve the token budget after running out of memory; raises `error` if that was not it."""
        if not _is_out_of_memory(error):
            raise error
        if len(lengths) == 1:
            raise ModelError(
                f"{self.weights.label} needs more memory than {self.device.type} has for a sentence of {lengths[0]} "
                "tokens. Close other programs, or choose a smaller model."
            ) from error
        self._budget = max(int(lengths.sum()) // 2, int(lengths.max()))
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def plan_batches(lengths: NDArray[Any], token_budget: int) -> list[NDArray[np.intp]]:
    """Cut sentences into batches: indices, longest first, as many as fit the budget when padded to the longest."""
    order = np.argsort(-lengths, kind="stable")
    batches = []
    start = 0
    while start < len(order):
        size = max(1, token_budget // int(lengths[order[start]]))
        batches.append(order[start : start + size])
        start += size
    return batches


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _is_out_of_memory(error: RuntimeError | MemoryError) -> bool:
    """CUDA has a type of its own for it; Metal and the CPU's allocator raise a RuntimeError that says so."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory")
    )


def _load(weights: Weights) -> tuple[Any, Any, bool]:
    """Tokenizer, model, and whether the weights hold a pooler; raises ModelError. Nothing is fetched or executed."""
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # what matters is raised below
    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(weights.folder, **safely)
        if config.is_encoder_decoder:
            raise ModelError(
                f"{weights.name} is an encoder with a decoder. Choose an encoder, such as bert-base-uncased."
            )
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder, **safely)
        model, loading = transformers.AutoModel.from_pretrained(
            weights.folder,
            config=config,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are reported below
            **safely,
        )
    except (OSError, ValueError, LookupError, TypeError, ImportError, RuntimeError, *_FOREIGN) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{weights.name} cannot be loaded: {reason}") from error
    missing = set(loading["missing_keys"])
    without_pooler = {name for name in missing if name.startswith("pooler.")}
    if lacking := len(missing - without_pooler) + len(loading["mismatched_keys"]):
        raise ModelError(
            f"{weights.name} lacks {lacking} of its encoder's weights, or has them in another shape. Choose another."
        )
    return tokenizer, model.eval(), getattr(model, "pooler", None) is not None and not without_pooler


def _special_tokens(tokenizer: Any, name: str) -> tuple[list[int], list[int], int]:
    """Token ids before and after a sentence, and where [CLS] is: an index from the start, or from the end if negative.

    It is found by its id, once, in the frame that the tokenizer puts around any sentence: a sentence that spells the
    special token itself does not mislead it.
    """
    if tokenizer.cls_token_id is None:
        raise ModelError(f"{name} has no [CLS] token. Choose an encoder, such as bert-base-uncased.")
    content = tokenizer("a", add_special_tokens=False)["input_ids"]
    framed = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(framed)) if framed[i : i + len(content)] == content)
    prefix, suffix = framed[:start], framed[start + len(content) :]
    if tokenizer.cls_token_id in prefix:
        return prefix, suffix, prefix.index(tokenizer.cls_token_id)
    if tokenizer.cls_token_id in suffix:
        return prefix, suffix, suffix.index(tokenizer.cls_token_id) - len(suffix)
    raise ModelError(f"The tokenizer of {name} puts no [CLS] around a sentence. Choose another encoder.")


def _positions(model: Any) -> int:
    """Tokens that the model has position embeddings for; RoBERTa and its kin reserve the first ones."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if table is None:
        return int(getattr(model.config, "max_position_embeddings", MAX_LENGTH))
    return int(table.num_embeddings) - (0 if table.padding_idx is None else table.padding_idx + 1)
