"""A model's own forward pass, and choosing the fastest one that reproduces it.

1. `FastPass`, for BERT and models built like it: one loop over the blocks as plain tensors.
2. `swap_linears`, for any other model: its own code, with its linear layers replaced by `Linear`.
3. The model as it comes, where neither reproduces it.

Each candidate is compared with the model's own forward pass on a few random sentences before it is used.
"""

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import sdpa_kernel

from clsviz.encoder.batches import ATTENTION, is_out_of_memory, pool, to_device
from clsviz.encoder.fast_pass import FastPass, UnsupportedModel, first_position, groups_of, sole_position_table
from clsviz.encoder.linear import swap_linears
from clsviz.encoder.load import Loaded
from clsviz.encoder.tokenize import Frame
from clsviz.errors import ModelError, first_line

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""Largest relative error of a norm at which a forward pass counts as reproducing the model's own."""
_PROBE_LENGTHS = (24, 9, 9, 3, 1)
"""Tokens of the random sentences that forward passes are compared on."""

Batch = tuple[Tensor, list[int]]
"""What a forward pass takes: token ids, int64 (n, width), padded on the right, longest first, and their lengths."""


class ForwardPass(Protocol):
    """A forward pass through a model, over a `Batch`.

    pads: whether every sentence takes as much work as the longest in its batch.
    """

    pads: bool

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """The same over sentences in this frame, all of whose tokens may get one position, that of the first.

        Raises UnsupportedModel where the model knows the positions of tokens in another way than by position vectors.
        """

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """The vectors of [CLS] after every layer, and the pooler output if there is one: floating-point (n, width)."""

    def pooled(self, ids: Tensor, lengths: list[int], last: list[Tensor] | None = None) -> tuple[Tensor, Tensor | None]:
        """All of `measurements.POOLED` after every layer, (poolings, n_layers + 1, n, width), and the pooler output.

        last: gets all tokens after the last layer, of the sentences of each length: (n of the length, length, width).
        """


@dataclass(frozen=True, eq=False)
class Choice:
    """The forward pass to use for a model, and what was learned while choosing it.

    slow_path_reason: why `forward` is not the fastest kind, or "". n_layers: number of the last layer.
    layer_norms: float32 (n_layers + 1, 2, width), as in `Vectors`.
    """

    forward: ForwardPass
    slow_path_reason: str
    n_layers: int
    layer_norms: NDArray[np.float32]


@sdpa_kernel(ATTENTION)
@torch.inference_mode()
def choose(loaded: Loaded, device: torch.device, dtype: torch.dtype) -> Choice:
    """The fastest forward pass through `loaded`, with its matrix products in `dtype`.

    The model must be on `device`. It is modified: it loses the weights that the forward pass holds in another layout.
    Raises ModelError if the model cannot read a sentence, is a decoder, or has no forward pass in `dtype`; passes on
    what PyTorch raises when memory runs out.
    """
    tokens = loaded.tokenizer.random_tokens(_PROBE_LENGTHS)
    ids, lengths = loaded.tokenizer.rows(tokens, np.arange(len(tokens)))
    probe = to_device(ids, device), lengths
    # The reference takes one length at a time, so that a sentence's vectors depend on nothing else.
    own, reference = OwnPass(loaded, device), OwnPass(loaded, device, mixes_lengths=False)
    try:
        vectors = reference(*probe)
        padded = norms_of(own(*probe))
        layer_norms = reference.layer_norms(*probe)
    except Exception as error:  # a model that is damaged, or no encoder of text, may raise anything
        if is_out_of_memory(error):
            raise
        raise ModelError(f"{loaded.name} cannot read a sentence: {first_line(error)}") from error
    last = vectors[-1 - loaded.has_pooler]
    if loaded.tokenizer.frame.cls >= 0 and torch.allclose(last[0], last[-1], rtol=1e-6, atol=0):
        raise ModelError(
            f"The [CLS] of {loaded.name} does not see the words that follow it: this is a decoder. Choose an encoder."
        )
    ignores_padding = torch.allclose(padded, norms_of(vectors), rtol=TOLERANCE[torch.float32], atol=0)
    try:
        forward, reason = _fastest(loaded, own if ignores_padding else reference, reference, probe, dtype)
    except UnsupportedModel as unsupported:
        raise ModelError(f"{loaded.name} can only be measured in the exact precision: {unsupported}.") from unsupported
    if reason and not ignores_padding:
        reason += "; padding changes its output, so each length is measured by itself"
    return Choice(forward, reason, len(vectors) - 1 - loaded.has_pooler, layer_norms)


def _fastest(
    loaded: Loaded, own: "OwnPass", reference: "OwnPass", probe: Batch, dtype: torch.dtype
) -> tuple[ForwardPass, str]:
    """The fastest forward pass that reproduces `reference` on `probe`, and why it is not the fastest kind, or "".

    Raises UnsupportedModel where there is none in `dtype`.
    """

    def agrees(compute: Callable[[], Tensor], expected: Tensor) -> bool:
        try:
            norms = compute()
        except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            return False  # a model that is not built the way its type suggests
        return norms.shape == expected.shape and torch.allclose(norms, expected, rtol=TOLERANCE[dtype], atol=0)

    def pooled_norms(forward: ForwardPass) -> Tensor:
        norms: Tensor = torch.linalg.vector_norm(forward.pooled(*probe)[0], dim=-1)
        return norms

    expected = norms_of(reference(*probe))
    try:
        if loaded.tokenizer.frame.cls != 0:
            raise UnsupportedModel("its [CLS] is not the first token")
        if loaded.tokenizer.frame.has_types:
            raise UnsupportedModel("its tokens are of several types")
        fast = FastPass(loaded.model, dtype)
        if not (
            agrees(lambda: norms_of(fast(*probe)), expected)
            and agrees(lambda: pooled_norms(fast), pooled_norms(reference))
        ):
            raise UnsupportedModel("the fast forward pass does not reproduce this model")
    except UnsupportedModel as unsupported:
        reason = str(unsupported)
    else:
        fast.free_originals()
        return fast, ""
    replaced = swap_linears(loaded.model, dtype)
    if replaced and agrees(lambda: norms_of(own(*probe)), expected):
        return own, f"{reason}; its linear layers are replaced by faster ones"
    for name, module in replaced.items():
        loaded.model.set_submodule(name, module)
    if dtype != torch.float32:
        raise UnsupportedModel(f"{reason}, and its linear layers cannot be replaced")
    return own, f"{reason}; it runs unmodified"


def norms_of(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms of vectors of n sentences, (n, width) each: float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector.float(), dim=-1) for vector in vectors], dim=1)


