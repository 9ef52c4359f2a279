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
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.activations import ACT2FN

ROWS = 64  # row counts are padded to a multiple: oneDNN caches a kernel and workspace per count
SHORT = 64  # tokens of the longest sentences whose attention is float32 on a CPU
FUSED: dict[str, tuple[str, list[float], str]] = {
    "": ("none", [], ""),
    "gelu": ("gelu", [], "none"),
    "gelu_new": ("gelu", [], "tanh"),
    "gelu_pytorch_tanh": ("gelu", [], "tanh"),
    "relu": ("relu", [], ""),
}
"""Activations by their names in transformers, as arguments of oneDNN's product."""

LIKE_BERT = ("bert", "roberta", "xlm-roberta", "camembert", "data2vec-text", "ernie", "electra")
LAYOUTS = {**dict.fromkeys((*LIKE_BERT, "mpnet"), "encoder"), "distilbert": "transformer"}
"""The name of the encoder in a model, by the model type of the configuration.

Attention and feed-forward of its blocks are each added to their input and then normalized. A model
that gets other numbers from our pass runs by its own code.
"""


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


class Linear:
    """Linear layers as one product in `dtype`, of weights packed where that is faster.

    activation: applied to the product, by its name in transformers.
    """

    def __init__(self, layers: Sequence[Any], dtype: torch.dtype, activation: str = "") -> None:
        self._dtype = dtype
        self._weight = torch.cat([layer.weight.detach() for layer in layers]).to(dtype)
        biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
        self._bias = torch.cat(biases).to(dtype) if biases else None
        self._is_packed = self._weight.device.type == "cpu" and can_pack(dtype)
        self._fused = activation if self._is_packed and activation in FUSED else ""
        self._activation = None if activation == self._fused else ACT2FN[activation]
        if self._is_packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(self._weight)

    def __call__(self, x: Tensor) -> Tensor:
        """The product with x, (n, in) to (n, out), in `dtype`."""
        x, n = x.to(self._dtype), len(x)
        if self._is_packed:
            x = functional.pad(x, (0, 0, 0, -n % ROWS)) if n % ROWS else x
            fused = FUSED[self._fused]
            y = torch.ops.mkldnn._linear_pointwise(x, self._weight, self._bias, *fused)[:n]
        else:
            y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is None else torch.as_tensor(self._activation(y))


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
    """Attention and feed-forward, each added to its input and then normalized.

    parts: the linear layers query, key, value, output, up and down, and two LayerNorms.
    """

    def __init__(self, parts: Sequence[Any], activation: str, dtype: torch.dtype) -> None:
        output, up, down, *self._norms = parts[3:]
        self._output = Linear([output], dtype)
        self._up = Linear([up], dtype, activation)
        self._down = Linear([down], dtype)

    def feed(self, x: Tensor, attended: Tensor) -> Tensor:
        """The block's output from its input and what attention gathered, (rows, width)."""
        x = self._norms[0](self._output(attended) + x)
        return torch.as_tensor(self._norms[1](self._down(self._up(x)) + x))


