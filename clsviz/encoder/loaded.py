"""A model and its tokenizer in memory, however they were loaded."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clsviz.encoder.pooler import Pooler
from clsviz.encoder.positions import first_of, table_of
from clsviz.encoder.special_tokens import Frame
from clsviz.measurements import MAX_LENGTH

if TYPE_CHECKING:
    from clsviz.encoder.anatomy import Anatomy


@dataclass(frozen=True)
class Loaded:
    """A model loaded from its files, and what it takes to run it.

    name: what messages call it. tokenizer, model: of transformers; the model in float32, on the CPU, in evaluation
    mode. max_length: most tokens it reads of a sentence, special ones included. pooler: its steps, or None where it has
    no pooler or one not built like BERT's. anatomy: what it is made of.
    """

    name: str
    tokenizer: Any
    model: Any
    frame: Frame
    has_pooler: bool
    max_length: int
    vocabulary_size: int
    pooler: Pooler | None
    anatomy: "Anatomy"


def max_length_of(tokenizer: Any, model: Any) -> int:
    """Most tokens that are read; values that mean no limit, such as XLNet's -1, do not count."""
    limits = [MAX_LENGTH, tokenizer.model_max_length, _positions(model)]
    return min(int(limit) for limit in limits if limit > 0)


def _positions(model: Any) -> int:
    """Number of tokens the model has position embeddings for; RoBERTa and its kin reserve the first ones."""
    table = table_of(model)
    if table is None:
        return int(getattr(model.config, "max_position_embeddings", MAX_LENGTH))
    return int(table.num_embeddings) - first_of(table)
