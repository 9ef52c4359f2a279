"""Models of the Hub, by the real clients, against a stand-in that misbehaves."""

import errno
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
import torch
import transformers
from huggingface_hub import constants, file_download, hf_hub_download
from huggingface_hub.utils import _http
from support.hub import TOKEN, Hub, environment
from support.tiny import ARCHITECTURES, WORDS, write_bert, write_model

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.errors import CancelledError, ModelError
from clsviz.models import NotDownloadedError, Weights
from clsviz.progress import Progress

WEIGHTS = "model.safetensors"
SENTENCES = [
    "the old cat sat on the mat .",
    "a dog ran home",
    "then the small red cat saw a very big tree and ran",
    ".",
]
CHUNK = 64 * 1024
LOGIN = "log in where clsviz runs with: hf auth login."


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The client waits for nothing, writes small pieces, and no download outlives its test."""
    at_once = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    monkeypatch.setattr(file_download, "time", at_once)
    monkeypatch.setattr(_http, "time", at_once)
    monkeypatch.setattr("clsviz.hub.download._CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.5)
    yield
    for thread in threading.enumerate():
        if thread.name == "interruptible":
            thread.join(10)


@pytest.fixture(scope="module")
def large_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of some megabytes."""
    return write_bert(tmp_path_factory.mktemp("models") / "large", hidden_size=128, intermediate_size=2048)


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to be changed before it is served."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "hub"


class Watched(Progress):
    """Notes all it is told, and is cancelled as soon as so many units are there."""

    def __init__(self, cancel_at: float = float("inf")) -> None:
        super().__init__()
        self.cancel_at = cancel_at
        self.told: list[tuple[str, str, int, int]] = []

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        super().begin(stage, total, done, unit)
        self.told.append((stage, unit, done, total))

    def advance(self, done: int) -> None:
        super().advance(done)
        self.told.append((self.stage, self.unit, done, self.total))
        if done >= self.cancel_at:
            self.cancel()


def fingerprint(folder: Path, before: str = "") -> str:
    return models.find(f"{before}{folder}").fingerprint


def norms(weights: Weights) -> Any:
    return Encoder(weights, device="cpu").measure(SENTENCES).cls_norms


def change(path: Path, **settings: object) -> None:
    """Change settings of a JSON file; `...` takes one away."""
    changed = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({name: value for name, value in changed.items() if value is not ...}))


def refusal(name: str, **options: Any) -> str:
    """The sentence that refuses a model: of the user's kind, on one line, naming it, and saying what to do."""
    with pytest.raises(ModelError) as refused:
        models.fetch(name, **options)
    assert type(refused.value) is ModelError
    message = str(refused.value)
    assert message.isprintable()
    assert message.endswith(".")
    assert name.partition("@")[0].removeprefix("untrained:") in message
    return message


def fetched(hub: Hub, pattern: str = "*") -> list[str]:
    """The files that were asked for, whatever came of it."""
    return [r.path for r in hub.requests if r.method == "GET" and "/resolve/" in r.path and Path(r.path).match(pattern)]


def assert_whole(cache: Path) -> None:
    """Every content in the cache is what its name says, and nothing else is left."""
    for blob in cache.glob("models--*/blobs/*"):
        content = blob.read_bytes()
        digests = hashlib.sha256(content).hexdigest(), hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        assert blob.name in digests


# What is measured ------------------------------------------------------------------------------------------------


def write_byte_level_tokenizer(folder: Path) -> None:
    """As RoBERTa's: bytes and a few merges, <s> A </s> and <s> A </s></s> B </s>."""
    import tokenizers

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary = {token: index for index, token in enumerate(special)}
    for token in [*sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), "th", "the", "Ġthe", "at"]:
        vocabulary[token] = len(vocabulary)
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "t")]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
    ).save_pretrained(folder)  # fmt: skip


