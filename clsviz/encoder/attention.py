"""The blocks of an encoder, over sentences that lie end to end in groups of equal length."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from clsviz.encoder.layouts import Layout, find_module
from clsviz.encoder.linear import Linear, activation_name, linear_of

LONGEST_PLAIN = 64
"""Tokens of the longest sentences whose attention is plain products on a CPU, in float32: there PyTorch's own takes
longer around its products than in them."""


_AT_ONCE = 2**18
"""Numbers in the queries, keys and values of the sentences that such products are of: about as many as stay in a core’s
cache from one step to the next."""


@dataclass(frozen=True)
class Group:
    """Sentences of one length: `start` to `stop` of all sentences, `first` to `last` of all tokens, ends excluded."""

    start: int
    stop: int
    first: int
    last: int
    length: int


@dataclass(frozen=True)
class Repeated:
    """Which of n tokens are equal: `first` (m,) is where each different one is, `which` (n,) which of them each is."""

    first: Tensor
    which: Tensor


class Block:
    """One block: attention and feed-forward, each added to its input and then normalized."""

    def __init__(self, module: Any, layout: Layout, n_heads: int, dtype: torch.dtype) -> None:
        query, key, value = (module.get_submodule(name) for name in (layout.query, layout.key, layout.value))
        self._n_heads, self._width = n_heads, query.weight.shape[0] // n_heads
        self._qkv = Linear(
            torch.cat([query.weight, key.weight, value.weight]), torch.cat([query.bias, key.bias, value.bias]), dtype
        )
        self._output = linear_of(module, layout.output, dtype)
        self._attention_norm = module.get_submodule(layout.attention_norm)
        self._feed_forward = _FeedForward(module, layout, dtype)

    def __call__(
        self,
        x: Tensor,
        groups: Sequence[Group],
        biases: Sequence[Tensor | None],
        repeated: Repeated | None = None,
    ) -> Tensor:
        """All tokens (n, width) after the block; biases on attention scores as in `Blocks`, one per group.

        repeated: which tokens are equal, where that is known.
        """
        qkv = self._qkv(x if repeated is None else x[repeated.first])
        attended = qkv.new_empty((len(x), qkv.shape[1] // 3))
        attended[groups[-1].last :] = 0
        for group, bias in zip(groups, biases, strict=True):
            shape = (group.stop - group.start, group.length, -1, self._n_heads, self._width)
            heads = attended[group.first : group.last].view(shape)[:, :, 0]
            if repeated is None:
                attend(qkv[group.first : group.last].view(shape), bias, heads)
            else:
                rows = repeated.which[group.first : group.last].view(shape[:2])
                attend(qkv.view(-1, 3, *shape[3:]), bias, heads, rows)
        return self._feed_forward(self._attention_norm(self._output(attended) + x))


class LastBlock:
    """The last block, for [CLS] alone; in float32, as so little work is left that the precision costs nothing."""

    def __init__(self, module: Any, layout: Layout, n_heads: int) -> None:
        query, key, value = (module.get_submodule(name) for name in (layout.query, layout.key, layout.value))
        self._query = query
        width = query.weight.shape[0] // n_heads
        self._key = key.weight.detach().view(n_heads, width, -1) * width**-0.5
        self._value = value.weight.detach().view(n_heads, width, -1).transpose(1, 2).contiguous()
        self._value_bias = value.bias.detach()
        self._output = linear_of(module, layout.output, torch.float32)
        self._attention_norm = module.get_submodule(layout.attention_norm)
        self._feed_forward = _FeedForward(module, layout, torch.float32)

    def __call__(self, x: Tensor, cls: Tensor, groups: Sequence[Group], biases: Sequence[Tensor | None]) -> Tensor:
        """[CLS] after the block, (n, width), from all tokens and those of [CLS], (n, width)."""
        n_heads, width, hidden = self._key.shape
        query = self._query(cls).view(-1, n_heads, width).transpose(0, 1)
        # The key's bias would add the same to all scores of a sentence, which softmax ignores.
        through_key = torch.bmm(query, self._key).transpose(0, 1)
        means = []
        for group, bias in zip(groups, biases, strict=True):
            tokens = x[group.first : group.last].view(-1, group.length, hidden)
            scores = torch.bmm(through_key[group.start : group.stop], tokens.transpose(1, 2))
            if bias is not None:
                scores = scores + bias[:, :, 0]
            means.append(torch.bmm(scores.softmax(-1), tokens))
        through_value = torch.bmm(torch.cat(means).transpose(0, 1), self._value).transpose(0, 1)
        attended = through_value.flatten(1) + self._value_bias  # added once, as attention weights add up to 1
        return self._feed_forward(self._attention_norm(self._output(attended) + cls))


class _FeedForward:
    """The second half of a block."""

    def __init__(self, module: Any, layout: Layout, dtype: torch.dtype) -> None:
        self._up = linear_of(module, layout.up, dtype)
        activation = find_module(module, layout.activation)
        self._fused = activation_name(activation)
        self._activation = None if self._fused else activation
        self._down = linear_of(module, layout.down, dtype)
        self._norm = module.get_submodule(layout.norm)

    def __call__(self, x: Tensor) -> Tensor:
        inner = self._up(x, self._fused)
        if self._activation is not None:
            inner = self._activation(inner)
        result: Tensor = self._norm(self._down(inner) + x)
        return result


def attend(qkv: Tensor, bias: Tensor | None, heads: Tensor, rows: Tensor | None = None) -> None:
    """Write what every head of every sentence gathers into `heads`, (n, length, heads, width).

    qkv: queries, keys and values, (n, length, 3, heads, width). bias: added to the scores, (1, heads, length, length),
    or None. rows: which of m different ones each token has, (n, length); qkv is then (m, 3, heads, width).
    """
    n, length = heads.shape[:2]
    if qkv.device.type != "cpu" or length > LONGEST_PLAIN:
        query, key, value = (qkv if rows is None else qkv[rows]).permute(2, 0, 3, 1, 4)
        mask = None if bias is None else bias.to(qkv.dtype)
        gathered = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        heads.copy_(gathered.transpose(1, 2))
        return
    n_at_once = max(1, _AT_ONCE // (3 * heads[0].numel()))
    for start in range(0, n, n_at_once):
        some = slice(start, start + n_at_once)
        if rows is None:
            tokens = qkv[some].to(torch.float32, copy=True)
        else:
            tokens = qkv.index_select(0, rows[some].flatten()).float().view(-1, length, *qkv.shape[1:])
        heads[some].copy_(_attend_plainly(tokens, bias))


def _attend_plainly(qkv: Tensor, bias: Tensor | None) -> Tensor:
    """What `attend` writes, float32, by NumPy’s products, which unlike PyTorch’s take and give matrices as they lie."""
    query, key, value = qkv.permute(2, 0, 3, 1, 4).numpy()
    n, n_heads, length, width = query.shape
    # The scores lie by key first, as softmax is slow over rows as short as these, and fast over columns far apart.
    scores = torch.empty((length, n, n_heads, length))
    gathered = torch.empty((n, length, n_heads, width))
    with np.errstate(all="ignore"):  # the vectors are checked in the end
        np.matmul(key, query.swapaxes(2, 3), out=scores.permute(1, 2, 0, 3).numpy())
        scores *= width**-0.5
        if bias is not None:
            scores += bias.permute(3, 0, 1, 2)
        weights = scores.softmax(0).permute(1, 2, 3, 0).numpy()
        np.matmul(weights, value, out=gathered.transpose(1, 2).numpy())
    return gathered


def groups_of(lengths: list[int]) -> list[Group]:
    """The runs of equal consecutive lengths."""
    groups: list[Group] = []
    start = first = 0
    for length, run in groupby(lengths):
        n = len(list(run))
        groups.append(Group(start, start + n, first, first + n * length, length))
        start, first = start + n, first + n * length
    return groups
