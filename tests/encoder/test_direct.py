"""A model loaded straight from its files gives what transformers gives, to the last bit, or is left to transformers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.tiny import ARCHITECTURES, random_sentences, write_bert, write_model

from clsviz import models
from clsviz.encoder import Encoder, Unsuited, has_fast_bfloat16
from clsviz.settings import Precision

SENTENCES = [
    *random_sentences(8, seed=5, longest=40),
    "cat",
    "",
    "the " * 600,
    "a [PAD] cat [CLS] saw [MASK] Ünknown 漢字",
]
LEFT_TO_TRANSFORMERS = {"mpnet", "deberta-v2", "modernbert"}
PRECISIONS = [Precision.EXACT, *([Precision.FAST] if has_fast_bfloat16(torch.device("cpu")) else [])]


def directly(folder: Path, precision: Precision = Precision.EXACT) -> Encoder:
    return Encoder(models.find(str(folder)), precision, "cpu", directly=True)


def by_transformers(folder: Path, precision: Precision = Precision.EXACT) -> Encoder:
    return Encoder(models.find(str(folder)), precision, "cpu")


def told_by(encoder: Encoder, sentences: list[str]) -> dict[str, np.ndarray]:
    """Every number that an encoder gives."""
    cls, pooler = encoder.cls_and_pooler(sentences[:5])
    steps = encoder.pooler_steps(cls) or ()
    kinds = {f"of vectors: {name}": array for name, array in encoder.vectors(sentences).to_arrays().items()}
    return {
        **encoder.measure(sentences).to_arrays(),
        **kinds,
        "cls": cls,
        "pooler": pooler,
        "pooler steps": np.array(steps),
        "facts": np.array([encoder.max_length, encoder.n_layers, encoder.has_pooler]),
    }


def assert_same(one: Encoder, other: Encoder, sentences: list[str] = SENTENCES) -> None:
    """Everything an encoder tells is the same, to the last bit."""
    assert one.agrees_with(other)
    assert one.slow_path_reason == other.slow_path_reason == ""
    told, expected = told_by(one, sentences), told_by(other, sentences)
    assert told.keys() == expected.keys()
    for name, numbers in expected.items():
        np.testing.assert_array_equal(told[name], numbers, err_msg=name)
    for text in sentences:
        assert one.framed_tokens(text) == other.framed_tokens(text)
        assert one.tokens(text) == other.tokens(text)


@pytest.mark.parametrize("model_type", sorted(ARCHITECTURES.keys() - LEFT_TO_TRANSFORMERS))
def test_it_is_the_model_that_transformers_loads(tmp_path: Path, model_type: str) -> None:
    folder = write_model(tmp_path, model_type)
    for precision in PRECISIONS:
        assert_same(directly(folder, precision), by_transformers(folder, precision))


def test_the_built_in_model_is_the_one_that_transformers_loads(minilm_encoder: Encoder) -> None:
    sentences = [
        "Sinan loves a beautiful day",
        "Hi.",
        "Ünïcödé 漢字 👋🏽",
        "\N{ZERO WIDTH SPACE}",
        "[PAD] [MASK] x" * 40,
    ]
    assert_same(Encoder(minilm_encoder.weights, device="cpu", directly=True), minilm_encoder, sentences)


@pytest.mark.parametrize("settings", [{"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"layer_norm_eps": 0.1}])
def test_settings_that_change_the_numbers_are_followed(tmp_path: Path, settings: dict[str, object]) -> None:
    folder = write_bert(tmp_path, **settings)
    assert_same(directly(folder), by_transformers(folder))


def test_a_model_without_pooler_has_none(tmp_path: Path) -> None:
    folder = write_bert(tmp_path, pooler=False)
    assert_same(directly(folder), by_transformers(folder))
    assert not directly(folder).has_pooler


def test_blocks_that_are_used_repeatedly(tmp_path: Path) -> None:
    folder = write_model(tmp_path, "albert", num_hidden_groups=2, num_hidden_layers=5)
    assert_same(directly(folder), by_transformers(folder))


def test_a_checkpoint_with_a_head_and_the_names_of_old(tmp_path: Path) -> None:
    """As bert-base-uncased is on the Hub: below “bert.”, with a head beside it, and LayerNorm's gamma and beta."""
    folder = write_bert(tmp_path)
    path = folder / "model.safetensors"
    tensors = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in load_file(path).items()
    }
    tensors |= {"cls.predictions.bias": torch.zeros(3), "bert.embeddings.position_ids": torch.arange(64)[None]}
    save_file(tensors, path, metadata={"format": "pt"})
    assert_same(directly(folder), by_transformers(folder))


