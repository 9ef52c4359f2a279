"""A fast forward pass for encoders built like BERT: the same numbers as their own, with less work around them.

- Sentences lie end to end and attention runs over groups of equal length, so nothing is padded and nothing masked.
- Query, key and value are one product, and the activation is fused into the product before it (see `linear`).
- Queries, keys and values of the first block are computed once for all tokens of the same id and position in a batch.
- For norms, only [CLS] of the last block is computed, and no keys or values: since (W q) x = q (W' x), the key's matrix
  is applied to the query instead of to every token, and the value's matrix to the attention-weighted sum of tokens.

In bfloat16 only the products with weights are computed in it: the sums passed from block to block, their LayerNorm, and
the attention of short sentences stay in float32. That costs no time, and makes the mean error of the built-in model's
norm 5 times smaller after the last layer, and over 30 times after the others, than in a model that is bfloat16
throughout.

On a core of an AMD EPYC (Zen 5) the built-in model spends 87% of its time inside the products with weights and 8% in
attention (1,024 docstring sentences, float32, each step timed alone; in bfloat16 78% and 13%), so most of what is left
to gain is in the products.
`python -m benchmarks.encoder` compares speed with the plain model, other libraries, and what the machine can do.
"""

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.attention import Block, Group, LastBlock, Repeated, groups_of
from clsviz.encoder.batches import to_device
from clsviz.encoder.layouts import LAYOUTS, Layout, find_module
from clsviz.encoder.linear import ROWS
from clsviz.encoder.memory import is_out_of_memory
from clsviz.encoder.one_position import with_one_position
from clsviz.encoder.pooling import pool
from clsviz.encoder.positions import table_of
from clsviz.encoder.special_tokens import Frame


class Blocks:
    """The forward pass of an encoder built like BERT, as a `choice.Forward`; [CLS] is the first token of a sentence."""

    pads = False

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        """Raises Unsuited where `layouts` does not describe the model."""
        layout = LAYOUTS.get(model.config.model_type)
        if layout is None:
            raise Unsuited(f"there is no fast forward pass for models of the type {model.config.model_type}")
        self._model = model
        self._layout: Layout = layout
        try:
            n_heads = int(model.config.num_attention_heads)
            modules = list(model.get_submodule(layout.blocks))
            n_blocks = int(model.config.num_hidden_layers)
            built = {module: Block(module, layout, n_heads, dtype) for module in modules}
            # ALBERT uses its few blocks repeatedly.
            self._blocks = [built[modules[i * len(modules) // n_blocks]] for i in range(n_blocks)]
            self._last = LastBlock(modules[-1], layout, n_heads)
        except (AttributeError, LookupError, TypeError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise
            raise Unsuited("its blocks are not built the way its type suggests") from error

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """With one position; [CLS] comes first in any frame: see `choice.Forward`."""
        changed = copy.copy(self)
        if one_position:
            changed._model = with_one_position(self._model)
        return changed

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """Vectors of [CLS]: see `choice.Forward`."""
        groups = groups_of(lengths)
        x, biases, first = self._begin(ids, groups)
        vectors = [x[first]]
        for block, repeated in zip(self._blocks[:-1], self._repeated(ids, groups), strict=False):
            x = block(x, groups, biases, repeated)
            vectors.append(x[first])
        vectors.append(self._last(x, vectors[-1], groups, biases))
        return vectors + self._pool(vectors[-1])

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """Vectors of every pooling: see `choice.Forward`."""
        groups = groups_of(lengths)
        x, biases, _ = self._begin(ids, groups)
        layers = [pool(_by_group(x, groups))]
        for block, repeated in zip(self._blocks, self._repeated(ids, groups), strict=False):
            x = block(x, groups, biases, repeated)
            layers.append(pool(_by_group(x, groups)))
        pooled = torch.stack(layers, dim=1)
        return pooled, next(iter(self._pool(pooled[0, -1])), None)

    def _begin(self, ids: Tensor, groups: Sequence[Group]) -> tuple[Tensor, list[Tensor | None], Tensor]:
        """The embeddings of all tokens, end to end; the biases added to attention scores; where each [CLS] is."""
        embedded = [self._embed(ids[group.start : group.stop, : group.length]) for group in groups]
        surplus = -groups[-1].last % ROWS  # pad once, for all products
        x = torch.cat([*embedded, embedded[0].new_zeros((surplus, embedded[0].shape[1]))])
        biases = [self._position_bias(group.length, x) for group in groups]
        first = torch.tensor(
            [group.first + i * group.length for group in groups for i in range(group.stop - group.start)]
        )
        return x, biases, to_device(first, x.device)

    def _repeated(self, ids: Tensor, groups: Sequence[Group]) -> Iterator[Repeated | None]:
        """Which tokens are equal when they come to each block: to the first, any of the same id and position.

        A third of the built-in model's are, so its queries, keys and values are computed once for all of them.
        """
        if ids.device.type == "cpu":  # a GPU would have to be waited for
            tokens, columns = ids.numpy(), np.arange(ids.shape[1])
            table = table_of(self._model)
            # Where a position is reserved for padding, tokens are counted without it.
            n_padding = 0 if table is None or table.padding_idx is None else (tokens == table.padding_idx).cumsum(1)
            kinds = (tokens * len(columns) + columns) * (len(columns) + 1) + n_padding
            each = np.concatenate([kinds[group.start : group.stop, : group.length].ravel() for group in groups])
            _, first, which = np.unique(each, return_index=True, return_inverse=True)
            first = np.pad(first, (0, -len(first) % ROWS))
            yield Repeated(torch.from_numpy(first), torch.from_numpy(which))
        yield from itertools.repeat(None)

    def free_originals(self) -> None:
        """Remove the model's own blocks, whose weights are copied here in another layout."""
        self._model.set_submodule(self._layout.blocks, nn.ModuleList())

    def _embed(self, ids: Tensor) -> Tensor:
        x = ids
        for name in self._layout.embeddings:
            if (module := find_module(self._model, name)) is not None:
                x = module(x)
        return x.flatten(0, 1)

    def _position_bias(self, length: int, like: Tensor) -> Tensor | None:
        """The relative position bias added to attention scores, (1, heads, length, length), if the model has one."""
        if not self._layout.position_bias:
            return None
        bias: Tensor = find_module(self._model, self._layout.position_bias)(like.new_empty((1, length, 1)))
        return bias

    def _pool(self, cls: Tensor) -> list[Tensor]:
        pooler = getattr(self._model, "pooler", None)
        if pooler is None:
            return []
        if isinstance(pooler, nn.Linear):  # ALBERT
            return [self._model.pooler_activation(pooler(cls))]
        return [pooler(cls[:, None])]


def _by_group(x: Tensor, groups: Sequence[Group]) -> list[Tensor]:
    """The tokens of x, which lie end to end, as (n, length, width) for each group."""
    return [x[group.first : group.last].view(-1, group.length, x.shape[1]) for group in groups]
