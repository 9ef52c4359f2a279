"""Our own forward pass for encoders built like BERT: the numbers of the model's own, sooner.

Sentences lie end to end, and attention runs over those of equal length, so nothing is padded and
nothing masked. Query, key and value are one product, and the activation is fused into the product
before it. Of the last block only [CLS] is computed, unless all tokens are wanted.

In bfloat16 only products with weights are: residual sums, LayerNorm, the attention of short
sentences and the last block of [CLS] stay in float32, which costs no time and makes the error
several times smaller.
"""

import functools
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.activations import ACT2FN

ROWS = 64
"""Rows of a packed product are a multiple: oneDNN keeps a kernel and workspace for each count."""

FUSED: dict[str, tuple[str, list[float], str]] = {
    "": ("none", [], ""),
    "gelu": ("gelu", [], "none"),
    "gelu_new": ("gelu", [], "tanh"),
    "gelu_pytorch_tanh": ("gelu", [], "tanh"),
    "relu": ("relu", [], ""),
}
"""Activations by their names in transformers, as arguments of oneDNN's product."""

SHORT = 64
"""Tokens of the longest sentences whose attention is float32 on a CPU."""


@functools.cache
def can_pack(dtype: torch.dtype) -> bool:
    """True if PyTorch has oneDNN's products with packed weights, which have no public name."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.enabled:
        return False
    ones = torch.ones(ROWS, ROWS, dtype=dtype)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(ones)
        product = torch.ops.mkldnn._linear_pointwise(ones, packed, None, *FUSED["relu"])
    except (AttributeError, RuntimeError):
        return False
    return bool((product == ROWS).all())


def has_bfloat16(device: torch.device) -> bool:
    """True if the device has products in bfloat16."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has = torch.cpu.get_capabilities()
    return can_pack(torch.bfloat16) and bool(has.get("avx512_bf16") or has.get("amx_bf16"))


class Linear(nn.Module):
    """A linear layer with its product in `dtype`, of weights packed where that is faster.

    activation: applied to the product, by its name in transformers.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype, activation: str = ""
    ) -> None:
        super().__init__()
        self._dtype = dtype
        self._weight = weight.detach().to(dtype)
        self._bias = None if bias is None else bias.detach().to(dtype)
        self._is_packed = weight.device.type == "cpu" and can_pack(dtype)
        self._fused = activation if self._is_packed and activation in FUSED else ""
        self._activation = None if activation == self._fused else ACT2FN[activation]
        if self._is_packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(self._weight)

    def forward(self, x: Tensor) -> Tensor:
        """The product with x, (…, in) to (…, out), in `dtype`."""
        x = x.to(self._dtype)
        if self._is_packed:
            rows = x.flatten(0, -2)
            n = len(rows)
            if n % ROWS:
                rows = functional.pad(rows, (0, 0, 0, -n % ROWS))
            product = torch.ops.mkldnn._linear_pointwise(
                rows, self._weight, self._bias, *FUSED[self._fused]
            )
            y = product[:n].unflatten(0, x.shape[:-1])
        else:
            y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is None else torch.as_tensor(self._activation(y))


def swap_linears(model: nn.Module) -> dict[str, nn.Module]:
    """Replace a model's linear layers in place; returns the replaced ones by name."""
    if not can_pack(torch.float32) or next(model.parameters()).device.type != "cpu":
        return {}
    linears = {name: m for name, m in model.named_modules() if type(m) is nn.Linear}
    for name, linear in linears.items():
        model.set_submodule(name, Linear(linear.weight, linear.bias, torch.float32))
    return dict(linears)


@dataclass(frozen=True)
class Layout:
    """Dotted names in a model, whose blocks have six linear layers and two LayerNorms.

    Their order is query, key, value, output of the attention, up, down; attention's norm, the last.
    blocks: their list. activation: between up and down, a setting of the configuration.
    bias: the method that gives the bias on attention scores, or "".
    """

    blocks: str = "encoder.layer"
    activation: str = "hidden_act"
    bias: str = ""


LAYOUTS = {
    "bert": Layout(),
    "roberta": Layout(),
    "xlm-roberta": Layout(),
    "camembert": Layout(),
    "data2vec-text": Layout(),
    "ernie": Layout(),
    "electra": Layout(),
    "mpnet": Layout(bias="encoder.compute_position_bias"),
    "distilbert": Layout(blocks="transformer.layer", activation="activation"),
}
"""Layouts by the model type of the configuration.

A new one fits if attention and feed-forward are each added to their input and then normalized. A
model that gets other numbers from it runs by its own code.
"""


