"""The fast ways through a model: the same numbers as its own forward pass, with less work around them.

`accelerate` takes any Hugging Face encoder and gives back the fastest forward pass that reproduces the model's own:

1. `Blocks`, for BERT and the models built like it: one loop over the blocks as plain tensors.
   - Sentences lie end to end and attention runs over groups of equal length, so nothing is padded and nothing masked.
   - Query, key and value are one product; GELU is fused into the product before it.
   - Of the last block only [CLS] is computed. Its keys and values never are: as (W q) x = q (W' x), the query goes
     through the key's matrix instead of every token, and the sum of the tokens, weighted by attention, through the
     value's.
2. `swap_linears`, for any other: the model's own code, with its linear layers replaced by `Linear`.
3. The model as it is, where neither reproduces it.

`Linear` keeps its weight in the order of bytes that oneDNN multiplies fastest, as PyTorch's compiler does when it
freezes a model. In bfloat16 only the products are computed in it: the sums that pass from block to block, and their
LayerNorm, stay in float32. That costs no time, and makes the mean error of the built-in model's norm 5 times smaller
after the last layer, and over 30 times after the others, than in a model that is bfloat16 throughout.

`python -m benchmarks.encoder` measures the gain beside the plain model and others, and how far it is from what the
machine can do. On two cores of an AMD EPYC (Zen 4) the built-in model spent 87% of its time inside the products and 7%
in attention (PyTorch's profiler, 1,024 docstring sentences, float32): what is left to gain is in the products.
"""

import functools
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional


class Forward(Protocol):
    """A way through a model, for token ids, int64 (n, width), padded on the right, longest first, and their lengths."""

    def __call__(self, ids: Tensor, lengths: list[int]) -> list[Tensor]:
        """The vectors of [CLS] after every layer, and the pooler output if there is one: floating-point (n, hidden)."""

    def pooled(self, ids: Tensor, lengths: list[int]) -> tuple[Tensor, Tensor | None]:
        """All of `measurements.POOLED` after every layer, (3, n_layers + 1, n, hidden), and the pooler output."""


TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""By how much of itself a norm may differ from the model's own for a way to count as reproducing it."""

ROWS = 64
"""The number of rows in a packed product is a multiple of this, so that there are few different ones."""


def accelerate(
    model: Any, plain: Forward, reference: Forward, probe: tuple[Tensor, list[int]], dtype: torch.dtype, obstacle: str
) -> tuple[Forward, str]:
    """The fastest forward pass that reproduces the model's own, and why it is not the fastest kind ("" where it is).

    plain: the model's own forward pass. reference: the same, so run that nothing but a sentence itself can change its
    vectors: what a way gives for `probe` is compared with it. obstacle: why `Blocks` cannot be used, if so. `model` is
    changed: what is computed otherwise is taken from it. Raises Unsuited where there is no way in `dtype`, and what
    PyTorch raises when memory runs out.
    """
    expected = norms_of(reference(*probe))
    try:
        if obstacle:
            raise Unsuited(obstacle)
        blocks = Blocks(model, dtype)
        if not (_agrees(blocks, probe, expected, dtype) and _pools_alike(blocks, reference, probe, dtype)):
            raise Unsuited("the fast forward pass does not reproduce this model")
    except Unsuited as unsuited:
        reason = str(unsuited)
    else:
        blocks.take_over()
        return blocks, ""
    replaced = swap_linears(model, dtype)
    if replaced and _agrees(plain, probe, expected, dtype):
        return plain, f"{reason}; its linear layers are replaced by faster ones"
    for name, module in replaced.items():
        model.set_submodule(name, module)
    if dtype != torch.float32:
        raise Unsuited(f"{reason}, and its linear layers cannot be replaced")
    return plain, f"{reason}; it runs as it is"


class Unsuited(Exception):  # noqa: N818  (no error: another way is taken)
    """A model to which a transformation does not apply; the message says why."""


