"""How a model knows where in a sentence a token stands, and how to give all tokens one position vector."""

import copy
import re
from typing import Any

from torch import nn

from clsviz.encoder.linear import Unsuited

_RELATIVE = re.compile(r"rel_embeddings|relative_attention_bias|relative_position|distance_embedding|r_r_bias")


def table_of(model: Any) -> nn.Embedding | None:
    """The position vectors that are added to the tokens of a sentence, if the model has them."""
    table: nn.Embedding | None = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    return table


def first_of(table: nn.Embedding) -> int:
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


def sole_table(model: Any) -> nn.Embedding:
    """The position vectors of a model; raises Unsuited where it knows the positions of tokens in another way."""
    table = table_of(model)
    if table is None or other_positions(model):
        raise Unsuited("it knows the positions of tokens in another way than by position vectors")
    return table


def with_one_position(model: Any) -> Any:
    """A model like this one that gives all tokens the position vector of the first; all else is shared.

    It is for those who call its embeddings themselves. Raises Unsuited as `sole_table` does.
    """
    table = sole_table(model)
    n, width = table.weight.shape
    weight = table.weight[first_of(table)].detach().repeat(n, 1)
    one = nn.Embedding(n, width, table.padding_idx, _weight=weight).requires_grad_(False)
    return _with_child(model, "embeddings", _with_child(model.embeddings, "position_embeddings", one))


def _with_child(module: Any, name: str, child: nn.Module) -> Any:
    """A module like this one, with one of its own parts replaced."""
    changed = copy.copy(module)
    changed._modules = {**module._modules, name: child}
    return changed
