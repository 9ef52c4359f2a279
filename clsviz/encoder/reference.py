"""A model's own forward pass: what the fast ways are compared with, and what is run where there is none."""

import torch
from torch import Tensor, nn

from clsviz.encoder.attention import groups_of
from clsviz.encoder.loading import Loaded
from clsviz.errors import ModelError


class Plain:
    """The code that comes with transformers, as a `kernels.Forward`."""

    def __init__(self, loaded: Loaded, device: torch.device, *, pads: bool = True) -> None:
        """pads: whether sentences of several lengths run at once; not where padding changes them in spite of its mask.

        Then each length runs by itself.
        """
        self._loaded = loaded
        self._device = device
        self._pads = pads

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """Vectors of [CLS]: see `kernels.Forward`."""
        runs = []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            at = self._cls(run_lengths)
            vectors = [state[torch.arange(len(run_lengths), device=self._device), at] for state in states]
            runs.append(vectors if pooler_output is None else [*vectors, pooler_output])
        return [torch.cat(vectors) for vectors in zip(*runs, strict=True)]

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """Vectors of every pooling: see `kernels.Forward`."""
        runs, pooler_outputs = [], []
        for run_ids, run_lengths in self._runs(ids, lengths):
            states, pooler_output = self._states(run_ids, run_lengths)
            if len({state.shape for state in states}) > 1:
                raise ModelError(
                    f"{self._loaded.name} has layers of different shapes, so they cannot be compared. Choose another "
                    "model."
                )
            mask = self._mask(run_ids, run_lengths)[:, :, None]
            counts, at = mask.sum(1), self._cls(run_lengths)
            rows = torch.arange(len(run_lengths), device=self._device)
            poolings = [
                torch.stack(
                    [
                        state[rows, at],
                        state.masked_fill(~mask, 0).sum(1) / counts,
                        state.masked_fill(~mask, -torch.inf).amax(1),
                    ]
                )
                for state in states
            ]
            runs.append(torch.stack(poolings, dim=1))
            if pooler_output is not None:
                pooler_outputs.append(pooler_output)
        return torch.cat(runs, dim=2), torch.cat(pooler_outputs) if pooler_outputs else None

    def layer_norms(self, ids: Tensor, lengths: list[int]) -> list[nn.LayerNorm | None]:
        """The LayerNorm whose output each layer is, found by what it gives for these sentences; None where it is none.

        Layers that hand on sums, which the next one normalizes, have none.
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
        return [next((norm for norm, output in outputs if torch.equal(output, state)), None) for state in states]

    def _runs(self, ids: Tensor, lengths: list[int]) -> list[tuple[Tensor, list[int]]]:
        if self._pads:
            return [(ids, lengths)]
        return [
            (ids[group.start : group.stop, : group.length], lengths[group.start : group.stop])
            for group in groups_of(lengths)
        ]

    def _states(self, ids: Tensor, lengths: list[int]) -> tuple[list[Tensor], Tensor | None]:
        """All tokens after every layer, (n, width, hidden) each, and the pooler output."""
        frame = self._loaded.frame
        types = {"token_type_ids": self._types(ids, lengths)} if frame.has_types else {}
        output = self._loaded.model(
            input_ids=ids,
            attention_mask=self._mask(ids, lengths).long(),
            output_hidden_states=True,
            return_dict=True,
            **types,
        )
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return states, output.pooler_output if self._loaded.has_pooler else None

    def _mask(self, ids: Tensor, lengths: list[int]) -> Tensor:
        return torch.arange(ids.shape[1], device=self._device) < torch.tensor(lengths, device=self._device)[:, None]

    def _cls(self, lengths: list[int]) -> Tensor:
        """Where [CLS] is in every row: at the end, as some encoders have it, that is another place in each."""
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
