"""The real clients against the Hub of tests/hub.py: other tests rely on it to behave, and to misbehave, as they see."""

import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from random import Random

import datasets
import httpx2
import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import transformers
from huggingface_hub import HfApi, HfFileSystem, hf_hub_download, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from support.hub import STRANGER, TOKEN, Hub, serve_hub
from support.hub_clients import environment
from support.tiny import sha256

WEIGHTS = "model.safetensors"
SENTENCES = ["The cat sat.", "A dog ran home.", "The old tree."]


@pytest.fixture
def commit(hub: Hub, tiny_folder: Path) -> str:
    return hub.add("me/tiny", tiny_folder)


@pytest.fixture
def corpus(hub: Hub, tmp_path: Path) -> Path:
    """A repository of two configurations, as the head of its README says, one of them with two splits."""
    folder = tmp_path / "corpus"
    for name in ("data/train.parquet", "data/test.parquet", "other/some.parquet"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [f"{path.stem}: {sentence}" for sentence in SENTENCES]}), path)
    (folder / "README.md").write_text(
        "---\nlicense: mit\nconfigs:\n- config_name: main\n  default: true\n  data_files:\n"
        "  - split: train\n    path: data/train.parquet\n  - split: test\n    path: data/test.parquet\n"
        "- config_name: other\n  data_files: other/*.parquet\n---\n# Sentences\n"
    )
    hub.add("me/corpus", folder, kind="dataset")
    return folder


def address(hub: Hub, file: str = WEIGHTS) -> str:
    return f"{hub.address}/me/tiny/resolve/main/{file}"


def test_a_snapshot_is_what_was_added(hub: Hub, commit: str, tiny_folder: Path) -> None:
    snapshot = Path(snapshot_download("me/tiny"))
    assert snapshot.name == commit
    assert {path.name: path.read_bytes() for path in snapshot.iterdir()} == {
        path.name: path.read_bytes() for path in tiny_folder.iterdir()
    }
    assert hub.bytes_sent(f"*/{WEIGHTS}") == (tiny_folder / WEIGHTS).stat().st_size
    hub.requests.clear()
    snapshot_download("me/tiny")
    assert [request.path for request in hub.requests] == ["/api/models/me/tiny/revision/main"]


def test_a_model_without_an_owner_is_loaded(hub: Hub, tiny_folder: Path) -> None:
    hub.add("tiny", tiny_folder)
    model = transformers.AutoModel.from_pretrained("tiny")
    tokenizer = transformers.AutoTokenizer.from_pretrained("tiny")
    assert model(**tokenizer("the cat sat", return_tensors="pt")).last_hidden_state.shape == (1, 5, 16)


def test_the_listings_say_sizes_and_digests(hub: Hub, commit: str, tiny_folder: Path) -> None:
    info = HfApi().model_info("me/tiny", files_metadata=True)
    assert info.sha == commit
    assert info.siblings is not None
    assert {file.rfilename: file.size for file in info.siblings} == {
        path.name: path.stat().st_size for path in tiny_folder.iterdir()
    }
    files = {file.rfilename: file for file in info.siblings}
    assert files[WEIGHTS].lfs is not None
    assert files[WEIGHTS].lfs.sha256 == sha256(tiny_folder / WEIGHTS)
    content = (tiny_folder / "config.json").read_bytes()
    assert files["config.json"].blob_id == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    assert info.safetensors is not None
    assert info.safetensors.total > 0
    assert info.config == {"architectures": ["BertModel"], "model_type": "bert"}
    for file in HfApi().get_paths_info("me/tiny", [WEIGHTS, "not-there"], revision=commit):
        assert (file.path, file.size) == (WEIGHTS, files[WEIGHTS].size)


def test_a_tree_is_listed_in_pages(hub: Hub, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "page_size", 2)
    api = HfApi()
    listed = [entry.path for entry in api.list_repo_tree("me/corpus", repo_type="dataset")]
    assert listed == ["README.md", "data", "other"]
    listed = [entry.path for entry in api.list_repo_tree("me/corpus", "data", repo_type="dataset", recursive=True)]
    assert listed == ["data/test.parquet", "data/train.parquet"]
    assert sorted(api.list_repo_files("me/corpus", repo_type="dataset")) == sorted(
        path.relative_to(corpus).as_posix() for path in corpus.rglob("*") if path.is_file()
    )


