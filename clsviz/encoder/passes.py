"""Forward passes: what is measured in one, and the fastest with the numbers of the model's own."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from clsviz.encoder.forward import LAYOUTS, OwnPass
from clsviz.encoder.tokens import Frame, Tokenizer
from clsviz.errors import ModelError, NoCls, SettingError, quote
from clsviz.measurements import Kind
from clsviz.settings import Precision
from clsviz.sources.models import OTHER_PAGES

LENGTHS = (40, 17, 17, 9, 9, 3, 1, 1)  # tokens of the sentences that passes are compared on
EXACT, FAST = 1e-5, 0.05  # largest relative errors of a norm
SEES = 1e-5  # a larger relative difference between [CLS] of two sentences is not rounding


def reduce(forward: "Forward", batch: Sequence[Tensor], kind: Kind) -> dict[str, Tensor]:
    """The arrays of a kind, as `clsviz.measurements` describes them, that take a model."""
    cls, means = [], []
    for tokens in forward.layers(batch, only_cls=kind == "norms"):
        cls.append(torch.cat([run[:, 0] for run in tokens]))
        if kind != "norms":
            means.append(torch.cat([run.mean(1) for run in tokens]))
    pooled = pool(forward.model, cls[-1])
    norms = _norms([*cls, *pooled])
    arrays = {"cls": norms[:, : len(cls)], "pooler": norms[:, len(cls) :]}
    if kind in ("means", "vectors"):
        arrays["mean"] = _norms(means)
    if kind in ("vectors", "last"):
        first = 0 if kind == "vectors" else -1
        arrays["vectors"] = torch.stack([*cls[first:], means[-1], *pooled], dim=1)
    return arrays


def pool(model: Any, cls: Tensor) -> list[Tensor]:
    """The output of a model's pooler for [CLS] after the last layer, (n, width), if it has one."""
    pooler = getattr(model, "pooler", None)
    if pooler is None:
        return []
    if isinstance(pooler, nn.Linear):  # ALBERT's and BigBird's have their activation elsewhere
        activation = getattr(model, "pooler_activation", None) or model.activation
        return [activation(pooler(cls))]
    return [pooler(cls[:, None])]


def _norms(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms, float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector, dim=1) for vector in vectors], dim=1)


def is_out_of_memory(error: Exception) -> bool:
    """True if memory ran out: CUDA and the CPU raise several types, some only with a message."""
    words = ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    is_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return is_type or any(word in str(error).lower() for word in words)


class ModelPass:
    """The forward pass that comes with transformers, called as `OwnPass` is.

    Each matrix of a batch runs by itself, with neither padding nor mask: some models let padding
    change a sentence in spite of its mask.
    """

    mixes_lengths = False

    def __init__(self, model: Any, frame: Frame) -> None:
        self.model, self._frame = model, frame

    def layers(self, batch: Sequence[Tensor], only_cls: bool) -> Iterator[list[Tensor]]:
        """All tokens after every layer, as `OwnPass.layers` gives them."""
        return map(list, zip(*map(self._states, batch), strict=True))

    def _states(self, ids: Tensor) -> list[Tensor]:
        """Hidden states of all tokens after every layer, (n, length, width)."""
        config, length = self.model.config, ids.shape[1]
        if getattr(config, "attention_type", "") == "block_sparse":
            # BigBird leaves sparse attention for good after a short sentence: set it for each.
            needed = (5 + 2 * config.num_random_blocks) * config.block_size
            self.model.set_attention_type("block_sparse" if length > needed else "original_full")
        types = {}
        if self._frame.types:
            row = torch.tensor(self._frame.token_types(length), device=ids.device)
            types["token_type_ids"] = row.expand_as(ids)
        output = self.model(input_ids=ids, output_hidden_states=True, return_dict=True, **types)
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return [state[:, :length] for state in states]  # BigBird pads


Forward: TypeAlias = OwnPass | ModelPass


@torch.inference_mode()
def choose(model: Any, tokenizer: Tokenizer, precision: Precision) -> tuple[Forward, Forward]:
    """The fastest pass in a precision, and the fastest exact one.

    They agree with the model's own on eight sentences. Raises ModelError where the model cannot
    read a sentence or is a decoder, and SettingError where it has no fast pass.
    """
    own, batch = ModelPass(model, tokenizer.frame), _sample(model, tokenizer)
    try:
        output = model(input_ids=batch[0], return_dict=True)
        own_pooled = output.get("pooler_output")
        pooled = pool(model, output.last_hidden_state[:, 0])
        if pooled and (own_pooled is None or not torch.allclose(pooled[0], own_pooled, rtol=1e-4)):
            model.pooler = None  # it is of a kind of its own
        *_, last = own.layers(batch, only_cls=True)
        cls, expected = torch.cat([run[:, 0] for run in last]), _numbers(own, batch)
    except Exception as error:  # a model that is damaged or reads no text may raise anything
        if is_out_of_memory(error):
            raise
        reason = f"{tokenizer.label} cannot read a sentence ({quote(error)})."
        raise ModelError(reason, "Choose another model.") from error
    if (cls - cls[0]).abs().max() <= SEES * cls.abs().max():
        reason = f"[CLS] of {tokenizer.label} is the same for every sentence, as in a decoder."
        raise NoCls(reason, OTHER_PAGES)

    def verified(build: Callable[[], Forward], tolerance: float) -> Forward | None:
        try:
            forward = build()
            numbers = _numbers(forward, batch)
        except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            return None
        return forward if torch.allclose(numbers, expected, rtol=tolerance, atol=0) else None

    exact = fast = None
    layout = LAYOUTS.get(model.config.model_type)
    if layout and not tokenizer.frame.types:
        exact = verified(lambda: OwnPass(model, torch.float32), EXACT)
        if exact and precision == "fast":
            fast = verified(lambda: OwnPass(model, torch.bfloat16), FAST)
    if precision == "fast" and not fast:
        reason = f"{tokenizer.label} cannot be measured in the fast precision."
        raise SettingError(reason, "Choose the exact one.")
    if exact:
        model.set_submodule(f"{layout}.layer", nn.ModuleList())  # the pass has packed its weights
        return fast or exact, exact
    return own, own


def _sample(model: Any, tokenizer: Tokenizer) -> list[Tensor]:
    """Sentences of random tokens, always the same, in matrices of one length."""
    random = np.random.RandomState(0)
    n_tokens = model.get_input_embeddings().num_embeddings
    rows = [
        tokenizer.with_special_tokens(random.randint(n_tokens, size=n).tolist()) for n in LENGTHS
    ]
    runs = [list(run) for _, run in itertools.groupby(rows, len)]
    return [torch.tensor(run, device=model.device) for run in runs]


def _numbers(forward: Forward, batch: Sequence[Tensor]) -> Tensor:
    """All norms that the pass gives of a batch, by each of its ways, (n, number of norms)."""
    arrays = [*reduce(forward, batch, "norms").values(), *reduce(forward, batch, "means").values()]
    return torch.cat(arrays, dim=1)