class OwnPass:
    """The forward pass that comes with transformers, as a `ForwardPass`."""

    pads = True

    def __init__(self, loaded: Loaded, device: torch.device, *, mixes_lengths: bool = True) -> None:
        """mixes_lengths: run sentences of several lengths at once, padded; otherwise each length by itself.

        Some models let the padding change a sentence in spite of its mask.
        """
        self._loaded = loaded
        self._frame = loaded.tokenizer.frame
        self._device = device
        self._mixes_lengths = mixes_lengths
        self._position: int | None = None

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """With other special tokens, or one position: see `ForwardPass`."""
        changed = copy.copy(self)
        changed._frame = frame
        if one_position:
            if "position_ids" not in inspect.signature(self._loaded.model.forward).parameters:
                raise UnsupportedModel("its own code does not take positions")
            changed._position = first_position(sole_position_table(self._loaded.model))
        return changed

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """Vectors of [CLS]: see `ForwardPass`."""
        runs = []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            n_tokens = torch.tensor(run_lengths, device=self._device)
            at = torch.full_like(n_tokens, self._frame.cls) if self._frame.cls >= 0 else n_tokens + self._frame.cls
            vectors = [state[torch.arange(len(run_lengths), device=self._device), at] for state in states]
            runs.append(vectors if pooler_output is None else [*vectors, pooler_output])
        return [torch.cat(vectors) for vectors in zip(*runs, strict=True)]

    def pooled(self, ids: Tensor, lengths: list[int], last: list[Tensor] | None = None) -> tuple[Tensor, Tensor | None]:
        """Vectors of every pooling: see `ForwardPass`."""
        pooled, pooler_outputs = [], []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            if len({state.shape for state in states}) > 1:
                raise ModelError(
                    f"{self._loaded.name} has layers of different shapes, so they cannot be compared. Choose another "
                    "model."
                )
            groups = groups_of(run_lengths)
            by_group = [[state[group.start : group.stop, : group.length] for group in groups] for state in states]
            layers = [pool(tokens, self._frame.cls) for tokens in by_group]
            if last is not None:
                last += by_group[-1]
            pooled.append(torch.stack(layers, dim=1))
            if pooler_output is not None:
                pooler_outputs.append(pooler_output)
        return torch.cat(pooled, dim=2), torch.cat(pooler_outputs) if pooler_outputs else None

    def layer_norms(self, ids: Tensor, lengths: list[int]) -> NDArray[np.float32]:
        """Gain and bias of the LayerNorm whose output each layer is, float32 (n_layers + 1, 2, width).

        The LayerNorm is found by comparing outputs on these sentences. NaN for a layer that is the output of none: some
        models pass on sums, which the next layer normalizes.
        """
        outputs: list[tuple[nn.LayerNorm, Tensor]] = []
        modules = [module for module in self._loaded.model.modules() if isinstance(module, nn.LayerNorm)]
        hooks = [norm.register_forward_hook(lambda norm, _, output: outputs.append((norm, output))) for norm in modules]
        try:
            ((run_ids, run_lengths), *_) = self._runs(ids, lengths)
            states, _ = self._states(run_ids, run_lengths)
        finally:
            for hook in hooks:
                hook.remove()
        numbers = np.full((len(states), 2, states[-1].shape[-1]), np.nan, np.float32)
        for layer, state in enumerate(states):
            norm = next((norm for norm, output in outputs if torch.equal(output, state)), None)
            if norm is not None:
                numbers[layer, 0] = 1 if norm.weight is None else norm.weight.detach().cpu().numpy()
                numbers[layer, 1] = 0 if norm.bias is None else norm.bias.detach().cpu().numpy()
        return numbers

    def _runs(self, ids: Tensor, lengths: list[int]) -> list[Batch]:
        if self._mixes_lengths:
            return [(ids, lengths)]
        return [
            (ids[group.start : group.stop, : group.length], lengths[group.start : group.stop])
            for group in groups_of(lengths)
        ]

    def _states(self, ids: Tensor, lengths: list[int]) -> tuple[list[Tensor], Tensor | None]:
        """Hidden states of all tokens after every layer, (n, length, width) each, and the pooler output."""
        n_tokens = torch.tensor(lengths, device=self._device)
        others: dict[str, Any] = {}
        if self._frame.has_types:
            before, content, after = self._frame.types
            types = others["token_type_ids"] = torch.full_like(ids, content)
            types[:, : len(before)] = torch.tensor(before, device=self._device)
            for place, kind in enumerate(after):
                types[torch.arange(len(ids)), n_tokens - len(after) + place] = kind
        if self._position is not None:
            others["position_ids"] = torch.full_like(ids, self._position)
        output = self._loaded.model(
            input_ids=ids,
            attention_mask=(torch.arange(ids.shape[1], device=self._device) < n_tokens[:, None]).long(),
            output_hidden_states=True,
            return_dict=True,
            **others,
        )
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return states, output.pooler_output if self._loaded.has_pooler else None