def test_weights_in_half_precision_are_computed_with_in_float32(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    path = folder / "model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(path).items()}, path, metadata={"format": "pt"})
    assert_same(directly(folder), by_transformers(folder))


def test_a_tokenizer_that_cuts_and_pads_does_neither_here(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    settings = json.loads((folder / "tokenizer.json").read_text())
    settings["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(settings))
    assert_same(directly(folder), by_transformers(folder))
    assert len(directly(folder).tokens("the cat sat on the mat")) == 6


def test_a_limit_of_the_tokenizer_is_kept(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 10}))
    assert_same(directly(folder), by_transformers(folder))
    assert directly(folder).max_length == 10


def test_what_it_is_made_of_is_looked_up_when_it_is_asked(tmp_path: Path) -> None:
    folder = write_bert(tmp_path)
    one, other = directly(folder).anatomy, by_transformers(folder).anatomy
    assert one.parameters == other.parameters
    assert (one.architecture, one.tokenizer) == (other.architecture, other.tokenizer)


@pytest.mark.parametrize("model_type", sorted(LEFT_TO_TRANSFORMERS))
def test_other_architectures_are_left_to_transformers(tmp_path: Path, model_type: str) -> None:
    with pytest.raises(Unsuited):
        directly(write_model(tmp_path, model_type))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("config.json", {"is_decoder": True}),
        ("config.json", {"hidden_act": "silu"}),
        ("config.json", {"num_hidden_layers": 1}),
        ("config.json", {"num_hidden_layers": None}),
        ("config.json", {"model_type": "roberta", "pad_token_id": None}),
        ("tokenizer.json", {"model": None}),
        ("tokenizer_config.json", {"cls_token": "[NONE]"}),
        ("tokenizer_config.json", {"model_max_length": 2}),
    ],
)
def test_whatever_is_odd_is_left_to_transformers(tmp_path: Path, name: str, change: dict[str, object]) -> None:
    folder = write_bert(tmp_path)
    settings = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**settings, **change}))
    with pytest.raises(Unsuited):
        directly(folder)


def test_models_with_parts_of_their_own_are_left_to_transformers(tmp_path: Path) -> None:
    with pytest.raises(Unsuited, match="other parts"):
        directly(write_model(tmp_path / "albert", "albert", inner_group_num=2))
    folder = write_bert(tmp_path / "bert")
    with pytest.raises(Unsuited):
        Encoder(models.find(f"untrained:{folder}"), device="cpu", directly=True)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n")
    with pytest.raises(Unsuited):
        directly(folder)


def changed(folder: Path, copy: Path, name: str) -> Encoder:
    """The model in `folder`, one number of which is another."""
    shutil.copytree(folder, copy)
    tensors = load_file(copy / "model.safetensors")
    tensors[name].view(-1)[7] += 0.01
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    return directly(copy)


def test_other_weights_do_not_agree(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "own")
    own = by_transformers(folder)
    for number, name in enumerate(
        ["encoder.layer.1.output.dense.bias", "encoder.layer.0.attention.self.query.weight", "pooler.dense.bias"]
    ):
        assert not changed(folder, tmp_path / f"other {number}", name).agrees_with(own)


def test_another_tokenizer_does_not_agree(tmp_path: Path) -> None:
    """BERT's own class of tokenizers follows its settings rather than its tokenizer.json."""
    folder = write_bert(tmp_path)
    path = folder / "tokenizer_config.json"
    settings = {**json.loads(path.read_text()), "tokenizer_class": "BertTokenizer", "do_lower_case": False}
    path.write_text(json.dumps(settings))
    assert by_transformers(folder).tokens("The") != directly(folder).tokens("The")
    assert not directly(folder).agrees_with(by_transformers(folder))


PROGRAM = """
import sys
from clsviz import models
from clsviz.encoder import Encoder
encoder = Encoder(models.find("minilm"), directly=True)
assert encoder.measure(["A cat."]).cls_norms.shape == (1, 7)
assert encoder.circumstances
print([name for name in ("transformers", "torch._dynamo", "sympy", "pandas", "scipy") if name in sys.modules])
"""


def test_loading_directly_imports_no_model_classes() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr
