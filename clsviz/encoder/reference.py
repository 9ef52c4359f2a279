"""A model's own forward pass: the reference for the fast ones, and the fallback where none of them applies."""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.attention import groups_of
from clsviz.encoder.loaded import Loaded
from clsviz.encoder.one_position import sole_table
from clsviz.encoder.pooling import pool
from clsviz.encoder.positions import first_of
from clsviz.encoder.special_tokens import Frame
from clsviz.errors import ModelError


class Plain:
    """The forward pass that comes with transformers, as a `choice.Forward`."""

    pads = True

    def __init__(self, loaded: Loaded, device: torch.device, *, mixes_lengths: bool = True) -> None:
        """mixes_lengths: run sentences of several lengths at once, padded; otherwise each length by itself.

        Some models let the padding change a sentence in spite of its mask.
        """
        self._loaded = loaded
        self._device = device
        self._mixes_lengths = mixes_lengths
        self._position: int | None = None

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """With other special tokens, or one position: see `choice.Forward`."""
        changed = copy.copy(self)
        changed._loaded = replace(self._loaded, frame=frame)
        if one_position:
            if "position_ids" not in inspect.signature(self._loaded.model.forward).parameters:
                raise Unsuited("its own code does not take positions")
            changed._position = first_of(sole_table(self._loaded.model))
        return changed

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """Vectors of [CLS]: see `choice.Forward`."""
        runs = []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            at = self._cls(run_lengths)
            vectors = [state[torch.arange(len(run_lengths), device=self._device), at] for state in states]
            runs.append(vectors if pooler_output is None else [*vectors, pooler_output])
        return [torch.cat(vectors) for vectors in zip(*runs, strict=True)]

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """Vectors of every pooling: see `choice.Forward`."""
        pooled, pooler_outputs = [], []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            if len({state.shape for state in states}) > 1:
                raise ModelError(
                    f"{self._loaded.name} has layers of different shapes, so they cannot be compared. Choose another "
                    "model."
                )
            groups = groups_of(run_lengths)
            cls = self._loaded.frame.cls
            layers = [
                pool([state[group.start : group.stop, : group.length] for group in groups], cls) for state in states
            ]
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
        norms = [module for module in self._loaded.model.modules() if isinstance(module, nn.LayerNorm)]
        hooks = [norm.register_forward_hook(lambda norm, _, output: outputs.append((norm, output))) for norm in norms]
        try:
            ((run_ids, run_lengths), *_) = self._runs(ids, lengths)
            states, _ = self._states(run_ids, run_lengths)
        finally:
            for hook in hooks:
                hook.remove()
        of_layers = [next((norm for norm, output in outputs if torch.equal(output, state)), None) for state in states]
        return gains_and_biases(of_layers, states[-1].shape[-1])

    def _runs(self, ids: Tensor, lengths: list[int]) -> list[tuple[Tensor, list[int]]]:
        if self._mixes_lengths:
            return [(ids, lengths)]
        return [
            (ids[group.start : group.stop, : group.length], lengths[group.start : group.stop])
            for group in groups_of(lengths)
        ]

    def _states(self, ids: Tensor, lengths: list[int]) -> tuple[list[Tensor], Tensor | None]:
        """Hidden states of all tokens after every layer, (n, length, width) each, and the pooler output."""
        frame = self._loaded.frame
        others = {"token_type_ids": self._types(ids, lengths)} if frame.has_types else {}
        if self._position is not None:
            others["position_ids"] = torch.full_like(ids, self._position)
        output = self._loaded.model(
            input_ids=ids,
            attention_mask=self._mask(ids, lengths).long(),
            output_hidden_states=True,
            return_dict=True,
            **others,
        )
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return states, output.pooler_output if self._loaded.has_pooler else None

    def _mask(self, ids: Tensor, lengths: list[int]) -> Tensor:
        return torch.arange(ids.shape[1], device=self._device) < torch.tensor(lengths, device=self._device)[:, None]

    def _cls(self, lengths: list[int]) -> Tensor:
        """The position of [CLS] in each row; where [CLS] comes last, it depends on the length."""
        n_tokens = torch.tensor(lengths, device=self._device)
        cls = self._loaded.frame.cls
        return torch.full_like(n_tokens, cls) if cls >= 0 else n_tokens + cls

    def _types(self, ids: Tensor, lengths: list[int]) -> Tensor:
        before, content, after = self._loaded.frame.types
        n_tokens = torch.tensor(lengths, device=self._device)
        types = torch.full_like(ids, content)
        types[:, : len(before)] = torch.tensor(before, device=self._device)
        for place, kind in enumerate(after):
            types[torch.arange(len(ids)), n_tokens - len(after) + place] = kind
        return types


def gains_and_biases(norms: Sequence[nn.LayerNorm | None], width: int) -> NDArray[np.float32]:
    """The gain and the bias of each LayerNorm, float32 (n, 2, width); NaN for None."""
    numbers = np.full((len(norms), 2, width), np.nan, np.float32)
    for layer, norm in enumerate(norms):
        if norm is not None:
            numbers[layer, 0] = 1 if norm.weight is None else norm.weight.detach().cpu().numpy()
            numbers[layer, 1] = 0 if norm.bias is None else norm.bias.detach().cpu().numpy()
    return numbers
