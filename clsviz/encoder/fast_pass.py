"""A fast forward pass for encoders built like BERT: the same numbers as their own, with less work around them.

- Sentences lie end to end and attention runs over groups of equal length, so nothing is padded and nothing masked.
- Query, key and value are one product, and the activation is fused into the product before it (see `linear`).
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
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clsviz.encoder.batches import is_out_of_memory, pool, to_device
from clsviz.encoder.linear import ROWS, Linear, activation_name, linear_of
from clsviz.encoder.tokenize import Frame

_RELATIVE = re.compile(r"rel_embeddings|relative_attention_bias|relative_position|distance_embedding|r_r_bias")


class UnsupportedModel(Exception):  # noqa: N818  (not an error: something else is tried)
    """Our own code does not apply to a model; the message says why, as part of a sentence."""


@dataclass(frozen=True)
class Layout:
    """Where a model keeps its parts, as dotted paths.

    blocks: the list of blocks, below the model. embeddings: the modules that lead to the first block, in order, below
    the model; those that a model does not have are skipped. position_bias: a function that computes the bias on
    attention scores, below the model, or "". All others: below a block.
    """

    blocks: str
    query: str
    key: str
    value: str
    output: str
    attention_norm: str
    up: str
    activation: str
    down: str
    norm: str
    embeddings: tuple[str, ...] = ("embeddings",)
    position_bias: str = ""


_BERT = Layout(
    blocks="encoder.layer",
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    output="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    activation="intermediate.intermediate_act_fn",
    down="output.dense",
    norm="output.LayerNorm",
)


LAYOUTS = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert"), _BERT),
    "electra": replace(_BERT, embeddings=("embeddings", "embeddings_project")),
    "mpnet": replace(
        _BERT,
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        attention_norm="attention.LayerNorm",
        position_bias="encoder.compute_position_bias",
    ),
    "distilbert": Layout(
        blocks="transformer.layer",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        output="attention.out_lin",
        attention_norm="sa_layer_norm",
        up="ffn.lin1",
        activation="ffn.activation",
        down="ffn.lin2",
        norm="output_layer_norm",
    ),
    "albert": Layout(
        blocks="encoder.albert_layer_groups",
        query="albert_layers.0.attention.query",
        key="albert_layers.0.attention.key",
        value="albert_layers.0.attention.value",
        output="albert_layers.0.attention.dense",
        attention_norm="albert_layers.0.attention.LayerNorm",
        up="albert_layers.0.ffn",
        activation="albert_layers.0.activation",
        down="albert_layers.0.ffn_output",
        norm="albert_layers.0.full_layer_layer_norm",
        embeddings=("embeddings", "encoder.embedding_hidden_mapping_in"),
    ),
}
"""Where each architecture keeps the parts of a block, by the `model_type` of its configuration.

To add one, print the model and fill in the paths of its modules. It fits if its blocks are built like BERT's:
attention, then feed-forward, each added to its input and then normalized (post-LayerNorm), with absolute positions in
the embeddings or a bias on attention scores. No other file changes: `verify` compares the result with the model's own
forward pass whenever such a model is loaded, and falls back to the latter if they differ. Add the architecture to
`tests/support/tiny.py` as well, so that it is tested.
"""


def find_module(module: Any, path: str) -> Any:
    """What lies at a dotted path below `module` (a module or a function), or None."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def position_table(model: Any) -> nn.Embedding | None:
    """The position vectors that are added to the tokens of a sentence, if the model has them."""
    table: nn.Embedding | None = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    return table


def sole_position_table(model: Any) -> nn.Embedding:
    """As `position_table`; raises UnsupportedModel where the model knows positions in another way, or two ways."""
    table = position_table(model)
    if table is None or other_positions(model):
        raise UnsupportedModel("it knows the positions of tokens in another way than by position vectors")
    return table


def first_position(table: nn.Embedding) -> int:
    """The position of the first token; RoBERTa and its kin reserve those up to that of padding."""
    return 0 if table.padding_idx is None else int(table.padding_idx) + 1