class FullBlock(Block):
    """A block of all tokens."""

    def __init__(self, parts: Sequence[Any], activation: str, dtype: torch.dtype) -> None:
        super().__init__(parts, activation, dtype)
        self._qkv = Linear(parts[:3], dtype)

    def __call__(self, x: Tensor, texts: Texts) -> Tensor:
        """All tokens after the block, float32 (rows, width)."""
        qkv = self._qkv(x)
        attended = qkv.new_zeros((len(qkv), qkv.shape[1] // 3))
        runs = zip(texts.split(qkv), texts.split(attended), texts.biases, strict=True)
        for products, result, bias in runs:
            if qkv.device.type == "cpu" and products.shape[1] <= SHORT:
                products = products.float()
            heads = products.view(*products.shape[:2], 3, texts.n_heads, -1)
            query, key, value = heads.permute(2, 0, 3, 1, 4)
            bias = None if bias is None else bias.to(query.dtype)
            averages = functional.scaled_dot_product_attention(query, key, value, bias)
            result.copy_(averages.transpose(1, 2).flatten(2))
        return self.feed(x, attended)


class ClsBlock(Block):
    """A block of [CLS] alone.

    As q · (W x) = (Wᵀ q) · x, the key's matrix multiplies the query instead of every token, and the
    value's the average of tokens. The key's bias adds as much to all scores: softmax ignores it.
    """

    def __init__(self, parts: Sequence[Any], activation: str, dtype: torch.dtype) -> None:
        super().__init__(parts, activation, dtype)
        self._query, self._key, self._value = parts[:3]

    def __call__(self, x: Tensor, texts: Texts) -> list[Tensor]:
        """[CLS] after the block, float32 (n, 1, width) for each run, from all tokens before it."""
        runs, sizes = texts.split(x), [n for n, _ in texts.shapes]
        cls = torch.cat([tokens[:, 0] for tokens in runs])
        key, value = (
            part.weight.view(texts.n_heads, -1, part.in_features)
            for part in (self._key, self._value)
        )
        heads = self._query(cls).view(len(cls), texts.n_heads, -1) * key.shape[1] ** -0.5
        through_key = torch.bmm(heads.transpose(0, 1), key).transpose(0, 1)
        queries = torch.split(through_key, sizes)
        averages = []
        for query, tokens, bias in zip(queries, runs, texts.biases, strict=True):
            scores = torch.bmm(query, tokens.mT)
            weights = (scores if bias is None else scores + bias[:, :, 0]).softmax(-1)
            averages.append(torch.bmm(weights, tokens))
        values = torch.bmm(torch.cat(averages).transpose(0, 1), value.mT)
        cls = self.feed(cls, values.transpose(0, 1).flatten(1) + self._value.bias)
        return list(torch.split(cls[:, None], sizes))


class OwnPass:
    """The pass through a model of transformers, with products in `dtype`.

    mixes_lengths: True, as lengths can share a batch at no cost. Raises LookupError or
    AttributeError where the model is not built as its type suggests.
    """

    mixes_lengths = True

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self.model = model
        encoder = model.get_submodule(LAYOUTS[model.config.model_type])
        activation = getattr(model.config, "hidden_act", None) or model.config.activation
        blocks = [_parts(block) for block in encoder.layer]
        self._blocks = [FullBlock(parts, activation, dtype) for parts in blocks]
        self._cls_block = ClsBlock(blocks[-1], activation, torch.float32)
        self._n_heads = int(model.config.num_attention_heads)
        names = {name for name, _ in model.named_children()} & {"embeddings_project"}  # ELECTRA's
        self._embeddings = [model.get_submodule(name) for name in ("embeddings", *names)]
        self._bias = getattr(encoder, "compute_position_bias", None)  # MPNet's

    def layers(self, batch: Sequence[Tensor], only_cls: bool) -> Iterator[list[Tensor]]:
        """All tokens after every layer, float32 (n, length, width) for each matrix of the batch.

        batch: token ids, int64 (n, length): one matrix for each length.
        only_cls: after the last layer, tokens other than [CLS] may be left out.
        """
        x, texts = self._begin(batch)
        yield texts.split(x)
        for block in self._blocks[: -1 if only_cls else None]:
            x = block(x, texts)
            yield texts.split(x)
        if only_cls:
            yield self._cls_block(x, texts)

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


def _parts(block: nn.Module) -> list[Any]:
    """The parts of a model's block, as `Block` takes them; raises LookupError for others."""
    linears, norms = (
        [module for module in block.modules() if type(module) is kind]
        for kind in (nn.Linear, nn.LayerNorm)
    )
    if (len(linears), len(norms)) != (6, 2):
        raise LookupError(f"{len(linears)} linear layers, {len(norms)} LayerNorms")
    return [*linears, *norms]