ROBERTA = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_every_architecture_is_measured_as_from_its_folder(model_type: str, hub: Hub, tmp_path: Path) -> None:
    is_roberta = model_type in ("roberta", "xlm-roberta")
    folder = write_model(tmp_path / "model", model_type, **(ROBERTA | {"vocab_size": 300} if is_roberta else {}))
    if is_roberta:
        write_byte_level_tokenizer(folder)
    commit = hub.add(f"owner/{model_type}", folder)
    weights = models.fetch(f"owner/{model_type}")
    assert weights.commit == commit
    assert weights.fingerprint == fingerprint(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for sentence, row in zip(SENTENCES, norms(weights), strict=True):
        encoded = tokenizer(sentence, return_tensors="pt")
        first = encoded["input_ids"][0, 0].item()
        assert tokenizer.decode([first]) == ("<s>" if is_roberta else "[CLS]")
        with torch.no_grad():
            states = model(**encoded, output_hidden_states=True).hidden_states
        np.testing.assert_allclose(row, [state[0, 0].norm().item() for state in states], rtol=1e-5)


def test_a_multilingual_bert_is_measured_as_from_its_folder(hub: Hub, tmp_path: Path) -> None:
    """Cased, and of several scripts, as multilingual BERT is."""
    import tokenizers

    words = ["Der", "Hund", "läuft", "Собака", "бежит", "犬", "走", "る", "dog", "##s", "كلب"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: index for index, token in enumerate(special + words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    folder = write_bert(tmp_path / "model")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    hub.add("owner/multilingual", folder)
    encoder = Encoder(models.fetch("owner/multilingual"), device="cpu")
    sentences = ["Der Hund läuft", "der hund", "Собака бежит", "犬走る", "dogs", "كلب"]
    assert [encoder.tokens(sentence) for sentence in sentences] == [
        ["Der", "Hund", "läuft"], ["[UNK]", "[UNK]"], ["Собака", "бежит"], ["犬", "走", "る"], ["dog", "##s"], ["كلب"],
    ]  # fmt: skip
    measured = encoder.measure(sentences)
    assert measured.n_tokens.tolist() == [3, 2, 2, 3, 2, 1]
    here = Encoder(models.find(str(folder)), device="cpu").measure(sentences)
    np.testing.assert_array_equal(measured.cls_norms, here.cls_norms)


def test_a_sentencepiece_model_is_enough_of_a_tokenizer(hub: Hub, tmp_path: Path) -> None:
    """As DeBERTa-v3 has it: without a tokenizer.json."""
    program = """
import sys, sentencepiece
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(sys.argv[2:] * 20), model_prefix=sys.argv[1], vocab_size=24, hard_vocab_limit=False,
    pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
)
"""
    pytest.importorskip("sentencepiece")
    folder = write_model(tmp_path / "model", "deberta-v2")
    for path in folder.glob("tokenizer*"):
        path.unlink()
    # In another process: it would not be imported here before transformers does so.
    subprocess.run([sys.executable, "-c", program, folder / "spm", *SENTENCES], check=True, capture_output=True)
    (folder / "spm.vocab").unlink()
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    hub.add("owner/pieces", folder)
    encoder = Encoder(models.fetch("owner/pieces"), device="cpu")
    assert "".join(encoder.tokens(SENTENCES[1])).replace("▁", " ").strip() == SENTENCES[1]
    here = Encoder(models.find(str(folder)), device="cpu").measure(SENTENCES).cls_norms
    np.testing.assert_array_equal(encoder.measure(SENTENCES).cls_norms, here)


def write_sentence_transformer(folder: Path, tiny_folder: Path, below: str) -> Path:
    """As sentence-transformers saves it, the transformer in a folder of its own or not."""
    shutil.copytree(tiny_folder, folder / below, dirs_exist_ok=True)
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (folder / "2_Dense").mkdir()
    shutil.copy(tiny_folder / WEIGHTS, folder / "2_Dense" / WEIGHTS)
    modules = [(below, "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense")]
    entries: list[dict[str, object]] = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "config_sentence_transformers.json").write_text("{}")
    return folder


@pytest.mark.parametrize("below", ["", "0_Transformer"])
def test_of_a_sentence_transformer_the_transformer_is_taken(
    below: str, hub: Hub, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"sentences/of{below}"
    commit = hub.add(name, write_sentence_transformer(tmp_path / "st", tiny_folder, below))
    assert models.download_megabytes(name, Progress()) == 1
    assert not hub.bytes_sent(f"*{WEIGHTS}")
    with pytest.raises(NotDownloadedError):
        models.find(name)
    weights = models.fetch(name)
    assert (weights.commit, weights.fingerprint) == (commit, fingerprint(tiny_folder))
    assert weights.folder.name == (below or commit)
    assert hub.bytes_sent(f"*{WEIGHTS}") == (tiny_folder / WEIGHTS).stat().st_size
    np.testing.assert_array_equal(norms(weights), norms(models.find(str(tiny_folder))))
    assert models.find(str(tmp_path / "st")).fingerprint == weights.fingerprint

    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for again in (name, f"{name}@main", f"{name}@{commit}"):
        assert models.fetch(again).folder == weights.folder
    assert not hub.requests


@pytest.mark.parametrize("content", ["{", "[1]", '{"path": "0_T"}', '[{"type": "x.Transformer", "path": "../.."}]'])
def test_a_damaged_list_of_modules_is_passed_over(content: str, hub: Hub, folder: Path) -> None:
    (folder / "modules.json").write_text(content)
    hub.add("owner/modules", folder)
    assert models.fetch("owner/modules").fingerprint == fingerprint(folder)


# Revisions -------------------------------------------------------------------------------------------------------


def test_a_model_of_the_hub_is_the_same_as_its_folder(hub: Hub, tiny_folder: Path) -> None:
    commit = hub.add("owner/tiny", tiny_folder)
    with pytest.raises(NotDownloadedError, match=r"owner/tiny has to be downloaded"):
        models.find("owner/tiny")
    assert not hub.requests
    weights = models.fetch("owner/tiny")
    assert weights.commit == commit
    assert weights.pinned == f"owner/tiny@{commit}"
    assert weights.fingerprint == fingerprint(tiny_folder)
    hub.requests.clear()
    for name in ("owner/tiny", f"owner/tiny@{commit}"):
        assert models.find(name).folder == weights.folder
    assert not hub.requests


def test_a_revision_is_a_branch_a_tag_a_pull_request_or_a_commit(hub: Hub, folder: Path) -> None:
    expected = {}
    for revision in ("side", "refs/tags/v1.0", "refs/pr/1", "feature/x", "main"):
        change(folder / "config.json", note=revision)
        expected[revision.removeprefix("refs/tags/")] = (
            hub.add("owner/many", folder, revision=revision),
            fingerprint(folder),
        )
    for revision, (commit, digest) in expected.items():
        weights = models.fetch(f"owner/many@{revision}")
        assert (weights.commit, weights.fingerprint) == (commit, digest)
        assert weights.pinned == f"owner/many@{commit}"
        assert models.find(f"owner/many@{commit}").folder == weights.folder
    assert len({digest for _, digest in expected.values()}) == 5
    hub.requests.clear()
    for revision, (commit, _) in expected.items():
        assert models.find(f"owner/many@{revision}").commit == commit
    assert models.find("owner/many").commit == expected["main"][0]
    assert not hub.requests


def test_a_whole_commit_is_found_without_its_branch(hub: Hub, folder: Path) -> None:
    first, digest = hub.add("owner/past", folder), fingerprint(folder)
    change(folder / "config.json", note="moved")
    hub.add("owner/past", folder)
    assert models.fetch(f"owner/past@{first}").fingerprint == digest


def test_a_name_without_a_revision_stays_at_what_is_there(hub: Hub, folder: Path) -> None:
    first, old = hub.add("owner/moving", folder), fingerprint(folder)
    models.fetch("owner/moving")
    change(folder / "config.json", note="moved")
    second, new = hub.add("owner/moving", folder), fingerprint(folder)
    hub.requests.clear()
    assert models.fetch("owner/moving").commit == first
    assert not hub.requests
    pinned = models.fetch(f"owner/moving@{second}")
    assert (pinned.commit, pinned.fingerprint) == (second, new)
    assert not hub.bytes_sent(f"*{WEIGHTS}")  # the same as before: the cache has them
    kept = models.fetch("owner/moving")
    assert (kept.commit, kept.fingerprint) == (first, old)


def test_a_repository_that_moved_is_found_again_by_its_old_name(hub: Hub, folder: Path) -> None:
    """As bert-base-cased, which is google-bert/bert-base-cased now: the Hub answers with the new name."""
    hub.add("new-owner/moved", folder)
    hub._repos["model", "old"] = hub._repos["model", "new-owner/moved"]
    weights = models.fetch("old")
    hub.requests.clear()
    assert models.find("old").folder == weights.folder
    assert not hub.requests


# Without the network ---------------------------------------------------------------------------------------------


def test_what_is_cached_needs_no_network(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.add("owner/kept", folder)
    weights = models.fetch("owner/kept")
    hub.requests.clear()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    for offline in (False, True):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        for name in ("owner/kept", "owner/kept@main", f"owner/kept@{commit}"):
            assert models.fetch(name).folder == weights.folder
        assert models.fetch("untrained:owner/kept").commit == commit
    np.testing.assert_array_equal(norms(weights), norms(models.find(str(folder))))
    assert not hub.requests


@pytest.mark.parametrize(
    "files",
    [
        ["config.json"],
        ["config.json", "tokenizer_config.json"],
        ["config.json", "tokenizer_config.json", WEIGHTS],
        ["config.json", "tokenizer.json", WEIGHTS],
        ["tokenizer.json", WEIGHTS],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("untrained", [False, True])
def test_what_other_programs_have_left_is_completed(files: list[str], untrained: bool, hub: Hub, folder: Path) -> None:
    hub.add("owner/half", folder)
    for file in files:
        hf_hub_download("owner/half", file)
    hub.requests.clear()
    name = "untrained:owner/half" if untrained else "owner/half"
    weights = models.fetch(name)
    assert weights.fingerprint == fingerprint(folder, "untrained:" if untrained else "")
    assert not {Path(path).name for path in fetched(hub)} & set(files)
    assert models.find(name) == weights


def test_a_tokenizer_without_settings_is_complete(hub: Hub, folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    hub.add("owner/plain", folder)
    weights = models.fetch("owner/plain")
    hub.requests.clear()
    assert models.find("owner/plain") == weights
    assert not hub.requests


def test_an_interrupted_download_for_an_untrained_one_is_not_taken_for_complete(hub: Hub, folder: Path) -> None:
    """Its vocabulary has to be all there: another would be measured without anyone noticing."""
    hub.add("owner/settings", folder)
    hub.misbehave("*/tokenizer_config.json", "500")
    assert "(500)" in refusal("untrained:owner/settings")
    with pytest.raises(NotDownloadedError):
        models.find("untrained:owner/settings")
    hub.behave()
    models.fetch("untrained:owner/settings")
    assert models.find("untrained:owner/settings")


# Downloads -------------------------------------------------------------------------------------------------------


def test_a_download_that_was_cut_goes_on_where_it_was(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/cut", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "cut")
    said: list[logging.LogRecord] = []
    noise = logging.Handler()
    noise.emit = said.append  # type: ignore[method-assign]
    logging.getLogger("huggingface_hub").addHandler(noise)
    message = refusal("owner/cut")
    logging.getLogger("huggingface_hub").removeHandler(noise)
    assert "broke off" in message
    assert "goes on from there" in message
    assert not said
    [part] = cache.glob("*/blobs/*part")
    there, size = part.stat().st_size, (large_folder / WEIGHTS).stat().st_size
    assert size / 2 - CHUNK < there < size
    with pytest.raises(NotDownloadedError):
        models.find("owner/cut")
    assert "broke off" in refusal("owner/cut")  # and what is there stays

    hub.behave()
    there = part.stat().st_size
    hub.requests.clear()
    progress = Watched()
    assert models.fetch("owner/cut", progress=progress).fingerprint == fingerprint(large_folder)
    assert [r.range for r in hub.requests if r.method == "GET" and r.path.endswith(WEIGHTS)] == [f"bytes={there}-"]
    assert hub.bytes_sent(f"*{WEIGHTS}") == size - there
    assert ("Downloading owner/cut", "MB", there // 10**6, size // 10**6) in progress.told
    assert_whole(cache)


def test_a_download_that_was_cancelled_goes_on_where_it_was(hub: Hub, large_folder: Path, cache: Path) -> None:
    commit = hub.add("owner/cancelled", large_folder)
    size = (large_folder / WEIGHTS).stat().st_size
    hub.misbehave(f"*{WEIGHTS}", "slow", seconds=0.005)
    with pytest.raises(CancelledError):
        models.fetch("owner/cancelled", progress=Watched(cancel_at=size // 2 // 10**6))
    hub.behave()
    weights = models.fetch("owner/cancelled")
    assert (weights.commit, weights.fingerprint) == (commit, fingerprint(large_folder))
    first, second = [r for r in hub.requests if r.method == "GET" and r.path.endswith(WEIGHTS)]
    assert first.n_bytes < size
    assert int(second.range.removeprefix("bytes=").removesuffix("-")) == size - second.n_bytes >= size // 4
    assert_whole(cache)


def test_a_download_is_cancelled_although_nothing_arrives(hub: Hub, large_folder: Path) -> None:
    hub.add("owner/stalled", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "stall")
    progress = Watched()
    threading.Timer(0.3, progress.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        models.fetch("owner/stalled", progress=progress)
    assert 0.3 <= time.monotonic() - began < 1.3
    hub.behave()
    assert models.fetch("owner/stalled").fingerprint == fingerprint(large_folder)


def test_looking_for_a_model_is_cancelled_although_nothing_arrives(hub: Hub, tiny_folder: Path) -> None:
    hub.add("owner/silent", tiny_folder)
    hub.misbehave("/api/models/owner/silent*", "stall")
    progress = Progress()
    threading.Timer(0.2, progress.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        models.fetch("owner/silent", progress=progress)
    assert time.monotonic() - began < 1.2
    hub.closing = True  # what it waits for ends
    for thread in threading.enumerate():
        if thread.name == "interruptible":
            thread.join(10)
    hub.closing = False


def test_progress_is_of_megabytes_and_never_goes_back(hub: Hub, large_folder: Path) -> None:
    hub.add("owner/progress", large_folder)
    progress = Watched()
    models.fetch("owner/progress", progress=progress)
    assert progress.told[0] == ("Looking for owner/progress on the Hugging Face Hub", "", 0, 0)
    total = (large_folder / WEIGHTS).stat().st_size // 10**6
    downloaded = [
        done for stage, unit, done, of in progress.told if (unit, of) == ("MB", total) and "Downloading" in stage
    ]
    assert downloaded == sorted(downloaded)
    assert set(downloaded) == set(range(total + 1))
    assert progress.told[-1] == ("Downloading owner/progress", "MB", total, total)


@pytest.mark.parametrize("file", [WEIGHTS, "tokenizer.json", "config.json"])
def test_damage_on_the_way_is_noticed(file: str, hub: Hub, folder: Path, cache: Path) -> None:
    hub.add("owner/damaged", folder)
    hub.misbehave(f"*/{file}", "damaged", times=1)
    assert "damaged on its way" in refusal("owner/damaged")
    assert_whole(cache)
    assert not list(cache.glob(f"*/snapshots/*/{file}"))
    with pytest.raises(NotDownloadedError):
        models.find("owner/damaged")
    assert models.fetch("owner/damaged").fingerprint == fingerprint(folder)
    assert_whole(cache)


def test_a_file_that_ends_early_is_completed(hub: Hub, folder: Path, cache: Path) -> None:
    hub.add("owner/short", folder)
    hub.misbehave(f"*{WEIGHTS}", "wrong-length", times=1)
    assert "broke off" in refusal("owner/short")
    hub.requests.clear()
    assert models.fetch("owner/short").fingerprint == fingerprint(folder)
    assert hub.bytes_sent(f"*{WEIGHTS}") == 1
    assert_whole(cache)


def write_shards(folder: Path, large_folder: Path) -> Path:
    shutil.copytree(large_folder, folder)
    (folder / WEIGHTS).unlink()
    transformers.AutoModel.from_pretrained(large_folder).save_pretrained(folder, max_shard_size="1MB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    return folder


def test_an_interrupted_download_of_shards_is_not_taken_for_complete(
    hub: Hub, large_folder: Path, tmp_path: Path, cache: Path
) -> None:
    folder = write_shards(tmp_path / "shards", large_folder)
    last = max(path.name for path in folder.glob("*.safetensors"))
    hub.add("owner/shards", folder)
    hub.misbehave(f"*/{last}", "500")
    assert "(500)" in refusal("owner/shards")
    with pytest.raises(NotDownloadedError):
        models.find("owner/shards")
    hub.behave()
    hub.requests.clear()
    weights = models.fetch("owner/shards")
    assert [Path(path).name for path in fetched(hub)] == [last]
    assert weights.fingerprint == fingerprint(folder)
    np.testing.assert_array_equal(norms(weights), norms(models.find(str(large_folder))))
    assert_whole(cache)


def test_a_shard_without_the_list_of_all_is_not_taken_for_complete(
    hub: Hub, large_folder: Path, tmp_path: Path
) -> None:
    folder = write_shards(tmp_path / "shards", large_folder)
    hub.add("owner/shard", folder)
    files = [path.name for path in folder.iterdir() if path.suffix != ".safetensors" and "index" not in path.name]
    for file in [*files, min(path.name for path in folder.glob("*.safetensors"))]:
        hf_hub_download("owner/shard", file)
    with pytest.raises(NotDownloadedError):
        models.find("owner/shard")
    assert models.fetch("owner/shard").fingerprint == fingerprint(folder)


def test_two_at_once_fetch_a_model_once(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/twice", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "slow", seconds=0.002)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: models.fetch("owner/twice"), range(2)))
    assert both[0] == both[1]
    assert both[0].fingerprint == fingerprint(large_folder)
    assert hub.bytes_sent(f"*{WEIGHTS}") == (large_folder / WEIGHTS).stat().st_size
    assert_whole(cache)


# Refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/api/models/*", f"*{WEIGHTS}"])
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("401", f"does not let you read owner/refused (401). If it is yours to read, {LOGIN}"),
        ("403", f"does not let you read owner/refused (403). If it is yours to read, {LOGIN}"),
        (
            "gated",
            "owner/refused is gated. Ask for access on its page on the Hugging Face Hub; then, where clsviz runs, log "
            "in with: hf auth login.",
        ),
        ("404", f"Hub has no model owner/refused, or it is private. Check its name; if it is private, {LOGIN}"),
        ("429", "too many requests from here to give owner/refused (429). Wait some minutes, then try again."),
        (
            "500",
            "cannot give owner/refused at the moment (500). Try again later, or choose MiniLM-L6, which is built in.",
        ),
    ],
)
def test_each_refusal_is_one_sentence(how: str, message: str, place: str, hub: Hub, folder: Path) -> None:
    hub.add("owner/refused", folder)
    hub.misbehave(place, how)
    assert refusal("owner/refused").endswith(message)
    with pytest.raises(NotDownloadedError):
        models.find("owner/refused")
    hub.behave()
    assert models.fetch("owner/refused").fingerprint == fingerprint(folder)


@pytest.mark.parametrize("kind", ["private", "gated"])
def test_what_is_not_for_all_takes_a_token(kind: str, hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(f"owner/{kind}", folder, private=kind == "private", gated=kind == "gated")
    message = refusal(f"owner/{kind}")
    assert kind in message
    assert message.endswith("hf auth login.")
    assert not fetched(hub, WEIGHTS)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert models.fetch(f"owner/{kind}").fingerprint == fingerprint(folder)


def test_a_hub_that_nobody_answers_for_is_one_sentence(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    message = refusal("owner/unreachable")
    assert "cannot be reached for owner/unreachable" in message
    assert "Check the connection" in message


def test_an_answer_that_is_none_of_the_hub_is_one_sentence(hub: Hub, folder: Path) -> None:
    """As of a page to log in to a network."""
    hub.add("owner/portal", folder)
    hub.misbehave("/api/models/*", "wrong-length")
    assert "network wants a login" in refusal("owner/portal")


def test_the_wish_to_stay_offline_is_heeded(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("owner/offline", folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE forbids" in refusal("owner/offline")
    assert not hub.requests


def test_a_revision_that_is_not_there_is_named(hub: Hub, folder: Path) -> None:
    hub.add("owner/revised", folder)
    assert "no revision “no-such-branch”" in refusal("owner/revised@no-such-branch")
    assert "no revision" in refusal(f"owner/revised@{'0' * 40}")


def test_pickled_weights_are_refused_before_anything_is_fetched(hub: Hub, folder: Path, cache: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "modules.json").write_text("[]")
    hub.add("owner/pickled", folder)
    message = refusal("owner/pickled")
    assert "safetensors" in message
    assert "refs/pr/" in message
    assert not fetched(hub)
    assert not list(cache.rglob("*.bin"))
    assert models.fetch("untrained:owner/pickled").untrained


@pytest.mark.parametrize(
    ("missing", "message"),
    [("tokenizer*", "has no tokenizer"), ("config.json", "has no config.json"), (WEIGHTS, "no model.safetensors")],
)
def test_what_is_missing_is_said_before_anything_is_fetched(
    missing: str, message: str, hub: Hub, folder: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in folder.glob(missing):
        path.unlink()
    hub.add("owner/lacking", folder)
    monkeypatch.chdir(tiny_folder)  # a model, but not the one that is asked for
    assert message in refusal("owner/lacking")
    assert not fetched(hub)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"architectures": ["BertLMHeadModel"], "is_decoder": True}, "is a decoder"),
        ({"architectures": ["GPT2LMHeadModel"]}, "is a decoder"),
        ({"architectures": ["LlamaForCausalLM"]}, "is a decoder"),
        ({"is_encoder_decoder": True}, "is an encoder with a decoder"),
        ({"architectures": ["T5ForConditionalGeneration"]}, "is an encoder with a decoder"),
    ],
)
def test_a_decoder_is_refused_before_its_weights_are_fetched(
    settings: dict[str, object], message: str, hub: Hub, folder: Path
) -> None:
    change(folder / "config.json", **settings)
    hub.add("owner/decoder", folder)
    for name in ("owner/decoder", "untrained:owner/decoder"):
        assert message in refusal(name)
    assert hub.bytes_sent("*config.json")
    assert not fetched(hub, WEIGHTS)


@pytest.mark.parametrize("architecture", ["XLNetLMHeadModel", "FlaubertWithLMHeadModel", "BertForMaskedLM"])
def test_an_encoder_is_not_taken_for_a_decoder(architecture: str, hub: Hub, folder: Path) -> None:
    change(folder / "config.json", architectures=[architecture])
    hub.add("owner/encoder", folder)
    assert models.fetch("owner/encoder").fingerprint == fingerprint(folder)


def test_a_real_decoder_is_refused(hub: Hub, folder: Path) -> None:
    """One whose configuration does not say it."""
    config = transformers.GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2Model(config).save_pretrained(folder)
    hub.add("owner/gpt", folder)
    with pytest.raises(ModelError, match=r"The \[CLS\] of owner/gpt does not see the words that follow it"):
        Encoder(models.fetch("owner/gpt"), device="cpu")


def refused_when_loaded(weights: Weights) -> str:
    with pytest.raises(ModelError) as refused:
        Encoder(weights, device="cpu")
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith(weights.name)
    return str(refused.value)


@pytest.mark.parametrize("model_type", ["bert", "my_bert"])
@pytest.mark.parametrize("elsewhere", ["", "owner/code--"])
def test_code_that_comes_with_a_model_never_runs(
    model_type: str, elsewhere: str, hub: Hub, folder: Path, tmp_path: Path
) -> None:
    expected = norms(models.find(str(folder)))
    trace = tmp_path / "it-ran"
    for path in (folder, tmp_path / "code"):
        path.mkdir(exist_ok=True)
        for name in ("configuring", "modeling", "tokenizing"):
            (path / f"{name}.py").write_text(f"open({str(trace)!r}, 'w')\n")
    hub.add("owner/code", tmp_path / "code")
    classes = {"AutoConfig": f"{elsewhere}configuring.Config", "AutoModel": f"{elsewhere}modeling.Model"}
    change(folder / "config.json", model_type=model_type, auto_map=classes)
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [f"{elsewhere}tokenizing.Tokenizer", None]})
    hub.add("owner/custom", folder)
    weights = models.fetch("owner/custom")
    if model_type == "bert":
        np.testing.assert_array_equal(norms(weights), expected)
    else:
        assert "needs code that comes with it" in refused_when_loaded(weights)
    assert not trace.exists()
    assert not fetched(hub, "*.py")
    assert not list(tmp_path.glob("cache/**/*.py"))


def test_code_that_a_configuration_asks_for_is_not_fetched(hub: Hub, folder: Path) -> None:
    """An implementation of attention may be named by its repository: built code, which would be run."""
    expected = norms(models.find(str(folder)))
    change(folder / "config.json", attn_implementation="owner/kernel")
    hub.add("owner/attention", folder)
    weights = models.fetch("owner/attention")
    hub.requests.clear()
    np.testing.assert_array_equal(norms(weights), expected)
    assert not hub.requests


def test_an_unknown_architecture_is_named(hub: Hub, folder: Path) -> None:
    change(folder / "config.json", model_type="of-tomorrow")
    hub.add("owner/tomorrow", folder)
    message = refused_when_loaded(models.fetch("owner/tomorrow"))
    assert f"is of the type “of-tomorrow”, which transformers {transformers.__version__} does not know" in message


def test_a_full_disk_is_noticed_before_the_download(
    hub: Hub, large_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/large", large_folder)
    free = (large_folder / WEIGHTS).stat().st_size - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10**12, used=10**12 - free, free=free))
    message = refusal("owner/large")
    assert "The disk is too full for owner/large" in message
    assert "HF_HOME" in message
    assert not fetched(hub, WEIGHTS)


def test_all_shards_have_to_find_room(
    hub: Hub, large_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_shards(tmp_path / "shards", large_folder)
    hub.add("owner/room", folder)
    free = sum(path.stat().st_size for path in folder.glob("*.safetensors")) - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10**12, used=10**12 - free, free=free))
    assert "The disk is too full" in refusal("owner/room")
    assert not fetched(hub, "*.safetensors")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_disk_that_fills_up_is_one_sentence(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/filling", large_folder)
    models.fetch("untrained:owner/filling")
    digest = hashlib.sha256((large_folder / WEIGHTS).read_bytes()).hexdigest()
    part = next(cache.glob("*/blobs")) / f"{digest}.clsviz-part"
    part.symlink_to("/dev/full")
    assert f"The disk is too full for owner/filling ({os.strerror(errno.ENOSPC)})" in refusal("owner/filling")
    part.unlink()
    assert models.fetch("owner/filling").fingerprint == fingerprint(large_folder)


def test_a_cache_that_cannot_be_written_is_named(hub: Hub, folder: Path, cache: Path) -> None:
    hub.add("owner/unwritable", folder)
    cache.parent.mkdir()
    cache.write_text("A file in the place of the folder.")
    message = refusal("owner/unwritable")
    assert f"owner/unwritable cannot be kept in {cache}" in message
    assert "HF_HOME" in message


def test_too_little_memory_is_said_before_the_weights_are_read(
    hub: Hub, large_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/memory", large_folder)
    weights = models.fetch("owner/memory")

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the weights are read")

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", read)
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: SimpleNamespace(available=(large_folder / WEIGHTS).stat().st_size)
    )
    with pytest.raises(ModelError, match=r"memory needs about 0\.0 GB of memory, and 0\.0 GB are free") as refused:
        Encoder(weights, device="cpu")
    assert "Close other programs" in str(refused.value)
    with pytest.raises(ModelError, match=r"untrained memory needs about"):
        Encoder(models.fetch("untrained:owner/memory"), device="cpu")


# Untrained -------------------------------------------------------------------------------------------------------


def test_an_untrained_model_of_the_hub_fetches_no_weights(hub: Hub, large_folder: Path) -> None:
    commit = hub.add("owner/control", large_folder)
    assert models.download_megabytes("untrained:owner/control", Progress()) == 1
    weights = models.fetch("untrained:owner/control")
    assert weights.commit == commit
    assert weights.pinned == f"untrained:owner/control@{commit}"
    assert weights.fingerprint == fingerprint(large_folder, "untrained:")
    control = norms(weights)
    np.testing.assert_array_equal(control, norms(models.find(f"untrained:{large_folder}")))
    assert not fetched(hub, WEIGHTS)
    trained = models.fetch("owner/control")
    assert trained.fingerprint == fingerprint(large_folder) != weights.fingerprint
    assert not np.isclose(norms(trained), control).any()
    hub.requests.clear()
    assert models.find("untrained:owner/control") == weights
    assert not hub.requests


def test_another_process_goes_on_with_what_is_there(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/process", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "cut")
    assert "broke off" in refusal("owner/process")
    hub.behave()
    hub.requests.clear()
    # The stand-in's address is in the environment alone.
    program = "from clsviz import models; print(models.fetch('owner/process').fingerprint)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | environment(hub, cache.parent)
    )
    assert (answer.stdout.strip(), answer.stderr) == (fingerprint(large_folder), "")
    assert hub.bytes_sent(f"*{WEIGHTS}") < (large_folder / WEIGHTS).stat().st_size / 2 + CHUNK


def test_the_tests_words_are_those_of_the_models() -> None:
    assert {word for sentence in SENTENCES for word in sentence.split()} <= set(WORDS)


def test_a_misspelt_name_is_answered_with_the_one_that_is_near(hub: Hub) -> None:
    assert refusal("minilmm").endswith("Perhaps minilm was meant.")
    assert refusal("roberta").endswith("Perhaps roberta-base was meant.")
    assert "Perhaps" not in refusal("owner/minilm")
