"""The forward pass of encoders built like BERT."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from clsviz.encoder.attention import Block, Group, LastBlock, groups_of
from clsviz.encoder.batches import to_device
from clsviz.encoder.layouts import EMBEDDING_MODULES, LAYOUTS, find_module
from clsviz.encoder.linear import ROWS, Unsuited
from clsviz.encoder.memory import is_out_of_memory


class Blocks:
    """The forward pass of an encoder built like BERT; [CLS] is the first token of every sentence.

    Raises Unsuited where the model is built otherwise.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        layout = LAYOUTS.get(model.config.model_type)
        if layout is None:
            raise Unsuited(f"there is no fast forward pass for models of the type {model.config.model_type}")
        self._model = model
        try:
            n_heads = int(model.config.num_attention_heads)
            modules = list(model.get_submodule(layout.blocks))
            n_blocks = int(model.config.num_hidden_layers)
            built = {module: Block(module, layout, n_heads, dtype) for module in modules}
            # ALBERT goes through its few blocks again and again.
            self._blocks = [built[modules[i * len(modules) // n_blocks]] for i in range(n_blocks)]
            self._last = LastBlock(modules[-1], layout, n_heads)
        except (AttributeError, LookupError, TypeError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            raise Unsuited("its blocks are not built as its type says") from error

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """See `Forward`."""
        groups = groups_of(lengths)
        x, biases, first = self._begin(ids, groups)
        vectors = [x[first]]
        for block in self._blocks[:-1]:
            x = block(x, groups, biases)
            vectors.append(x[first])
        vectors.append(self._last(x, vectors[-1], groups, biases))
        return vectors + self._pool(vectors[-1])

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """See `Forward`."""
        groups = groups_of(lengths)
        x, biases, first = self._begin(ids, groups)
        states = [_poolings(x, groups, first)]
        for block in self._blocks:
            x = block(x, groups, biases)
            states.append(_poolings(x, groups, first))
        pooled = torch.stack(states, dim=1)
        return pooled, next(iter(self._pool(pooled[0, -1])), None)

    def _begin(self, ids: Tensor, groups: Sequence[Group]) -> tuple[Tensor, list[Tensor | None], Tensor]:
        """The embeddings of all tokens, end to end; what is added to attention's scores; where every [CLS] is."""
        embedded = [self._embed(ids[group.start : group.stop, : group.length]) for group in groups]
        surplus = -groups[-1].last % ROWS  # once for all products
        x = torch.cat([*embedded, embedded[0].new_zeros((surplus, embedded[0].shape[1]))])
        biases = [self._position_bias(group.length, x) for group in groups]
        first = torch.tensor(
            [group.first + i * group.length for group in groups for i in range(group.stop - group.start)]
        )
        return x, biases, to_device(first, x.device)

    def take_over(self) -> None:
        """Free the model of the blocks whose weights are here in another layout."""
        self._model.set_submodule(LAYOUTS[self._model.config.model_type].blocks, nn.ModuleList())

    def _embed(self, ids: Tensor) -> Tensor:
        x = ids
        for name in EMBEDDING_MODULES:
            if (module := find_module(self._model, name)) is not None:
                x = module(x)
        return x.flatten(0, 1)

    def _position_bias(self, length: int, like: Tensor) -> Tensor | None:
        """What is added to the scores of attention, (1, heads, length, length): only MPNet has it."""
        compute = getattr(getattr(self._model, "encoder", None), "compute_position_bias", None)
        if compute is None:
            return None
        bias: Tensor = compute(like.new_empty((1, length, 1)))
        return bias

    def _pool(self, cls: Tensor) -> list[Tensor]:
        pooler = getattr(self._model, "pooler", None)
        if pooler is None:
            return []
        if isinstance(pooler, nn.Linear):  # ALBERT
            return [self._model.pooler_activation(pooler(cls))]
        return [pooler(cls[:, None])]


def _poolings(x: Tensor, groups: Sequence[Group], first: Tensor) -> Tensor:
    """The poolings of the sentences whose tokens lie end to end in x, (3, n, hidden)."""
    tokens = [x[group.first : group.last].view(-1, group.length, x.shape[1]) for group in groups]
    means = torch.cat([run.mean(1) for run in tokens])
    maxima = torch.cat([run.amax(1) for run in tokens])
    return torch.stack([x[first], means, maxima])