class Parts(NamedTuple):
    """The linear layers and LayerNorms of a block in the order of `Layout`, and its activation."""

    linears: list[Any]
    norms: list[Any]
    activation: str

    @classmethod
    def of(cls, block: nn.Module, activation: str) -> Self:
        """The parts of a model's block; raises LookupError where there are others."""
        linears = [part for part in block.modules() if type(part) is nn.Linear]
        norms = [part for part in block.modules() if type(part) is nn.LayerNorm]
        if len(linears) != 6 or len(norms) != 2:
            raise LookupError(f"{len(linears)} linear layers, {len(norms)} LayerNorms")
        return cls(linears, norms, activation)


@dataclass(frozen=True, eq=False)
class Texts:
    """Sentences end to end, in runs of equally long ones.

    shapes: number and length of each run's sentences. n_heads: of the attention. biases: on each
    run's attention scores, (1, heads, length, length), or None.
    """

    shapes: list[tuple[int, int]]
    n_heads: int
    biases: list[Tensor | None]

    def split(self, x: Tensor) -> list[Tensor]:
        """The rows of all tokens, (rows, …), as (n, length, …) for each run."""
        sizes = [n * length for n, length in self.shapes]
        runs = torch.split(x[: sum(sizes)], sizes)
        return [run.view(*shape, -1) for run, shape in zip(runs, self.shapes, strict=True)]


class Block:
    """Attention and feed-forward, each added to its input and then normalized."""

    def __init__(self, parts: Parts, dtype: torch.dtype) -> None:
        output, up, down = parts.linears[3:]
        self._output = Linear(output.weight, output.bias, dtype)
        self._up = Linear(up.weight, up.bias, dtype, parts.activation)
        self._down = Linear(down.weight, down.bias, dtype)
        self._norms = parts.norms

    def feed(self, x: Tensor, attended: Tensor) -> Tensor:
        """The block's output from its input and what attention gathered, (rows, width)."""
        x = self._norms[0](self._output(attended) + x)
        return torch.as_tensor(self._norms[1](self._down(self._up(x)) + x))


