"""Models in parts, against transformers' own."""

import math

import numpy as np
import pytest
import torch
import transformers
from encoder.conftest import Build

from clsviz.encoder.anatomy import Anatomy, dissect
from clsviz.encoder.encoder import Encoder
from clsviz.sources import models

TEXT = "the small cat sees a dog"


@pytest.mark.parametrize(
    ("kind", "layers"),
    [
        ("Bert", {"layer 1", "layer 2", "layer 3"}),
        ("DistilBert", {"layer 1", "layer 2", "layer 3"}),
        ("Electra", {"layer 1", "layer 2", "layer 3"}),
        ("ModernBert", {"layer 1", "layer 2", "layer 3"}),
        ("MobileBert", {"layer 1", "layer 2", "layer 3"}),
        ("Albert", {"layer 1"}),
    ],
)
def test_parts_have_all_weights_and_states_are_the_models_own(
    build: Build, kind: str, layers: set[str]
) -> None:
    weights = build(kind)
    parts = dissect(Encoder(weights), TEXT)
    model = transformers.AutoModel.from_pretrained(weights.folder).eval()
    assert parts.names == tuple(name for name, _ in model.named_parameters())
    assert sum(map(math.prod, parts.shapes)) == model.num_parameters()
    assert {part for part in parts.parts if part.startswith("layer")} == layers
    assert {"embeddings"} <= set(parts.parts) <= {"embeddings", *layers, "pooler", "other"}
    with torch.inference_mode():
        output = model(torch.tensor([parts.ids]), output_hidden_states=True)
    expected = torch.stack([*output.hidden_states[:-1], output.last_hidden_state])[:, 0, 0]
    np.testing.assert_allclose(parts.states, expected, rtol=1e-4, atol=1e-5)


def test_the_pooler_is_that_of_transformers_and_of_numpy(build: Build) -> None:
    weights = build("Bert")
    parts = dissect(Encoder(weights), TEXT)
    model = transformers.AutoModel.from_pretrained(weights.folder).eval()
    with torch.inference_mode():
        output = model(torch.tensor([parts.ids])).pooler_output[0]
    np.testing.assert_allclose(parts.pooled, output, atol=1e-5)
    np.testing.assert_allclose(parts.by_hand, output, atol=1e-5)
    assert dissect(Encoder(build("DistilBert")), TEXT).pooled.shape == (0,)


def test_a_long_text_is_cut(build: Build) -> None:
    parts = dissect(Encoder(build("Bert")), "the cat " * 40)
    assert (parts.is_cut, parts.n_tokens, len(parts.ids)) == (True, 80, parts.max_length)
    assert (parts.tokens[0], parts.tokens[-1]) == ("[CLS]", "[SEP]")


@pytest.fixture(scope="module")
def built_in() -> Anatomy:
    return dissect(Encoder(models.find("minilm")), "Sinan loves a beautiful day")


@pytest.mark.slow
def test_the_built_in_model_reads_as_bert_does(built_in: Anatomy) -> None:
    assert built_in.ids == (101, 8254, 2319, 7459, 1037, 3376, 2154, 102)
    assert built_in.tokens[:3] == ("[CLS]", "sin", "##an")
    roles = {role: n for role, _, n in built_in.special}
    assert roles == {"pad": 0, "unk": 100, "cls": 101, "sep": 102, "mask": 103}


@pytest.mark.slow
def test_the_input_of_cls_is_its_row_of_the_word_embeddings(built_in: Anatomy) -> None:
    from safetensors import safe_open

    path = next(models.find("minilm").folder.glob("*.safetensors"))
    with safe_open(path, "numpy") as file:
        row = file.get_slice("embeddings.word_embeddings.weight")[101:102]
        names = {name for name in file.keys() if not name.endswith("position_ids")}  # noqa: SIM118
    np.testing.assert_array_equal(built_in.cls_input, row[0])
    assert set(built_in.names) == names
