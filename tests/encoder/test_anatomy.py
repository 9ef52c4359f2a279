import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import load_file
from support.reference import encoder_of
from support.tiny import ARCHITECTURES, write_bert, write_model

from clsviz.encoder import Anatomy, Encoder
from clsviz.encoder.anatomy import parameters_of

SENTENCES = ["the cat sat", "a dog", "the cat sat", "the " * 600, "home ."]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return encoder_of(folder)


def test_bert_base_has_as_many_parameters_as_published() -> None:
    with torch.device("meta"):
        parameters = parameters_of(transformers.BertModel(transformers.BertConfig()))
    width, inner = 768, 4 * 768
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    embeddings = (30522 + 512 + 2 + 2) * width
    assert len(parameters) == 199
    assert sum(parameter.size for parameter in parameters) == embeddings + 12 * layer + width * width + width
    assert sum(parameter.size for parameter in parameters) == 109_482_240
    by_name = {parameter.name: parameter for parameter in parameters}
    assert by_name["embeddings.word_embeddings.weight"].shape == (30522, 768)
    assert by_name["encoder.layer.11.output.dense.weight"].group == "Layer 12"
    assert {p.group for p in parameters} == {"Embeddings", *(f"Layer {i}" for i in range(1, 13)), "Pooler"}


def test_every_parameter_in_the_file_is_listed_in_its_group(folder: Path, encoder: Encoder) -> None:
    with safe_open(folder / "model.safetensors", framework="numpy") as tensors:
        shapes = {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
    parameters = encoder.anatomy.parameters
    assert {parameter.name: parameter.shape for parameter in parameters} == shapes
    table = encoder.anatomy.parameter_table()
    assert table["weights"].tolist() == [int(np.prod(shapes[name])) for name in table["name"]]
    groups = encoder.anatomy.group_table().set_index("group")
    assert groups["parameters"].sum() == len(shapes)
    assert groups["weights"].sum() == encoder.anatomy.n_weights == sum(int(np.prod(s)) for s in shapes.values())
    assert groups["share"].sum() == pytest.approx(1)
    layers = groups[groups.index.str.startswith("Layer")]
    assert (layers["attention"] + layers["feed_forward"] == layers["weights"]).all()
    assert (layers[["attention", "feed_forward"]] > 0).all().all()
    assert list(layers.index) == (["Layers 1 to 3"] if "albert" in str(folder) else ["Layer 1", "Layer 2", "Layer 3"])
    assert groups.index[0] == "Embeddings"
    assert ("Pooler" in groups.index) == encoder.has_pooler == encoder.anatomy.has_pooler


def test_attention_is_told_from_feed_forward(tiny_encoder: Encoder) -> None:
    width, inner = 16, 32
    row = tiny_encoder.anatomy.group_table().set_index("group").loc["Layer 2"]
    assert row["attention"] == 4 * (width * width + width) + 2 * width
    assert row["feed_forward"] == 2 * width * inner + inner + width + 2 * width


def test_layers_that_share_weights_are_named_together(tmp_path: Path) -> None:
    shared = encoder_of(write_model(tmp_path, "albert", num_hidden_layers=4, num_hidden_groups=2)).anatomy
    assert shared.group_table()["group"].tolist() == ["Embeddings", "Layers 1 to 2", "Layers 3 to 4", "Pooler"]


def test_how_a_model_is_built(folder: Path, encoder: Encoder) -> None:
    built = encoder.anatomy.architecture
    config = json.loads((folder / "config.json").read_bytes())
    assert built.model_class == config["architectures"][0]
    assert built.model_type == config["model_type"]
    assert (built.n_layers, built.n_heads, built.hidden_size, built.inner_size) == (3, 2, 16, 32)
    assert built.activation.startswith("gelu")
    assert built.layer_norm_eps == config.get("layer_norm_eps", config.get("norm_eps", 1e-12))
    expected = {"modernbert": "rotation"}.get(config["model_type"], "514 learned vectors")
    is_relative = config["model_type"] in ("mpnet", "deberta-v2")
    assert built.positions == expected + (" and distances between tokens" if is_relative else "")


def test_the_built_in_model_is_what_transformers_says(minilm_encoder: Encoder) -> None:
    found: Anatomy = minilm_encoder.anatomy
    folder = minilm_encoder.weights.folder
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    assert {p.name: p.shape for p in found.parameters} == {n: tuple(p.shape) for n, p in model.named_parameters()}
    assert found.parameters[0].shape == (30522, 384)
    assert len(found.parameters) == 103
    assert found.cls == ("[CLS]", 101)
    assert {special.token: special.id for special in found.tokenizer.special_tokens} == {
        token: tokenizer.convert_tokens_to_ids(token) for token in tokenizer.all_special_tokens
    }
    word_embeddings = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    np.testing.assert_array_equal(found.cls_embedding, word_embeddings[101])
    assert found.tokenizer.class_name == "BertTokenizer"
    assert found.tokenizer.n_tokens == found.n_embedded == 30522
    assert (found.tokenizer.lower_cases, found.tokenizer.strips_accents) == (True, True)
    assert tokenizer.tokenize("Café") == tokenizer.tokenize("cafe")
    assert (found.max_length, found.tokenizer.model_max_length, found.tokenizer.padding_side) == (512, 512, "right")
    assert (found.tokenizer.prefix, found.tokenizer.suffix) == ((("[CLS]", 101),), (("[SEP]", 102),))


def test_a_tokenizer_that_keeps_letters_and_has_cls_at_the_end_is_described(tmp_path: Path) -> None:
    write_bert(tmp_path)
    path = tmp_path / "tokenizer.json"
    settings = json.loads(path.read_text())
    settings["normalizer"] |= {"lowercase": False, "strip_accents": False}
    settings["post_processor"]["single"] = [
        {"Sequence": {"id": "A", "type_id": 0}},
        *({"SpecialToken": {"id": token, "type_id": 0}} for token in ("[SEP]", "[CLS]")),
    ]
    path.write_text(json.dumps(settings))
    encoder = encoder_of(tmp_path)
    found = encoder.anatomy
    assert (found.tokenizer.lower_cases, found.tokenizer.strips_accents) == (False, False)
    assert (found.cls_place, found.cls, found.tokenizer.prefix) == (-1, ("[CLS]", 2), ())
    assert [token for token, _ in encoder.framed_tokens("the cat")] == ["the", "cat", "[SEP]", "[CLS]"]


def test_the_pooler_is_worked_out_step_by_step(folder: Path, encoder: Encoder) -> None:
    cls, pooler = encoder.cls_and_pooler(SENTENCES)
    steps = encoder.pooler_steps(cls)
    if not encoder.has_pooler:
        assert steps is None
        assert pooler.shape == (len(SENTENCES), 0)
        return
    assert steps is not None
    prefix = "pooler." if "albert" in str(folder) else "pooler.dense."
    tensors = load_file(folder / "model.safetensors")
    dense = cls @ tensors[f"{prefix}weight"].T + tensors[f"{prefix}bias"]
    np.testing.assert_allclose(steps[0], dense, atol=1e-5)
    np.testing.assert_allclose(steps[1], np.tanh(dense), atol=1e-5)
    assert encoder.anatomy.pooler is not None
    np.testing.assert_allclose(encoder.anatomy.pooler.output(cls), pooler, atol=1e-6)


def test_a_pooler_that_is_built_otherwise_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(pooler: torch.nn.Module, hidden: torch.Tensor) -> torch.Tensor:
        return 2 * pooler.activation(pooler.dense(hidden[:, 0]))

    monkeypatch.setattr(transformers.models.bert.modeling_bert.BertPooler, "forward", scaled)
    encoder = encoder_of(write_bert(tmp_path))
    assert encoder.anatomy.has_pooler
    assert encoder.anatomy.pooler is None
    assert encoder.pooler_steps(np.zeros((1, 16), np.float32)) is None