def test_a_commit_stays_when_the_branch_moves(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("first")
    first = hub.add("me/moving", folder)
    assert hub.add("me/moving", folder, revision="refs/tags/v1") == first
    (folder / "config.json").write_text("second")
    second = hub.add("me/moving", folder)
    hub.add("me/moving", folder, revision="refs/pr/1")
    wanted = {first: "first", "v1": "first", second: "second", "main": "second", "refs/pr/1": "second"}
    read = {revision: Path(hf_hub_download("me/moving", "config.json", revision=revision)) for revision in wanted}
    assert {revision: path.read_text() for revision, path in read.items()} == wanted
    refs = HfApi().list_repo_refs("me/moving", include_pull_requests=True)
    assert [(ref.name, ref.target_commit) for ref in refs.branches] == [("main", second)]
    assert [(ref.name, ref.target_commit) for ref in refs.tags] == [("v1", first)]
    assert HfApi().model_info("me/moving", revision="v1").config is None
    assert refs.pull_requests is not None
    assert [ref.ref for ref in refs.pull_requests] == ["refs/pr/1"]


def test_what_is_not_there_is_told_apart(hub: Hub, commit: str) -> None:
    with pytest.raises(RepositoryNotFoundError):
        HfApi().model_info("me/nothing")
    with pytest.raises(RevisionNotFoundError):
        HfApi().model_info("me/tiny", revision="nothing")
    with pytest.raises(RemoteEntryNotFoundError):
        hf_hub_download("me/tiny", "nothing.json")
    with pytest.raises(OSError, match="not a valid model identifier"):
        transformers.AutoConfig.from_pretrained("me/nothing")


def test_private_and_gated_repositories_want_a_token(hub: Hub, tiny_folder: Path) -> None:
    hub.add("me/private", tiny_folder, private=True)
    hub.add("me/gated", tiny_folder, gated=True)
    for token, status in ((False, 401), (STRANGER, 404)):
        with pytest.raises(RepositoryNotFoundError) as hidden:
            HfApi().model_info("me/private", token=token)
        assert hidden.value.response.status_code == status
    for token, status in ((False, 401), (STRANGER, 403)):
        assert HfApi().model_info("me/gated", token=token).gated == "manual"
        with pytest.raises(GatedRepoError) as gated:
            hf_hub_download("me/gated", "config.json", token=token)
        assert gated.value.response.status_code == status
    for repo in ("me/private", "me/gated"):
        assert hf_hub_download(repo, "config.json", token=TOKEN)
    with pytest.raises(HfHubHTTPError, match="Invalid credentials"):
        HfApi().model_info("me/gated", token="hf_unknown")


def test_another_process_is_pointed_by_its_environment(hub: Hub, commit: str, tmp_path: Path) -> None:
    program = "import huggingface_hub; print(huggingface_hub.snapshot_download('me/tiny'))"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | environment(hub, tmp_path / "another"),
    )
    assert answer.returncode == 0, answer.stderr
    assert Path(answer.stdout.strip()).is_relative_to(tmp_path / "another")


def test_a_corpus_is_streamed(hub: Hub, corpus: Path) -> None:
    splits = datasets.load_dataset("me/corpus", streaming=True)
    assert {name: [row["text"] for row in split] for name, split in splits.items()} == {
        name: [f"{name}: {sentence}" for sentence in SENTENCES] for name in ("train", "test")
    }
    other = datasets.load_dataset("me/corpus", "other", split="train", streaming=True)
    assert next(iter(other)) == {"text": f"some: {SENTENCES[0]}"}
    with pytest.raises(ValueError, match=r"not found\. Available: \['main', 'other'\]"):
        datasets.load_dataset("me/corpus", "third", streaming=True)


def test_a_corpus_is_kept(hub: Hub, corpus: Path, tmp_path: Path) -> None:
    assert datasets.load_dataset("me/corpus", split="train")["text"][2] == f"train: {SENTENCES[2]}"
    assert list((tmp_path / "cache" / "datasets").rglob("*.arrow"))


def test_a_script_is_refused_and_its_conversion_read(hub: Hub, tmp_path: Path) -> None:
    script, converted = tmp_path / "script", tmp_path / "converted"
    script.mkdir()
    (script / "old.py").write_text("raise SystemExit")
    (converted / "default" / "train").mkdir(parents=True)
    pq.write_table(pa.table({"text": SENTENCES}), converted / "default" / "train" / "0000.parquet")
    hub.add("me/old", script, kind="dataset")
    with pytest.raises(RuntimeError, match=r"Dataset scripts are no longer supported, but found old\.py"):
        datasets.load_dataset("me/old", streaming=True)
    with pytest.raises(RevisionNotFoundError):
        list(HfApi().list_repo_tree("me/old", repo_type="dataset", revision="refs/convert/parquet"))

    hub.add("me/old", converted, kind="dataset", revision="refs/convert/parquet")
    listed = HfApi().list_repo_tree("me/old", repo_type="dataset", revision="refs/convert/parquet", recursive=True)
    assert "default/train/0000.parquet" in [entry.path for entry in listed]
    found = HfFileSystem().glob("datasets/me/old@refs/convert/parquet/**/*.parquet")
    assert found == ["datasets/me/old@refs/convert/parquet/default/train/0000.parquet"]
    with HfFileSystem().open(found[0]) as file:
        assert pq.read_table(file)["text"].to_pylist() == SENTENCES
    rows = datasets.load_dataset("me/old", split="train", streaming=True, revision="refs/convert/parquet")
    assert [row["text"] for row in rows] == SENTENCES


