"""The named parameters of a model, and the group each belongs to."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

EMBEDDINGS, POOLER, OTHER = "Embeddings", "Pooler", "Other"


ATTENTION, FEED_FORWARD = "Attention", "Feed-forward"


_BLOCK = re.compile(r"(?:^|\.)(?:layers?|albert_layer_groups|blocks?|h)\.(\d+)\.(.*)")


_ATTENTION = re.compile(r"attention|attn|sa_layer_norm", re.IGNORECASE)


_EMBEDDINGS = re.compile(
    r"(?:embeddings|embeddings_project|word_embedding|wte|wpe)\.|encoder\.embedding_hidden_mapping"
)


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


def parameters_of(model: Any) -> tuple[Parameter, ...]:
    """The named parameters of a model of transformers; one that layers share appears once."""
    n_groups = getattr(model.config, "num_hidden_groups", None)  # ALBERT uses its few blocks repeatedly
    n_layers = getattr(model.config, "num_hidden_layers", None)
    found = []
    for name, tensor in model.named_parameters():
        group, part = _place(name)
        if isinstance(group, int):
            group = _shared(group, n_groups, n_layers) if n_groups and n_layers else f"Layer {group + 1}"
        found.append(Parameter(name, tuple(tensor.shape), group, part))
    return tuple(found)


def _place(name: str) -> tuple[str | int, str]:
    """Group and part of a parameter by its name; the group of a block is its number, from 0."""
    if match := _BLOCK.search(name):
        return int(match[1]), ATTENTION if _ATTENTION.search(match[2]) else FEED_FORWARD
    if _EMBEDDINGS.match(name):
        return EMBEDDINGS, ""
    return POOLER if name.startswith("pooler.") else OTHER, ""


def _shared(group: int, n_groups: int, n_layers: int) -> str:
    """The layers that use one group of ALBERT's blocks."""
    layers = [layer + 1 for layer in range(n_layers) if layer * n_groups // n_layers == group]
    if len(layers) == 1:
        return f"Layer {layers[0]}"
    return f"Layers {layers[0]} to {layers[-1]}" if layers else OTHER


def groups_in_order(parameters: Iterable[Parameter]) -> list[str]:
    """The groups in the order a vector passes through them: embeddings, layers, other, pooler."""
    groups = list(dict.fromkeys(parameter.group for parameter in parameters))
    rank = {EMBEDDINGS: 0, OTHER: 2, POOLER: 3}
    return sorted(groups, key=lambda group: rank.get(group, 1))