def other_positions(model: Any) -> list[str]:
    """How the model knows the positions of tokens, other than by position vectors, in words."""
    kinds = []
    if any(_RELATIVE.search(name) for name, _ in model.named_parameters()):
        kinds.append("distances between tokens")
    if any("rotary" in name for name, _ in model.named_modules()):
        kinds.append("rotation")
    return kinds


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

    def __call__(self, x: Tensor, groups: Sequence[Group], biases: Sequence[Tensor | None]) -> Tensor:
        """All tokens (n, width) after the block; biases on attention scores as in `FastPass`, one per group."""
        qkv = self._qkv(x)
        attended = qkv.new_empty((len(qkv), qkv.shape[1] // 3))
        attended[groups[-1].last :] = 0
        for group, bias in zip(groups, biases, strict=True):
            shape = (group.stop - group.start, group.length, -1, self._n_heads, self._width)
            heads = attended[group.first : group.last].view(shape)[:, :, 0]
            attend(qkv[group.first : group.last].view(shape), bias, heads)
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


def attend(qkv: Tensor, bias: Tensor | None, heads: Tensor) -> None:
    """Write what every head of every sentence gathers into `heads`, (n, length, heads, width).

    qkv: queries, keys and values, (n, length, 3, heads, width). bias: added to the scores, (1, heads, length, length),
    or None.
    """
    if qkv.device.type != "cpu" or qkv.shape[1] > LONGEST_PLAIN:
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mask = None if bias is None else bias.to(qkv.dtype)
        gathered = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        heads.copy_(gathered.transpose(1, 2))
        return
    n_at_once = max(1, _AT_ONCE // qkv[0].numel())
    for some, heads_of_some in zip(torch.split(qkv, n_at_once), torch.split(heads, n_at_once), strict=True):
        heads_of_some.copy_(_attend_plainly(some, bias))


def _attend_plainly(qkv: Tensor, bias: Tensor | None) -> Tensor:
    """What `attend` writes, float32, by NumPy’s products, which unlike PyTorch’s take and give matrices as they lie."""
    query, key, value = qkv.to(torch.float32, copy=True).permute(2, 0, 3, 1, 4).numpy()
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
    for length, run in itertools.groupby(lengths):
        n = len(list(run))
        groups.append(Group(start, start + n, first, first + n * length, length))
        start, first = start + n, first + n * length
    return groups


class FastPass:
    """The forward pass of an encoder built like BERT, as a `verify.ForwardPass`; [CLS] comes first in a sentence."""

    pads = False

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        """Raises UnsupportedModel where `layouts` does not describe the model."""
        layout = LAYOUTS.get(model.config.model_type)
        if layout is None:
            raise UnsupportedModel(f"there is no fast forward pass for models of the type {model.config.model_type}")
        self._model, self._layout = model, layout
        self._embeddings = [part for name in layout.embeddings if (part := find_module(model, name)) is not None]
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
            raise UnsupportedModel("its blocks are not built the way its type suggests") from error

    def altered(self, frame: Frame, *, one_position: bool) -> Self:
        """With the position of the first token for all; [CLS] comes first in any frame: see `verify.ForwardPass`."""
        changed = copy.copy(self)
        if one_position:
            table = sole_position_table(self._model)
            first, *others = self._embeddings
            same = table.weight[first_position(table)].detach().repeat(table.num_embeddings, 1)
            # A copy that shares all parameters, of which one is then replaced.
            first = copy.deepcopy(first, {id(parameter): parameter for parameter in first.parameters()})
            first.position_embeddings = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
                same, padding_idx=table.padding_idx
            )
            changed._embeddings = [first, *others]
        return changed

    def free_originals(self) -> None:
        """Remove the model's own blocks, whose weights are copied here in another layout."""
        self._model.set_submodule(self._layout.blocks, nn.ModuleList())

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """Vectors of [CLS]: see `verify.ForwardPass`."""
        groups = groups_of(lengths)
        x, biases = self._begin(ids, groups)
        starts = [group.first + i * group.length for group in groups for i in range(group.stop - group.start)]
        first = to_device(torch.tensor(starts), x.device)
        vectors = [x[first]]
        for block in self._blocks[:-1]:
            x = block(x, groups, biases)
            vectors.append(x[first])
        vectors.append(self._last(x, vectors[-1], groups, biases))
        return vectors + self._pooler_output(vectors[-1])

    def pooled(self, ids: Tensor, lengths: list[int], last: list[Tensor] | None = None) -> tuple[Tensor, Tensor | None]:
        """Vectors of every pooling: see `verify.ForwardPass`."""
        groups = groups_of(lengths)

        def by_group(x: Tensor) -> list[Tensor]:
            return [x[group.first : group.last].view(-1, group.length, x.shape[1]) for group in groups]

        x, biases = self._begin(ids, groups)
        layers = [pool(by_group(x))]
        for block in self._blocks:
            x = block(x, groups, biases)
            layers.append(pool(by_group(x)))
        if last is not None:
            last += by_group(x)
        pooled = torch.stack(layers, dim=1)
        return pooled, next(iter(self._pooler_output(pooled[0, -1])), None)

    def _begin(self, ids: Tensor, groups: Sequence[Group]) -> tuple[Tensor, list[Tensor | None]]:
        """The embeddings of all tokens, end to end, and the bias of each group that is added to attention scores.

        A bias depends on the distance between tokens: (1, heads, length, length), or None where the model has none.
        """
        embedded = []
        for group in groups:
            x = ids[group.start : group.stop, : group.length]
            for module in self._embeddings:
                x = module(x)
            embedded.append(x.flatten(0, 1))
        surplus = -groups[-1].last % ROWS  # pad once, for all products
        x = torch.cat([*embedded, embedded[0].new_zeros((surplus, embedded[0].shape[1]))])
        if not self._layout.position_bias:
            return x, [None] * len(groups)
        compute_bias = find_module(self._model, self._layout.position_bias)
        return x, [compute_bias(x.new_empty((1, group.length, 1))) for group in groups]

    def _pooler_output(self, cls: Tensor) -> list[Tensor]:
        pooler = getattr(self._model, "pooler", None)
        if pooler is None:
            return []
        if isinstance(pooler, nn.Linear):  # ALBERT
            return [self._model.pooler_activation(pooler(cls))]
        return [pooler(cls[:, None])]
