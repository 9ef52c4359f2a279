"""Models on the stand-in for the Hub: how they are published, fetched and compared."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import transformers

from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.progress import Progress
from clsviz.sources import models
from clsviz.sources.models import Weights
from support.hub import Hub

WEIGHTS = "model.safetensors"
SENTENCES = [
    "the old cat sat on the mat .",
    "a dog ran home",
    "then the small red cat saw a very big tree and ran",
    ".",
]
CHUNK = 64 * 1024
LOGIN = "log in where clsviz runs with: hf auth login."


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


def write_shards(folder: Path, large_folder: Path) -> Path:
    shutil.copytree(large_folder, folder)
    (folder / WEIGHTS).unlink()
    transformers.AutoModel.from_pretrained(large_folder).save_pretrained(folder, max_shard_size="1MB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    return folder
