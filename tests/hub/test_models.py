import json

import pytest
from hub.client import model
from hub.conftest import Hub

from clsviz.errors import ModelError
from clsviz.progress import Cancelled
from clsviz.sources import models, pipeline

pytestmark = pytest.mark.slow

CONFIG, TOKENIZER, WEIGHTS = model().values()
SETTINGS = {"config.json": CONFIG, "tokenizer.json": TOKENIZER}
STEPS = "sentence_transformers.models."
SHARD = "model-00001-of-00001.safetensors"


def as_json(content: object) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        (model() | {"pytorch_model.bin": b"spare"}, "model.safetensors"),
        (
            {f"0_Bert/{path}": content for path, content in model().items()}
            | {"modules.json": as_json([{"type": f"{STEPS}Transformer", "path": "0_Bert"}])},
            "../0_Bert/model.safetensors",
        ),
        (
            SETTINGS
            | {SHARD: WEIGHTS}
            | {"model.safetensors.index.json": as_json({"weight_map": {"weight": SHARD}})},
            SHARD,
        ),
    ],
)
def test_model_is_downloaded_once_and_then_read_without_the_hub(hub, layout, place) -> None:
    commit = hub.add(layout, kind="model")
    with pytest.raises(Cancelled):
        hub.find(n_calls=4)
    weights = hub.find()
    assert weights.revision == commit
    assert (weights.folder / place).is_file()
    assert hub.serving.bytes_of("*.bin") == 0
    assert hub.requests_of(hub.find) == (weights, [])


def test_untrained_model_needs_no_weights_and_depends_on_the_seed(hub: Hub) -> None:
    hub.add(SETTINGS, kind="model")
    first, second = (hub.find("untrained:{}", seed=seed) for seed in (0, 1))
    assert first.fingerprint != second.fingerprint
    assert (second.is_untrained, second.seed) == (True, 1)


@pytest.mark.parametrize("extra", ["vocab.txt", "tf_model.h5", "onnx/model.onnx", "README.md"])
def test_files_that_are_not_read_leave_the_fingerprint_alone(hub: Hub, extra: str) -> None:
    hub.add(model(), kind="model")
    hub.add(model() | {extra: b"a"}, "{}-x", kind="model")
    assert hub.find().fingerprint == hub.find("{}-x").fingerprint


def test_files_of_a_pipeline_are_downloaded(hub: Hub) -> None:
    modules = [{"type": f"{STEPS}Transformer", "path": ""}]
    modules += [{"type": f"{STEPS}{kind}", "path": kind} for kind in ("Pooling", "Dense")]
    prompts = {"default_prompt_name": "query", "prompts": {"query": "About: "}}
    steps = {"modules.json": as_json(modules), "Pooling/config.json": b'{"pooling_mode": "cls"}'}
    steps |= {"Dense/config.json": b"{}", "Dense/model.safetensors": WEIGHTS}
    steps["config_sentence_transformers.json"] = as_json(prompts)
    hub.add(model() | steps, kind="model")
    own = hub.find().pipeline
    assert (own.pooling, own.prompt("query")) == ("cls", "About: ")
    (hub.find().folder / "Dense" / "model.safetensors").unlink()  # as of another program
    assert hub.find().pipeline == own


def test_a_pipeline_that_was_not_looked_for_is_named(hub: Hub, dead: Hub) -> None:
    hub.add(model(), kind="model")
    folder = hub.find().folder
    assert not pipeline.read(folder).is_unknown
    (folder.parents[1] / ".no_exist" / folder.name / "modules.json").unlink()
    assert pipeline.read(dead.find().folder).is_unknown


def test_revision_is_a_branch_or_a_commit(hub: Hub) -> None:
    old = hub.add(model(n=1), kind="model")
    new = hub.add(model(n=2), kind="model", revision="dev")
    assert hub.find("{}@dev").revision == new
    assert hub.find(f"{{}}@{old}").revision == old


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (SETTINGS | {"pytorch_model.bin": b"x"}, "formats that may run code"),
        (model(architectures=["GPT2LMHeadModel"]), "is a decoder"),
        (model(is_encoder_decoder=True), "is an encoder-decoder"),
        ({"README.md": b"", "model.safetensors": WEIGHTS}, "lacks config.json"),
        ({"config.json": CONFIG, "model.safetensors": WEIGHTS}, "has no tokenizer"),
        (SETTINGS, "has no model.safetensors"),
        (model() | {"config.json": b"["}, "no readable config.json"),
        (
            SETTINGS | {"model.safetensors.index.json": b"[" * 10**5},
            "no readable model.safetensors",
        ),
        (model() | {"model.safetensors": b"\xff" * 100}, "no readable model.safetensors"),
    ],
)
def test_unusable_models_are_refused_before_their_weights_are_downloaded(
    hub: Hub, layout: dict[str, bytes], reason: str
) -> None:
    hub.add(layout, kind="model")
    with pytest.raises(ModelError, match=reason):
        hub.find()
    assert hub.serving.bytes_of("*.safetensors") in (0, 100)


@pytest.mark.parametrize("name", ["/no/folder", "./none", "../a", "~/none", "untrained:/none"])
def test_missing_folders_are_named(name: str) -> None:
    with pytest.raises(ModelError, match=f"no folder “{name.removeprefix('untrained:')}”"):
        models.find(name)


def test_a_folder_that_exists_is_one_but_to_visitors(tmp_path, monkeypatch) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    (tmp_path / "minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    names = ["owner/name", "untrained:owner/name", "minilm", "untrained:./owner/name"]
    assert list(map(models.is_folder, names)) == [True, True, False, True]
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    assert list(map(models.is_folder, names)) == [False, False, False, True]


def test_adapters_are_named(tmp_path) -> None:
    for name in ("adapter_config.json", "config.json"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(ModelError, match="has an adapter"):
            models.find(str(tmp_path))
