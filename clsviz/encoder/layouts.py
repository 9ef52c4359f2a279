"""Where each architecture keeps the parts of a block: one row per architecture."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Layout:
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
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra"), _BERT),
    "mpnet": replace(
        _BERT,
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        attention_norm="attention.LayerNorm",
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
    ),
}
"""By the model type of the configuration: encoders whose blocks normalize after each sum, as BERT's."""


EMBEDDING_MODULES = ("embeddings", "embeddings_project", "encoder.embedding_hidden_mapping_in")
"""What leads to the first block, where a model has it."""


def find_module(module: Any, path: str) -> Any:
    """What lies at a dotted path below `module`, a function perhaps, or None."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module
