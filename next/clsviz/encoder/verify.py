"""The fastest forward pass that gives the numbers of a model's own."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from clsviz.encoder.forward import LAYOUTS, OwnPass, swap_linears
from clsviz.encoder.reduce import REDUCERS, Forward, is_out_of_memory, pool
from clsviz.encoder.tokens import ANOTHER, Frame, Tokenizer
from clsviz.errors import ModelError, SettingError, quote
from clsviz.experiment import Precision

LENGTHS = (40, 17, 17, 9, 9, 3, 1, 1)
"""Tokens of the sentences that passes are compared on, without special ones."""

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""Largest relative error of a norm."""

SEES = 1e-5
"""Difference between [CLS] of two sentences, relative to its largest number, beyond rounding."""


class ModelPass:
    """The forward pass that comes with transformers, as a `reduce.Forward`.

    Each matrix of a batch runs by itself, with neither padding nor mask: some models let padding
    change a sentence in spite of its mask.
    """

    mixes_lengths = False

    def __init__(self, model: Any, frame: Frame) -> None:
        self.flat: list[Tensor] = []
        self._model = model
        self._frame = frame

    def cls(self, batch: Sequence[Tensor]) -> list[Tensor]:
        """See `Forward`."""
        return [torch.cat([tokens[:, 0] for tokens in layer]) for layer in self.tokens(batch)]

    def tokens(self, batch: Sequence[Tensor]) -> Iterator[list[Tensor]]:
        """See `Forward`."""
        return map(list, zip(*map(self._states, batch), strict=True))

    def pool(self, cls: Tensor) -> Tensor | None:
        """See `Forward`."""
        return pool(self._model, cls)

    def _states(self, ids: Tensor) -> list[Tensor]:
        """Hidden states of all tokens after every layer, (n, length, width)."""
        config, length = self._model.config, ids.shape[1]
        if getattr(config, "attention_type", "") == "block_sparse":
            # BigBird leaves sparse attention for good after a short sentence: set it for each.
            needed = (5 + 2 * config.num_random_blocks) * config.block_size
            self._model.set_attention_type("block_sparse" if length > needed else "original_full")
        types = {}
        if self._frame.has_types:
            row = torch.tensor(self._frame.token_types(length), device=ids.device)
            types["token_type_ids"] = row.expand_as(ids)
        output = self._model(input_ids=ids, output_hidden_states=True, return_dict=True, **types)
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return [state[:, :length] for state in states]  # BigBird pads


class Choice(NamedTuple):
    """A forward pass in a precision, the exact one, and sentences about them."""

    forward: Forward
    exact: Forward
    caveats: tuple[str, ...]


@torch.inference_mode()
def choose(model: Any, tokenizer: Tokenizer, precision: Precision) -> Choice:
    """The fastest forward passes that agree with the model's own on eight sentences.

    The model loses the weights that they have in another form. Raises ModelError where it cannot
    read a sentence or is a decoder, and SettingError where it has no fast pass.
    """
    own, batch, caveats = ModelPass(model, tokenizer.frame), _sample(model, tokenizer), []
    try:
        if not _has_known_pooler(model, batch[0]):
            model.pooler = None
            caveats.append("The model's pooler is of a kind of its own, and left out.")
        own.flat = _flat(model, own, batch[0])
        expected, last = _numbers(own, batch), own.cls(batch)[-1]
    except Exception as error:  # a model that is damaged or reads no text may raise anything
        if is_out_of_memory(error):
            raise
        reason = f"{tokenizer.label} cannot read a sentence ({quote(error)})."
        raise ModelError(reason, "Choose another model.") from error
    if (last - last[0]).abs().max() <= SEES * last.abs().max():
        reason = f"[CLS] of {tokenizer.label} sees no words: it is a decoder."
        raise ModelError(reason, ANOTHER)
    has_layout = model.config.model_type in LAYOUTS and not tokenizer.frame.has_types
    exact = _own_pass(model, torch.float32, own.flat, batch, expected) if has_layout else None
    if precision == "fast":
        fast = exact and _own_pass(model, torch.bfloat16, own.flat, batch, expected)
        if exact is None or fast is None:
            reason = f"{tokenizer.label} cannot be measured in the fast precision."
            raise SettingError(reason, "Choose the exact one.")
        return Choice(fast, exact, tuple(caveats))
    if exact is not None:
        return Choice(exact, exact, tuple(caveats))
    if has_layout:
        caveats.append("The model is not built as its type suggests, and runs more slowly.")
    originals = swap_linears(model)
    if originals and not _agrees(own, batch, expected, torch.float32):
        for name, module in originals.items():
            model.set_submodule(name, module)
    return Choice(own, own, tuple(caveats))


def _sample(model: Any, tokenizer: Tokenizer) -> list[Tensor]:
    """Sentences of random tokens, always the same, in matrices of one length."""
    random = np.random.RandomState(0)
    n_tokens = model.get_input_embeddings().num_embeddings
    rows = [tokenizer.framed(random.randint(n_tokens, size=n).tolist()) for n in LENGTHS]
    runs = [list(run) for _, run in itertools.groupby(rows, len)]
    return [torch.tensor(run, device=model.device) for run in runs]


def _numbers(forward: Forward, batch: Sequence[Tensor]) -> Tensor:
    """All norms that the pass gives of a batch, by each of its ways, (n, number of norms)."""
    arrays = [reduce(forward, batch) for reduce in REDUCERS.values()]
    return torch.cat([a for part in arrays for n, a in part.items() if n != "vectors"], dim=1)


def _agrees(
    forward: Forward, batch: Sequence[Tensor], expected: Tensor, dtype: torch.dtype
) -> bool:
    try:
        return torch.allclose(_numbers(forward, batch), expected, rtol=TOLERANCE[dtype], atol=0)
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return False


def _own_pass(
    model: Any,
    dtype: torch.dtype,
    flat: list[Tensor],
    batch: Sequence[Tensor],
    expected: Tensor,
) -> OwnPass | None:
    try:
        own_pass = OwnPass(model, dtype, flat)
    except (AttributeError, LookupError, TypeError):  # not built as its type suggests
        return None
    return own_pass if _agrees(own_pass, batch, expected, dtype) else None


def _has_known_pooler(model: Any, ids: Tensor) -> bool:
    """False if the model has a pooler whose output `pool` does not give."""
    if getattr(model, "pooler", None) is None:
        return True
    output = model(input_ids=ids, return_dict=True)
    try:
        pooled = pool(model, output.last_hidden_state[:, 0])
        return pooled is not None and torch.allclose(pooled, output.pooler_output, rtol=1e-4)
    except (AttributeError, LookupError, TypeError, RuntimeError):
        return False


def _flat(model: nn.Module, own: ModelPass, ids: Tensor) -> list[Tensor]:
    """For each layer its LayerNorm's bias in dimensions whose gain is but rounding, else NaN."""
    outputs: list[tuple[nn.LayerNorm, Tensor]] = []
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    hooks = [n.register_forward_hook(lambda n, _, y: outputs.append((n, y))) for n in norms]
    layers = [run for (run,) in own.tokens([ids])]
    for hook in hooks:
        hook.remove()
    flat = []
    for layer in layers:
        bias = torch.full_like(layer[0, 0], torch.nan)
        for norm in [n for n, output in outputs if torch.equal(output, layer)][:1]:
            size = torch.ones_like(bias) if norm.weight is None else norm.weight.abs()
            has_none = size <= torch.finfo(size.dtype).eps * size.max()
            bias[has_none] = 0 if norm.bias is None else norm.bias[has_none]
        flat.append(bias)
    return flat
