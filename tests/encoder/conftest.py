"""Tiny models of every kind, with tokenizers made in code."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import conftest
import pytest
import safetensors.torch
import torch
import transformers

from clsviz.sources import models as known
from clsviz.sources.models import WEIGHTS, Weights

WORDS = ["the", "a", "cat", "dog", "bird", "sees", "hears", "small", "green", "runs", "in", "."]
SHAPE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
GPT = {"n_layer": 2, "n_embd": 16, "n_head": 2, "n_positions": 64}
INNER = {"intermediate_size": 32, "max_position_embeddings": 66}
KINDS: dict[str, dict[str, Any]] = {
    "Bert": {},
    "Roberta": {"pad_token_id": 0},
    "XLMRoberta": {"pad_token_id": 1},
    "Camembert": {"pad_token_id": 1},
    "Data2VecText": {"pad_token_id": 1},
    "Ernie": {},
    "Electra": {"embedding_size": 8},
    "DistilBert": {"hidden_dim": 32, "activation": "relu"},
    "MPNet": {},
    "Albert": {"embedding_size": 8, "num_hidden_groups": 1},
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "ModernBert": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "BigBird": {"block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 64},
    "MobileBert": {"embedding_size": 8, "intra_bottleneck_size": 8},
    "FNet": {},
    "ConvBert": {"embedding_size": 8},
}
"""Settings of models, by the beginning of their classes' names."""

Build = Callable[..., Weights]


write_tokenizer = partial(conftest.write_tokenizer, words=WORDS)
"""Of these words; see there."""


def write_model(folder: Path, kind: str = "Bert", **settings: Any) -> Weights:
    """A model of three layers, whose LayerNorms vary, and a tokenizer of words."""
    torch.manual_seed(0)
    vocabulary = {"vocab_size": 300, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    shape = vocabulary | SHAPE | INNER | KINDS.get(kind, {}) | settings
    model = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**shape))
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return weights(folder)


def weights(folder: Path) -> Weights:
    """The weights in a folder."""
    return replace(known.find(str(folder)), label="Tiny")


def configure(folder: Path, name: str = "config.json", **settings: Any) -> None:
    """Change settings in a file of a model."""
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def reweigh(folder: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    """Change the weights of a model."""
    path = folder / WEIGHTS
    tensors = safetensors.torch.load_file(path)
    change(tensors)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Gives the weights of a tiny model by the beginning of its classes' names."""
    return cache(lambda kind: write_model(tmp_path_factory.mktemp("model") / kind, kind))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """The folder of a tiny BERT of one's own, to be changed."""
    write_model(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Sentences of 1 to 80 words, of which the models read 64 tokens, in no order."""
    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 80))) for _ in range(24)]