class FullBlock(Block):
    """A block of all tokens."""

    def __init__(self, parts: Parts, dtype: torch.dtype) -> None:
        super().__init__(parts, dtype)
        weight = torch.cat([linear.weight for linear in parts.linears[:3]])
        bias = torch.cat([linear.bias for linear in parts.linears[:3]])
        self._qkv = Linear(weight, bias, dtype)

    def __call__(self, x: Tensor, texts: Texts) -> Tensor:
        """All tokens after the block, float32 (rows, width)."""
        qkv = self._qkv(x)
        attended = qkv.new_zeros((len(qkv), qkv.shape[1] // 3))
        runs = zip(texts.split(qkv), texts.split(attended), texts.biases, strict=True)
        for products, result, bias in runs:
            heads = products.view(*products.shape[:2], 3, texts.n_heads, -1)
            result.copy_(attend(heads.permute(2, 0, 3, 1, 4), bias).flatten(2))
        return self.feed(x, attended)


def attend(heads: Tensor, bias: Tensor | None) -> Tensor:
    """Averages of values, (n, length, heads, width), from (3, n, heads, length, width)."""
    if heads.device.type == "cpu" and heads.shape[3] <= SHORT:
        return _attend_short(heads.float(), bias)
    query, key, value = heads
    bias = None if bias is None else bias.to(query.dtype)
    return functional.scaled_dot_product_attention(query, key, value, bias).transpose(1, 2)


def _attend_short(heads: Tensor, bias: Tensor | None) -> Tensor:
    """As `attend`, by NumPy, whose products take and give matrices as they lie in memory."""
    query, key, value = heads.numpy()
    n, n_heads, length, width = query.shape
    averages = torch.empty(n, length, n_heads, width)
    scores = torch.empty(length, n, n_heads, length)  # softmax is slow over such short rows
    with np.errstate(all="ignore"):  # norms are checked in the end
        np.matmul(key, query.swapaxes(2, 3), out=scores.permute(1, 2, 0, 3).numpy())
        scores *= width**-0.5
        if bias is not None:
            scores += bias.permute(3, 0, 1, 2)
        weights = scores.softmax(0).permute(1, 2, 3, 0).numpy()
        np.matmul(weights, value, out=averages.transpose(1, 2).numpy())
    return averages


class ClsBlock(Block):
    """A block of [CLS] alone.

    As q · (W x) = (Wᵀ q) · x, the key's matrix multiplies the query instead of every token, and the
    value's the average of tokens. The key's bias adds as much to all scores: softmax ignores it.
    """

    def __init__(self, parts: Parts, dtype: torch.dtype) -> None:
        super().__init__(parts, dtype)
        self._query, key, value = parts.linears[:3]
        self._key, self._value = key.weight.detach(), value.weight.detach()
        self._value_bias = value.bias.detach()

    def __call__(self, x: Tensor, cls: Tensor, texts: Texts) -> Tensor:
        """[CLS] after the block, float32 (n, width), from all tokens and [CLS] before it."""
        key, value = (w.view(texts.n_heads, -1, w.shape[1]) for w in (self._key, self._value))
        heads = self._query(cls).view(len(cls), texts.n_heads, -1) * key.shape[1] ** -0.5
        through_key = torch.bmm(heads.transpose(0, 1), key).transpose(0, 1)
        queries = torch.split(through_key, [n for n, _ in texts.shapes])
        averages = []
        for query, tokens, bias in zip(queries, texts.split(x), texts.biases, strict=True):
            scores = torch.bmm(query, tokens.mT)
            weights = (scores if bias is None else scores + bias[:, :, 0]).softmax(-1)
            averages.append(torch.bmm(weights, tokens))
        values = torch.bmm(torch.cat(averages).transpose(0, 1), value.mT)
        return self.feed(cls, values.transpose(0, 1).flatten(1) + self._value_bias)


class OwnPass:
    """The pass through a model, as a `reduce.Forward`, with products in `dtype`.

    Raises LookupError or AttributeError where the model is not built as its type suggests.
    """

    mixes_lengths = True

    def __init__(self, model: Any, dtype: torch.dtype, flat: list[Tensor]) -> None:
        self.model, self.flat = model, flat
        layout = LAYOUTS[model.config.model_type]
        activation = getattr(model.config, layout.activation)
        blocks = [Parts.of(block, activation) for block in model.get_submodule(layout.blocks)]
        self._blocks = [FullBlock(parts, dtype) for parts in blocks]
        self._cls_block = ClsBlock(blocks[-1], torch.float32)
        self._n_heads = int(model.config.num_attention_heads)
        names = {name for name, _ in model.named_children()} & {"embeddings_project"}  # ELECTRA's
        self._embeddings = [model.get_submodule(name) for name in ("embeddings", *names)]
        owner, _, method = layout.bias.rpartition(".")
        self._bias = getattr(model.get_submodule(owner), method) if method else None

    def cls(self, batch: Sequence[Tensor]) -> list[Tensor]:
        """See `Forward`."""
        x, texts = self._begin(batch)
        cls = [_firsts(x, texts)]
        for block in self._blocks[:-1]:
            x = block(x, texts)
            cls.append(_firsts(x, texts))
        return [*cls, self._cls_block(x, cls[-1], texts)]

    def tokens(self, batch: Sequence[Tensor]) -> Iterator[list[Tensor]]:
        """See `Forward`."""
        x, texts = self._begin(batch)
        yield texts.split(x)
        for block in self._blocks:
            x = block(x, texts)
            yield texts.split(x)

    def _begin(self, batch: Sequence[Tensor]) -> tuple[Tensor, Texts]:
        """All tokens after the embeddings, float32 (rows, width), padded at the end."""
        runs = []
        for x in batch:
            for module in self._embeddings:
                x = module(x)
            runs.append(x.flatten(0, 1))
        padding = runs[0].new_zeros((-sum(map(len, runs)) % ROWS, runs[0].shape[1]))
        biases = [None if self._bias is None else self._bias(run[:1]) for run in batch]
        shapes = [(len(run), run.shape[1]) for run in batch]
        return torch.cat([*runs, padding]), Texts(shapes, self._n_heads, biases)


def _firsts(x: Tensor, texts: Texts) -> Tensor:
    """The first token of each sentence, (n, width)."""
    return torch.cat([tokens[:, 0] for tokens in texts.split(x)])
