"""Models in parts, against transformers' own."""

import math

import numpy as np
import pytest
import torch
import transformers
from encoder.conftest import Build

from clsviz.encoder.anatomy import dissect
from clsviz.encoder.encoder import Encoder
from clsviz.sources import models

TEXT = "the small cat sees a dog"


@pytest.mark.parametrize(
    ("kind", "n_blocks"),
    [
        *(("Bert", 3), ("DistilBert", 3), ("Electra", 3), ("ModernBert", 3), ("MobileBert", 3)),
        ("Albert", 1),
    ],
)
def test_parts_have_all_weights_and_states_are_the_models_own(build, kind, n_blocks) -> None:
    weights = build(kind)
    parts = dissect(Encoder(weights), TEXT)
    eager = {"attn_implementation": "eager"}
    model = transformers.AutoModel.from_pretrained(weights.folder, **eager).eval()
    assert parts.names == tuple(name for name, _ in model.named_parameters())
    assert sum(map(math.prod, parts.shapes)) == model.num_parameters()
    layers = {f"layer {n + 1}" for n in range(n_blocks)}
    assert {"embeddings", *layers} <= {*parts.parts} <= {"embeddings", *layers, "pooler", "other"}
    with torch.inference_mode():
        wanted = {"output_hidden_states": True, "output_attentions": True}
        output = model(torch.tensor([parts.ids]), **wanted)
    expected = torch.stack([*output.hidden_states[:-1], output.last_hidden_state], 2)[0]
    np.testing.assert_allclose(parts.vectors, expected, rtol=1e-4, atol=1e-5)
    shares = torch.stack(output.attentions)[:, 0, :, 0].mean(dim=1)
    np.testing.assert_allclose(parts.attention, shares, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts.attention.sum(axis=1), 1, rtol=1e-5)
    pooled = output.get("pooler_output")
    np.testing.assert_allclose(parts.pooled, [] if pooled is None else pooled[0], atol=1e-5)
    if kind == "Bert":
        np.testing.assert_allclose(parts.by_hand, parts.pooled, atol=1e-5)


def test_a_model_without_attention_has_none(build: Build) -> None:
    assert dissect(Encoder(build("FNet")), TEXT).attention.shape == (0, 8)


def test_a_long_text_is_cut(build: Build) -> None:
    parts = dissect(Encoder(build("Bert")), "the cat " * 40)
    assert (parts.is_cut, parts.n_tokens, len(parts.ids)) == (True, 80, parts.max_length)
    assert (parts.tokens[0], parts.tokens[-1]) == ("[CLS]", "[SEP]")
    assert parts.words[::61] == (("the", 1, 2), ("cat", 62, 63))


@pytest.mark.slow
def test_the_built_in_model_reads_as_bert_does() -> None:
    from safetensors import safe_open

    weights = models.find("minilm")
    parts = dissect(Encoder(weights), "Sinan loves a beautiful day")
    assert parts.ids == (101, 8254, 2319, 7459, 1037, 3376, 2154, 102)
    assert parts.tokens[:3] == ("[CLS]", "sin", "##an")
    assert parts.words[:2] == (("Sinan", 1, 3), ("loves", 3, 4))
    roles = {role: n for role, _, n in parts.special}
    assert roles == {"pad": 0, "unk": 100, "cls": 101, "sep": 102, "mask": 103}
    with safe_open(next(weights.folder.glob("*.safetensors")), "numpy") as file:
        row = file.get_slice("embeddings.word_embeddings.weight")[101:102]
    np.testing.assert_array_equal(parts.cls_input, row[0])
