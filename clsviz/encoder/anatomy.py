"""What an encoder is made of, as plain data: its architecture, parameters, special tokens and tokenizer."""

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:  # pages open with an anatomy that came with clsviz, without torch
    from clsviz.encoder.batches import PoolerSteps
    from clsviz.encoder.tokenize import Frame

EMBEDDINGS, POOLER, OTHER = "Embeddings", "Pooler", "Other"
ATTENTION, FEED_FORWARD = "Attention", "Feed-forward"

_BLOCK = re.compile(r"(?:^|\.)(?:layers?|albert_layer_groups|blocks?|h)\.(\d+)\.(.*)")
_ATTENTION = re.compile(r"attention|attn|sa_layer_norm", re.IGNORECASE)
_EMBEDDINGS = re.compile(
    r"(?:embeddings|embeddings_project|word_embedding|wte|wpe)\.|encoder\.embedding_hidden_mapping"
)
_NO_LIMIT = 10**9
"""Tokenizers without a limit report a huge number."""


@dataclass(frozen=True)
class Parameter:
    """One named tensor of a model, under the name that its own code uses.

    group: embeddings, a layer, the pooler, or other. part: within a layer, attention or feed-forward, each with its
    LayerNorm; otherwise "".
    """

    name: str
    shape: tuple[int, ...]
    group: str
    part: str = ""

    @property
    def size(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class SpecialToken:
    """A token with a role instead of text; several roles may share a token."""

    role: str
    token: str
    id: int


@dataclass(frozen=True)
class Architecture:
    """How a model is built; None where its configuration does not say so in a usual way.

    model_class: of transformers. n_layers: number of the last layer. inner_size: width of the feed-forward.
    positions: how the model knows the position of a token, in words.
    """

    model_class: str
    model_type: str
    n_layers: int | None
    n_heads: int | None
    hidden_size: int | None
    inner_size: int | None
    activation: str
    layer_norm_eps: float | None
    positions: str


@dataclass(frozen=True)
class TokenizerFacts:
    """What a tokenizer does to every sentence; None where it does not say.

    n_tokens: size of its vocabulary. padding_side: its habit; measurements always pad on the right.
    model_max_length: most tokens it lets pass. prefix, suffix: the tokens, with their ids, that it puts around a
    sentence. types: token type ids of the prefix, of every token of the sentence, and of the suffix.
    """

    class_name: str
    n_tokens: int
    lower_cases: bool | None
    strips_accents: bool | None
    padding_side: str
    model_max_length: int | None
    special_tokens: tuple[SpecialToken, ...]
    prefix: tuple[tuple[str, int], ...]
    suffix: tuple[tuple[str, int], ...]
    types: tuple[tuple[int, ...], int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class PoolerWeights:
    """Weights of a pooler like BERT's, a dense layer and tanh: weight float32 (out, in), bias float32 (out,)."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    def output(self, cls: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The pooler output for [CLS] vectors (n, in), float64 (n, out): tanh(W [CLS] + b), computed by numpy alone."""
        return np.tanh(cls.astype(np.float64) @ self.weight.astype(np.float64).T + self.bias.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Anatomy:
    """What a model is made of, and how it reads a sentence.

    cls_embedding: float32 (width of the word embeddings,), the learned vector of the [CLS] token.
    cls_place: the position of [CLS], counted from the end if negative. n_embedded: number of tokens the model knows.
    max_length: most tokens that clsviz reads of a sentence, special ones included. has_pooler: whether the model has a
    pooler. pooler: its weights, if it is built like BERT's.
    """

    architecture: Architecture
    tokenizer: TokenizerFacts
    parameters: tuple[Parameter, ...]
    cls_embedding: NDArray[np.float32]
    cls_place: int
    n_embedded: int
    max_length: int
    has_pooler: bool
    pooler: PoolerWeights | None

    @property
    def n_weights(self) -> int:
        """Number of weights in all parameters."""
        return sum(parameter.size for parameter in self.parameters)

    @property
    def cls(self) -> tuple[str, int]:
        """The [CLS] token as this model writes it, and its id."""
        side = self.tokenizer.prefix if self.cls_place >= 0 else self.tokenizer.suffix
        return side[self.cls_place]

    def parameter_table(self) -> pd.DataFrame:
        """One row per parameter: name, shape (such as 384 × 1536), weights, group, part."""
        rows = [(p.name, " × ".join(map(str, p.shape)), p.size, p.group, p.part) for p in self.parameters]
        return pd.DataFrame(rows, columns=["name", "shape", "weights", "group", "part"])

    def group_table(self) -> pd.DataFrame:
        """One row per group, in the model's order.

        Columns: group, parameters, weights, share (of all weights), attention and feed_forward (weights of each).
        """
        rank = {EMBEDDINGS: 0, OTHER: 2, POOLER: 3}
        groups = dict.fromkeys(parameter.group for parameter in self.parameters)
        rows = []
        for group in sorted(groups, key=lambda group: rank.get(group, 1)):
            of_group = [parameter for parameter in self.parameters if parameter.group == group]
            weights = sum(parameter.size for parameter in of_group)
            attention, inner = (sum(p.size for p in of_group if p.part == part) for part in (ATTENTION, FEED_FORWARD))
            rows.append((group, len(of_group), weights, weights / self.n_weights, attention, inner))
        return pd.DataFrame(rows, columns=["group", "parameters", "weights", "share", "attention", "feed_forward"])


def describe(model: Any, tokenizer: Any, frame: "Frame", max_length: int, pooler: "PoolerSteps | None") -> Anatomy:
    """What `model` and `tokenizer`, as loaded by transformers, are made of; copies everything."""
    embeddings = model.get_input_embeddings()
    pooler_weights = None
    if pooler is not None and type(pooler.activation).__name__ == "Tanh" and pooler.dense.bias is not None:
        pooler_weights = PoolerWeights(_numbers(pooler.dense.weight), _numbers(pooler.dense.bias))
    return Anatomy(
        architecture=_architecture(model),
        tokenizer=_tokenizer(tokenizer, frame),
        parameters=parameters_of(model),
        cls_embedding=_numbers(embeddings.weight[tokenizer.cls_token_id]),
        cls_place=frame.cls,
        n_embedded=int(embeddings.num_embeddings),
        max_length=max_length,
        has_pooler=getattr(model, "pooler", None) is not None,
        pooler=pooler_weights,
    )


def _architecture(model: Any) -> Architecture:
    from clsviz.encoder.fast_pass import other_positions, position_table

    def setting(kind: type, *names: str) -> Any:
        return next((value for name in names if isinstance(value := getattr(model.config, name, None), kind)), None)

    table = position_table(model)
    learned = [] if table is None else [f"{table.num_embeddings:,} learned vectors"]
    eps = [
        module.eps for module in model.modules() if type(module).__name__.endswith("Norm") and hasattr(module, "eps")
    ]
    return Architecture(
        model_class=type(model).__name__,
        model_type=str(model.config.model_type),
        n_layers=setting(int, "num_hidden_layers"),
        n_heads=setting(int, "num_attention_heads"),
        hidden_size=setting(int, "hidden_size"),
        inner_size=setting(int, "intermediate_size", "hidden_dim", "d_inner"),
        activation=setting(str, "hidden_act", "hidden_activation", "activation", "activation_function") or "",
        layer_norm_eps=float(eps[0]) if eps and eps[0] is not None else None,
        positions=" and ".join([*learned, *other_positions(model)]),
    )


def _tokenizer(tokenizer: Any, frame: "Frame") -> TokenizerFacts:
    def named(ids: list[int]) -> tuple[tuple[str, int], ...]:
        return tuple((str(tokenizer.convert_ids_to_tokens(token)), token) for token in ids)

    special_tokens = []
    for role, tokens in tokenizer.special_tokens_map.items():
        for token in [tokens] if isinstance(tokens, str) else tokens:
            identity = tokenizer.convert_tokens_to_ids(str(token))
            if identity is not None:
                special_tokens.append(SpecialToken(role.removesuffix("_token"), str(token), int(identity)))
    lower_cases, strips_accents = _normalizing(tokenizer)
    limit = int(min(tokenizer.model_max_length, _NO_LIMIT))
    before, content, after = frame.types
    return TokenizerFacts(
        class_name=type(tokenizer).__name__,
        n_tokens=len(tokenizer),
        lower_cases=lower_cases,
        strips_accents=strips_accents,
        padding_side=str(tokenizer.padding_side),
        model_max_length=limit if 0 < limit < _NO_LIMIT else None,
        special_tokens=tuple(sorted(special_tokens, key=lambda special: special.id)),
        prefix=named(frame.prefix),
        suffix=named(frame.suffix),
        types=(tuple(before), content, tuple(after)),
    )


def _normalizing(tokenizer: Any) -> tuple[bool | None, bool | None]:
    """Whether a tokenizer lower-cases letters, and whether it strips their accents: found by trying."""
    if not tokenizer.is_fast:
        return getattr(tokenizer, "do_lower_case", None), getattr(tokenizer, "strip_accents", None)
    normalizer = tokenizer.backend_tokenizer.normalizer
    if normalizer is None:
        return False, False
    lower, plain = (unicodedata.normalize("NFC", normalizer.normalize_str(letter)) for letter in ("A", "é"))
    return "a" in lower, "e" in plain


def _numbers(tensor: Any) -> NDArray[np.float32]:
    """A copy, so that nothing larger is kept alive."""
    return np.array(tensor.detach().cpu().numpy(), np.float32)


def parameters_of(model: Any) -> tuple[Parameter, ...]:
    """The named parameters of a model of transformers; one that layers share appears once."""
    n_groups = getattr(model.config, "num_hidden_groups", None)  # ALBERT uses its few blocks repeatedly
    n_layers = getattr(model.config, "num_hidden_layers", None)
    parameters = []
    for name, tensor in model.named_parameters():
        group, part = POOLER if name.startswith("pooler.") else OTHER, ""
        if match := _BLOCK.search(name):
            block, part = int(match[1]), ATTENTION if _ATTENTION.search(match[2]) else FEED_FORWARD
            layers = [block + 1]
            if n_groups and n_layers:
                layers = [layer + 1 for layer in range(n_layers) if layer * n_groups // n_layers == block]
            if layers:
                group = f"Layer {layers[0]}" if len(layers) == 1 else f"Layers {layers[0]} to {layers[-1]}"
        elif _EMBEDDINGS.match(name):
            group = EMBEDDINGS
        parameters.append(Parameter(name, tuple(tensor.shape), group, part))
    return tuple(parameters)
