import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import write_bert

from clsviz import models
from clsviz.errors import ModelError
from clsviz.models import MODELS, NotDownloadedError, is_folder, resolve


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to be spoilt."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def test_the_built_in_model_is_the_pinned_one() -> None:
    weights = resolve("minilm", download=False)
    assert weights.label == "MiniLM-L6"
    assert weights.n_layers == 6
    # Six layers of four square matrices and two of four times the width, and the pooler's.
    assert weights.n_parameters == 6 * (4 * 384**2 + 2 * 384 * 1536) + 384**2


def test_other_weights_in_the_package_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_built_in", lambda: folder)
    with pytest.raises(ModelError, match="Reinstall"):
        resolve("minilm", download=False)


def test_the_built_in_model_is_used_without_a_socket() -> None:
    program = """
import sys
sys.addaudithook(lambda event, args: sys.exit(f"opened: {event} {args}") if event.startswith("socket.") else None)
from clsviz.encoder import Encoder
from clsviz.models import resolve
print(float(Encoder(resolve("minilm", download=True)).measure(["Sinan loves a beautiful day"]).cls_norms[0, -1]))
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    assert 6 < float(answer.stdout) < 9


def test_the_fingerprint_is_of_what_the_measurements_depend_on(folder: Path, tiny_folder: Path) -> None:
    fingerprint = resolve(str(tiny_folder), download=False).fingerprint
    (folder / "README.md").write_text("Not read.")
    assert resolve(str(folder), download=False).fingerprint == fingerprint
    write_bert(folder, pooler=False)
    assert resolve(str(folder), download=False).fingerprint != fingerprint


@pytest.mark.parametrize("name", ["/absolute", "./here", "../above", "~/home", "tests"])
def test_folders_are_told_from_names_of_the_hub(name: str) -> None:
    assert is_folder(name)


@pytest.mark.parametrize("name", ["bert-base-uncased", "google/electra-base-discriminator", "no-such-folder"])
def test_names_of_the_hub_are_no_folders(name: str) -> None:
    assert not is_folder(name)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="no folder /nowhere/model"):
        resolve("/nowhere/model", download=False)
    with pytest.raises(ModelError, match="no folder ~nobody-of-this-name/model"):
        resolve("~nobody-of-this-name/model", download=False)
    with pytest.raises(ModelError, match="no folder"):
        resolve("/" + "x" * 400, download=False)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("config.json", "no config\\.json"), ("model.safetensors", "safetensors"), ("tokenizer*", "no tokenizer")],
)
def test_a_folder_that_lacks_a_file_is_refused(folder: Path, missing: str, message: str) -> None:
    for path in folder.glob(missing):
        path.unlink()
    with pytest.raises(ModelError, match=message):
        resolve(str(folder), download=False)


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
        resolve(str(folder), download=False)


def test_weights_outside_the_folder_are_not_taken(folder: Path, tiny_folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"embeddings": "model-1-of-1.safetensors"}}))
    resolve(str(folder), download=False)
    index.write_text(json.dumps({"weight_map": {"embeddings": str(tiny_folder / "model.safetensors")}}))
    with pytest.raises(ModelError, match="not in its folder"):
        resolve(str(folder), download=False)


def test_weights_that_the_configuration_names_elsewhere_are_not_taken(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "below/adapter_model.bin"}))
    with pytest.raises(ModelError, match="adapter_model"):
        resolve(str(folder), download=False)


def test_pickled_weights_are_not_taken(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can run code"):
        resolve(str(folder), download=False)


def test_a_model_of_the_catalogue_has_to_be_downloaded_first() -> None:
    with pytest.raises(NotDownloadedError, match="bert-base-uncased"):
        resolve("bert-base-uncased", download=False)


@pytest.mark.parametrize("name", ["two words", "a/b/c", "-dash", "x" * 200, "x" * 500, "a//b", "name\\"])
def test_what_can_be_no_model_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="names no model"):
        resolve(name, download=True)


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
from clsviz.errors import ModelError
from clsviz.models import resolve
try:
    resolve("bert-base-uncased", download=True)
except ModelError as error:
    print(error)
"""
    # The discard port of this machine, where nobody listens.
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60
    )
    assert "cannot be reached for google-bert/bert-base-uncased" in answer.stdout
    assert "MiniLM-L6" in answer.stdout
    assert len(answer.stdout.splitlines()) == 1


def test_the_catalogue_lists_the_original_and_its_kin() -> None:
    assert list(MODELS) == [
        "minilm",
        "bert-base-uncased",
        "bert-large-uncased",
        "bert-base-multilingual-cased",
        "distilbert-base-uncased",
        "roberta-base",
        "xlm-roberta-base",
        "all-mpnet-base-v2",
        "modernbert-base",
    ]


def test_the_number_of_layers_is_unknown_where_the_configuration_does_not_say_it(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "other"}))
    assert resolve(str(folder), download=False).n_layers is None
