"""The modules of an encoder, made from the tensors in its file: all that `Blocks` needs, without transformers."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.layouts import LAYOUTS, Layout

_ACTIVATIONS = {"gelu": nn.GELU(), "gelu_new": nn.GELU("tanh"), "relu": nn.ReLU()}
"""By the names that configurations use. Of all others transformers alone knows what they mean."""


def modules_of(tensors: Mapping[str, Tensor], config: Any) -> nn.Module:
    """The model that these tensors make up, with its modules under the names that its own code gives them.

    config: model_type, num_hidden_layers, num_hidden_groups (or None), activation, layer_norm_eps, pad_token_id. Raises
    Unsuited where `LAYOUTS` does not describe the model, or where it has other parts than that says; what else it
    raises, if there is something wrong with the tensors, may be anything.
    """
    layout = LAYOUTS.get(config.model_type)
    if layout is None or layout.position_bias or config.activation not in _ACTIVATIONS:
        raise Unsuited("only transformers knows how it is built")
    if layout.begins_after_padding and config.pad_token_id is None:
        raise Unsuited("its configuration does not say where positions begin")
    parts: dict[str, Any] = {}
    for name, tensor in tensors.items():
        *path, last = name.split(".")
        place = parts
        for step in path:
            place = place.setdefault(step, {})
        place[last] = tensor
    model = _module(parts, "", config, layout)
    n_blocks = config.num_hidden_groups or config.num_hidden_layers
    required, optional = _expected(layout, n_blocks)
    found = {
        name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.LayerNorm | nn.Embedding)
    }
    if not required <= found <= required | optional:
        raise Unsuited("it has other parts than its type suggests")
    model.config = config
    model.pooler_activation = nn.Tanh()
    parent, _, name = layout.activation.rpartition(".")
    for block in model.get_submodule(layout.blocks).children():
        block.get_submodule(parent).add_module(name, _ACTIVATIONS[config.activation])
    return model.eval()


def _expected(layout: Layout, n_blocks: int) -> tuple[set[str], set[str]]:
    """The names of the modules that a model must have, and of those that it may have."""
    of_block = (
        *(layout.query, layout.key, layout.value, layout.output, layout.attention_norm),
        *(layout.up, layout.down, layout.norm),
    )
    first, *others = layout.embeddings
    required = {f"{first}.word_embeddings", f"{first}.position_embeddings", f"{first}.LayerNorm"}
    required |= {f"{layout.blocks}.{block}.{name}" for block in range(n_blocks) for name in of_block}
    return required, {f"{first}.token_type_embeddings", "pooler", "pooler.dense", *others}


def _module(parts: Mapping[str, Any], name: str, config: Any, layout: Layout) -> nn.Module:
    if "weight" in parts:
        return _leaf(parts["weight"], parts.get("bias"), name, config, layout)
    children = {key: _module(value, key, config, layout) for key, value in parts.items()}
    if children and all(key.isdigit() for key in children):
        return nn.ModuleList([children[str(number)] for number in range(len(children))])
    module = _KINDS.get(name, nn.Module)()
    for key, child in children.items():
        module.add_module(key, child)
    return module


def _leaf(weight: Tensor, bias: Tensor | None, name: str, config: Any, layout: Layout) -> nn.Module:
    if name.endswith("_embeddings"):
        after = config.pad_token_id if layout.begins_after_padding and name == "position_embeddings" else None
        return nn.Embedding(weight.shape[0], weight.shape[1], after, _weight=weight).requires_grad_(False)
    leaf: nn.Module
    if weight.dim() == 1:
        leaf = nn.LayerNorm(len(weight), config.layer_norm_eps, bias=bias is not None, device="meta")
    else:
        leaf = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device="meta")
    leaf.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}), assign=True)
    return leaf.requires_grad_(False)


class _Embeddings(nn.Module):
    """What a token is, what type it has (always the first), and where it stands: added up, in this order."""

    word_embeddings: nn.Embedding
    position_embeddings: nn.Embedding
    LayerNorm: nn.LayerNorm

    def forward(self, ids: Tensor) -> Tensor:
        x: Tensor = self.word_embeddings(ids)
        if (types := getattr(self, "token_type_embeddings", None)) is not None:
            x = x + types.weight[0]
        padding = self.position_embeddings.padding_idx
        if padding is None:
            positions = torch.arange(ids.shape[1], device=ids.device)[None]
        else:  # RoBERTa's begin after that of padding, which every padding token has, even one inside a sentence
            is_token = ids.ne(padding)
            positions = is_token.cumsum(1) * is_token + padding
        normalized: Tensor = self.LayerNorm(x + self.position_embeddings(positions))
        return normalized


class _Pooler(nn.Module):
    """A pooler like BERT's."""

    dense: nn.Linear

    def __init__(self) -> None:
        super().__init__()
        self.activation = nn.Tanh()

    def forward(self, states: Tensor) -> Tensor:
        pooled: Tensor = self.activation(self.dense(states[:, 0]))
        return pooled


_KINDS: dict[str, type[nn.Module]] = {"embeddings": _Embeddings, "pooler": _Pooler}
