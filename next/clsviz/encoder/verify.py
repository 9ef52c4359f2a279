"""A model's own forward pass."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clsviz.encoder.tokens import Frame


class ModelPass:
    """The forward pass that comes with transformers, as a `reduce.Forward`.

    Each matrix of a batch runs by itself, with neither padding nor mask: some models let padding
    change a sentence in spite of its mask.
    """

    mixes_lengths = False

    def __init__(self, model: Any, frame: Frame) -> None:
        self.model = model
        self._frame = frame

    def cls(self, batch: Sequence[Tensor]) -> list[Tensor]:
        """See `Forward`."""
        return [torch.cat([tokens[:, 0] for tokens in layer]) for layer in self.tokens(batch)]

    def tokens(self, batch: Sequence[Tensor]) -> list[list[Tensor]]:
        """See `Forward`."""
        return [list(layer) for layer in zip(*map(self._states, batch), strict=True)]

    def pool(self, cls: Tensor) -> Tensor | None:
        """See `Forward`."""
        pooler: Any = getattr(self.model, "pooler", None)
        if pooler is None:
            return None
        if isinstance(pooler, nn.Linear):  # ALBERT's and BigBird's have their activation elsewhere
            activation = getattr(self.model, "pooler_activation", None) or self.model.activation
            return torch.as_tensor(activation(pooler(cls)))
        return torch.as_tensor(pooler(cls[:, None]))

    def _states(self, ids: Tensor) -> list[Tensor]:
        """Hidden states of all tokens after every layer, (n, length, width)."""
        length = ids.shape[1]
        self._keep_attention(length)
        types = {}
        if self._frame.has_types:
            row = torch.tensor(self._frame.token_types(length), device=ids.device)
            types["token_type_ids"] = row.expand_as(ids)
        output = self.model(input_ids=ids, output_hidden_states=True, return_dict=True, **types)
        states = [*output.hidden_states[:-1], output.last_hidden_state]
        return [state[:, :length] for state in states]  # BigBird pads

    def _keep_attention(self, length: int) -> None:
        """BigBird leaves sparse attention for good after a short sentence: set it for each."""
        config = self.model.config
        if getattr(config, "attention_type", "") == "block_sparse":
            needed = (5 + 2 * config.num_random_blocks) * config.block_size
            kind = "block_sparse" if length > needed else "original_full"
            self.model.set_attention_type(kind)
