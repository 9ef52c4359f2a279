"""Where each architecture keeps the parts of a block: one row per architecture.

To add an architecture, add a row to `LAYOUTS` under the `model_type` of its configuration. Print the model and fill in
the paths of its modules. It fits if its blocks are built like BERT's: attention, then feed-forward, each added to its
input and then normalized (post-LayerNorm), with absolute positions in the embeddings or a bias on attention scores. No
other file changes: `verify` compares the result with the model's own forward pass whenever such a model is loaded, and
falls back to the latter if they differ. Add the architecture to `tests/support/tiny.py` as well, so that it is tested.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

_RELATIVE = re.compile(r"rel_embeddings|relative_attention_bias|relative_position|distance_embedding|r_r_bias")


class UnsupportedModel(Exception):  # noqa: N818  (not an error: something else is tried)
    """Our own code does not apply to a model; the message says why, as part of a sentence."""


@dataclass(frozen=True)
class Layout:
    """Where a model keeps its parts, as dotted paths.

    blocks: the list of blocks, below the model. embeddings: the modules that lead to the first block, in order, below
    the model; those that a model does not have are skipped. position_bias: a function that computes the bias on
    attention scores, below the model, or "". All others: below a block.
    """

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
    embeddings: tuple[str, ...] = ("embeddings",)
    position_bias: str = ""


_BERT = Layout(
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


LAYOUTS = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert"), _BERT),
    "electra": replace(_BERT, embeddings=("embeddings", "embeddings_project")),
    "mpnet": replace(
        _BERT,
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        attention_norm="attention.LayerNorm",
        position_bias="encoder.compute_position_bias",
    ),
    "distilbert": Layout(
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
    "albert": Layout(
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
        embeddings=("embeddings", "encoder.embedding_hidden_mapping_in"),
    ),
}
"""By model type; all are encoders whose blocks normalize after each sum, as BERT's do."""


def find_module(module: Any, path: str) -> Any:
    """What lies at a dotted path below `module` (a module or a function), or None."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def position_table(model: Any) -> nn.Embedding | None:
    """The position vectors that are added to the tokens of a sentence, if the model has them."""
    table: nn.Embedding | None = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    return table


def sole_position_table(model: Any) -> nn.Embedding:
    """As `position_table`; raises UnsupportedModel where the model knows positions in another way, or two ways."""
    table = position_table(model)
    if table is None or other_positions(model):
        raise UnsupportedModel("it knows the positions of tokens in another way than by position vectors")
    return table


def first_position(table: nn.Embedding) -> int:
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
