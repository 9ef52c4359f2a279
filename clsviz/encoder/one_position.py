"""How to give all tokens of a sentence one position vector."""

import copy
from typing import Any

from torch import nn

from clsviz.encoder.any_encoder import Unsuited
from clsviz.encoder.positions import first_of, other_positions, table_of


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