def test_a_row_group_is_read_without_the_rest(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    texts = [Random(seed).randbytes(1000).hex() for seed in range(1000)]
    pq.write_table(pa.table({"text": texts}), folder / "0.parquet", row_group_size=100, use_dictionary=False)
    hub.add("me/large", folder, kind="dataset")
    size = (folder / "0.parquet").stat().st_size
    with HfFileSystem().open("datasets/me/large/0.parquet", cache_type="none") as file:
        assert pq.ParquetFile(file).read_row_group(3)["text"].to_pylist() == texts[300:400]
    assert size // 10 <= hub.bytes_sent("*/0.parquet") < size // 5
    asked = [request for request in hub.requests if request.path.endswith("/0.parquet")]
    assert {request.status for request in asked} == {206}
    assert all(request.range.startswith("bytes=") for request in asked)


@pytest.mark.parametrize(
    ("how", "status", "kind"),
    [
        ("401", 401, HfHubHTTPError),
        ("403", 403, HfHubHTTPError),
        ("gated", 401, GatedRepoError),
        ("404", 404, RepositoryNotFoundError),
        ("429", 429, HfHubHTTPError),
        ("500", 500, HfHubHTTPError),
    ],
)
def test_a_refusal_reaches_the_client(hub: Hub, commit: str, how: str, status: int, kind: type) -> None:
    hub.misbehave("/api/models/me/*", how, times=1)
    with pytest.raises(kind) as refused:
        HfApi().model_info("me/tiny")
    assert type(refused.value) is kind
    assert refused.value.response.status_code == status
    assert HfApi().model_info("me/tiny").sha == commit


@pytest.mark.parametrize(("how", "kind"), [("cut", httpx2.RemoteProtocolError), ("stall", httpx2.ReadTimeout)])
def test_a_broken_body_is_an_error_and_then_asked_for_again(
    hub: Hub, commit: str, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, how: str, kind: type[Exception]
) -> None:
    hub.misbehave(f"*/{WEIGHTS}", how, times=2)
    with pytest.raises(kind):
        huggingface_hub.get_session().get(address(hub), timeout=0.3)
    size = (tiny_folder / WEIGHTS).stat().st_size
    assert hub.bytes_sent() == size // 2
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.3)
    assert sha256(Path(hf_hub_download("me/tiny", WEIGHTS))) == sha256(tiny_folder / WEIGHTS)
    assert hub.requests[-1].range == ""  # the client keeps what it has of a file only by 10 MiB


def test_a_large_file_is_resumed(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / WEIGHTS).write_bytes(Random(0).randbytes(24 * 2**20))
    hub.add("me/large", folder)
    hub.misbehave(f"*/{WEIGHTS}", "cut", times=1)
    assert sha256(Path(hf_hub_download("me/large", WEIGHTS))) == sha256(folder / WEIGHTS)
    assert hub.requests[-1].range == f"bytes={10 * 2**20}-"
    assert hub.bytes_sent() == (12 + 14) * 2**20


def test_a_body_of_the_wrong_length_is_an_error(hub: Hub, commit: str) -> None:
    hub.misbehave(f"*/{WEIGHTS}", "wrong-length")
    with pytest.raises(OSError, match="Consistency check failed"):
        hf_hub_download("me/tiny", WEIGHTS)


def test_a_damaged_body_is_not_noticed_by_the_client(hub: Hub, commit: str, tiny_folder: Path) -> None:
    hub.misbehave(f"*/{WEIGHTS}", "damaged")
    path = Path(hf_hub_download("me/tiny", WEIGHTS))
    assert path.resolve().name == sha256(tiny_folder / WEIGHTS)
    assert sha256(path) != sha256(tiny_folder / WEIGHTS)
    assert path.stat().st_size == (tiny_folder / WEIGHTS).stat().st_size


def test_a_slow_body_arrives(hub: Hub, commit: str, tiny_folder: Path) -> None:
    hub.misbehave("*.json", "slow", seconds=0.02)
    began = time.monotonic()
    config = Path(hf_hub_download("me/tiny", "config.json"))
    assert time.monotonic() - began > 0.2
    assert json.loads(config.read_text())["hidden_size"] == 16


def test_a_stalled_body_does_not_keep_the_server(tiny_folder: Path) -> None:
    with serve_hub() as hub:
        hub.add("me/tiny", tiny_folder)
        hub.misbehave("*", "stall")
        response = urllib.request.urlopen(address(hub))
        assert response.read(100)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    response.close()
