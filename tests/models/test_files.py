import json
from pathlib import Path

import pytest
import torch
from support.tiny import write_bert, write_model

from clsviz.errors import ModelError
from clsviz.sources import models


def test_the_fingerprint_is_of_what_the_measurements_depend_on(folder: Path, tiny_folder: Path) -> None:
    fingerprint = models.find(str(tiny_folder)).fingerprint
    (folder / "README.md").write_text("Not read.")
    assert models.find(str(folder)).fingerprint == fingerprint
    write_bert(folder, pooler=False)
    assert models.find(str(folder)).fingerprint != fingerprint


@pytest.mark.parametrize(
    ("missing", "message"),
    [("config.json", "no config\\.json"), ("model.safetensors", "safetensors"), ("tokenizer*", "no tokenizer")],
)
def test_a_folder_that_lacks_a_file_is_refused(folder: Path, missing: str, message: str) -> None:
    for path in folder.glob(missing):
        path.unlink()
    with pytest.raises(ModelError, match=message):
        models.find(str(folder))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", "{"),
        ("config.json", "[]"),
        ("config.json", "[" * 100_000),
        ("model.safetensors", "cut short"),
        ("model.safetensors.index.json", "{}"),
        ("model.safetensors.index.json", '{"weight_map": []}'),
    ],
)
def test_a_folder_with_a_damaged_file_is_refused(folder: Path, file: str, content: str) -> None:
    (folder / file).write_text(content)
    with pytest.raises(ModelError, match="damaged"):
        models.find(str(folder))


def test_weights_outside_the_folder_are_not_taken(folder: Path, tiny_folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"embeddings": "model-1-of-1.safetensors"}}))
    models.find(str(folder))
    index.write_text(json.dumps({"weight_map": {"embeddings": str(tiny_folder / "model.safetensors")}}))
    with pytest.raises(ModelError, match="not in its folder"):
        models.find(str(folder))


def test_weights_that_the_configuration_names_elsewhere_are_not_taken(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "below/adapter_model.bin"}))
    with pytest.raises(ModelError, match="adapter_model"):
        models.find(str(folder))


def test_pickled_weights_are_not_taken(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can run code"):
        models.find(str(folder))


def test_the_number_of_layers_is_unknown_where_the_configuration_does_not_say_it(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "other"}))
    assert models.find(str(folder)).n_layers is None


def test_a_vocabulary_that_is_not_read_does_not_count(folder: Path) -> None:
    """Programs differ in whether they fetch it, and a link must not differ with them."""
    before = models.find(str(folder)).fingerprint
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "merges.txt").write_text("a b\n")
    assert models.find(str(folder)).fingerprint == before
    (folder / "tokenizer.json").rename(folder / "elsewhere")
    assert models.find(str(folder)).fingerprint != before


def test_shared_layers_count_as_often_as_they_are_gone_through(tmp_path: Path) -> None:
    shape = {"hidden_size": 16, "intermediate_size": 32}
    weights = models.find(str(write_model(tmp_path, "albert", **shape)))
    assert weights.n_parameters == 3 * (4 * 16**2 + 2 * 16 * 32)