class Linear(nn.Module):
    """A linear layer whose product is computed in `dtype`, from a weight laid out for this machine.

    weight: (out, in); bias: (out) or None. The result is in the precision of the product.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        weight = weight.detach().to(dtype)
        self._dtype = dtype
        self._packed = weight.device.type == "cpu" and can_pack(dtype)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight) if self._packed else weight
        self._bias = None if bias is None else bias.detach().to(dtype)

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        """The product of x (…, in) with the weight, (…, out), through the activation of that name in `_ACTIVATIONS`."""
        x = x.to(self._dtype)
        if not self._packed:
            y = functional.linear(x, self._weight, self._bias)
            return _ACTIVATIONS[activation].function(y) if activation else y
        fused = _ACTIVATIONS[activation].fused if activation else ("none", [], "")
        rows = x.reshape(-1, x.shape[-1])
        n = len(rows)
        if n % ROWS:  # oneDNN keeps a kernel, with its workspace, for every number of rows it has met
            rows = functional.pad(rows, (0, 0, 0, -n % ROWS))
        result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, *fused)
        return result[:n].view(*x.shape[:-1], -1)


class _Swapped(Linear):
    """A `Linear` in the place of a model's own: it takes and gives what the rest of the model computes in."""

    def forward(self, x: Tensor, activation: str = "") -> Tensor:
        return super().forward(x, activation).to(x.dtype)


def swap_linears(model: Any, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Replace the linear layers of `model` in place, and give back those that were there, by name."""
    if dtype == torch.float32 and not (model.device.type == "cpu" and can_pack(dtype)):
        return {}  # nothing to gain
    linears = {name: module for name, module in model.named_modules() if type(module) is nn.Linear}
    for name, linear in linears.items():
        model.set_submodule(name, _Swapped(linear.weight, linear.bias, dtype))
    return dict(linears)


@functools.cache
def can_pack(dtype: torch.dtype) -> bool:
    """Whether this machine's PyTorch has oneDNN's packed linear layers in `dtype`, and gains by them."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False  # elsewhere the gain was not measured
    try:
        x = torch.ones((4, 16), dtype=dtype)
        weight = torch.ops.mkldnn._reorder_linear_weight(x)
        return bool((torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "") == 16).all())
    except (AttributeError, RuntimeError):
        return False


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether `device` computes products of bfloat16 faster than of float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "mps":
        return True
    capabilities = torch.cpu.get_capabilities()
    return can_pack(torch.bfloat16) and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


@dataclass(frozen=True)
class _Activation:
    function: Callable[[Tensor], Tensor]
    fused: tuple[str, list[float], str]
    """What oneDNN calls it: name, parameters, variant."""


_ACTIVATIONS = {
    "gelu": _Activation(functional.gelu, ("gelu", [], "none")),
    "gelu-tanh": _Activation(functools.partial(functional.gelu, approximate="tanh"), ("gelu", [], "tanh")),
    "relu": _Activation(functional.relu, ("relu", [], "")),
}


@dataclass(frozen=True)
class _Layout:
    """Where a model keeps the parts of a block: paths below the model, or below the block."""

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


_BERT = _Layout(
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
_LAYOUTS = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _BERT),
    "mpnet": replace(
        _BERT,
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        attention_norm="attention.LayerNorm",
    ),
    "distilbert": _Layout(
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
    "albert": _Layout(
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
    ),
}
"""By the model type of the configuration: encoders whose blocks normalize after each sum, as BERT's."""

_EMBEDDINGS = ("embeddings", "embeddings_project", "encoder.embedding_hidden_mapping_in")
"""What leads to the first block, where a model has it."""


@dataclass(frozen=True)
class Group:
    """Sentences of one length, `start` to `stop` of all sentences, `first` to `last` of all tokens."""

    start: int
    stop: int
    first: int
    last: int
    length: int


class Blocks:
    """The forward pass of an encoder built like BERT; [CLS] is the first token of every sentence.

    Raises Unsuited where the model is built otherwise.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        layout = _LAYOUTS.get(model.config.model_type)
        if layout is None:
            raise Unsuited(f"there is no fast forward pass for models of the type {model.config.model_type}")
        self._model = model
        try:
            n_heads = int(model.config.num_attention_heads)
            modules = list(model.get_submodule(layout.blocks))
            n_blocks = int(model.config.num_hidden_layers)
            built = {module: _Block(module, layout, n_heads, dtype) for module in modules}
            # ALBERT goes through its few blocks again and again.
            self._blocks = [built[modules[i * len(modules) // n_blocks]] for i in range(n_blocks)]
            self._last = _LastBlock(modules[-1], layout, n_heads)
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
        self._model.set_submodule(_LAYOUTS[self._model.config.model_type].blocks, nn.ModuleList())

    def _embed(self, ids: Tensor) -> Tensor:
        x = ids
        for name in _EMBEDDINGS:
            if (module := _find(self._model, name)) is not None:
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


class _Block:
    """One block: attention and feed-forward, each added to what it was given, and normalized."""

    def __init__(self, module: Any, layout: _Layout, n_heads: int, dtype: torch.dtype) -> None:
        query, key, value = (module.get_submodule(name) for name in (layout.query, layout.key, layout.value))
        self._n_heads, self._width = n_heads, query.weight.shape[0] // n_heads
        self._qkv = Linear(
            torch.cat([query.weight, key.weight, value.weight]), torch.cat([query.bias, key.bias, value.bias]), dtype
        )
        self._output = _linear(module, layout.output, dtype)
        self._attention_norm = module.get_submodule(layout.attention_norm)
        self._feed_forward = _FeedForward(module, layout, dtype)

    def __call__(self, x: Tensor, groups: Sequence[Group], biases: Sequence[Tensor | None]) -> Tensor:
        qkv = self._qkv(x)
        attended = qkv.new_zeros((len(qkv), qkv.shape[1] // 3))
        for group, bias in zip(groups, biases, strict=True):
            shape = (group.stop - group.start, group.length, -1, self._n_heads, self._width)
            query, key, value = qkv[group.first : group.last].view(shape).permute(2, 0, 3, 1, 4)
            mask = None if bias is None else bias.to(qkv.dtype)
            heads = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            attended[group.first : group.last].view(shape)[:, :, 0].copy_(heads.transpose(1, 2))
        return self._feed_forward(self._attention_norm(self._output(attended) + x))


class _LastBlock:
    """The last block for [CLS] alone, in float32: with so little left to compute, that costs nothing."""

    def __init__(self, module: Any, layout: _Layout, n_heads: int) -> None:
        query, key, value = (module.get_submodule(name) for name in (layout.query, layout.key, layout.value))
        self._query = query
        width = query.weight.shape[0] // n_heads
        self._key = key.weight.detach().view(n_heads, width, -1) * width**-0.5
        self._value = value.weight.detach().view(n_heads, width, -1).transpose(1, 2).contiguous()
        self._value_bias = value.bias.detach()
        self._output = _linear(module, layout.output, torch.float32)
        self._attention_norm = module.get_submodule(layout.attention_norm)
        self._feed_forward = _FeedForward(module, layout, torch.float32)

    def __call__(self, x: Tensor, cls: Tensor, groups: Sequence[Group], biases: Sequence[Tensor | None]) -> Tensor:
        """From all tokens and those of [CLS] (n, hidden) to [CLS] after the block."""
        n_heads, width, hidden = self._key.shape
        query = self._query(cls).view(-1, n_heads, width).transpose(0, 1)
        # A key's bias would add the same to all of a sentence's scores, which softmax does not see.
        through_key = torch.bmm(query, self._key).transpose(0, 1)
        means = []
        for group, bias in zip(groups, biases, strict=True):
            tokens = x[group.first : group.last].view(-1, group.length, hidden)
            scores = torch.bmm(through_key[group.start : group.stop], tokens.transpose(1, 2))
            if bias is not None:
                scores = scores + bias[:, :, 0]
            means.append(torch.bmm(scores.softmax(-1), tokens))
        through_value = torch.bmm(torch.cat(means).transpose(0, 1), self._value).transpose(0, 1)
        attended = through_value.flatten(1) + self._value_bias  # as a mean's weights add up to 1
        return self._feed_forward(self._attention_norm(self._output(attended) + cls))


class _FeedForward:
    """The second half of a block."""

    def __init__(self, module: Any, layout: _Layout, dtype: torch.dtype) -> None:
        self._up = _linear(module, layout.up, dtype)
        activation = _find(module, layout.activation)
        self._fused = _name_of(activation)
        self._activation = None if self._fused else activation
        self._down = _linear(module, layout.down, dtype)
        self._norm = module.get_submodule(layout.norm)

    def __call__(self, x: Tensor) -> Tensor:
        inner = self._up(x, self._fused)
        if self._activation is not None:
            inner = self._activation(inner)
        result: Tensor = self._norm(self._down(inner) + x)
        return result


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy on the device, through memory that a card reads by itself: nobody waits for what it is at."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def is_out_of_memory(error: Exception) -> bool:
    """CUDA has a type of its own for it, but not in all places; others raise a RuntimeError that says so."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
        words in str(error).lower()
        for words in ("out of memory", "t allocate memory", "not enough memory", "alloc_failed")
    )


def _linear(module: Any, name: str, dtype: torch.dtype) -> Linear:
    linear = module.get_submodule(name)
    return Linear(linear.weight, linear.bias, dtype)


def _find(module: Any, path: str) -> Any:
    """What lies at a dotted path below `module`, a function perhaps, or None."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def _name_of(activation: Callable[[Tensor], Tensor]) -> str:
    """The name of an activation among those that can be fused, found by what it does, or ""."""
    x = torch.cat([torch.linspace(-6, 6, 241), torch.linspace(-60, 60, 121)])  # some are cut off far out
    expected = activation(x)
    for name, known in _ACTIVATIONS.items():
        if torch.allclose(known.function(x), expected, rtol=1e-6, atol=1e-6):
            return name
    return ""


def groups_of(lengths: list[int]) -> list[Group]:
    """The runs of equal lengths, in their order."""
    groups: list[Group] = []
    start = first = 0
    for length, run in groupby(lengths):
        n = len(list(run))
        groups.append(Group(start, start + n, first, first + n * length, length))
        start, first = start + n, first + n * length
    return groups


def _poolings(x: Tensor, groups: Sequence[Group], first: Tensor) -> Tensor:
    """The poolings of the sentences whose tokens lie end to end in x, (3, n, hidden)."""
    tokens = [x[group.first : group.last].view(-1, group.length, x.shape[1]) for group in groups]
    means = torch.cat([run.mean(1) for run in tokens])
    maxima = torch.cat([run.amax(1) for run in tokens])
    return torch.stack([x[first], means, maxima])


def norms_of(vectors: Sequence[Tensor]) -> Tensor:
    """L2 norms of vectors of n sentences, float32 (n, number of vectors)."""
    return torch.stack([torch.linalg.vector_norm(vector.float(), dim=-1) for vector in vectors], dim=1)


def _agrees(forward: Forward, probe: tuple[Tensor, list[int]], expected: Tensor, dtype: torch.dtype) -> bool:
    return _is_alike(lambda: norms_of(forward(*probe)), expected, dtype)


def _pools_alike(forward: Forward, reference: Forward, probe: tuple[Tensor, list[int]], dtype: torch.dtype) -> bool:
    expected = torch.linalg.vector_norm(reference.pooled(*probe)[0], dim=-1)
    return _is_alike(lambda: torch.linalg.vector_norm(forward.pooled(*probe)[0], dim=-1), expected, dtype)


def _is_alike(compute: Callable[[], Tensor], expected: Tensor, dtype: torch.dtype) -> bool:
    try:
        norms = compute()
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return False  # a model that is built otherwise than it seems
    return norms.shape == expected.shape and torch.allclose(norms, expected, rtol=TOLERANCE[dtype], atol=0)
