"""How a model knows where in a sentence a token stands."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

_RELATIVE = re.compile(r"rel_embeddings|relative_attention_bias|relative_position|distance_embedding|r_r_bias")


def table_of(model: Any) -> "nn.Embedding | None":
    """The position vectors that are added to the tokens of a sentence, if the model has them."""
    table: nn.Embedding | None = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    return table


def first_of(table: "nn.Embedding") -> int:
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
