import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants, file_download
from huggingface_hub.utils import _http
from support.tiny import write_bert


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing waits before it tries again, and no download outlives its test."""
    at_once = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    monkeypatch.setattr(file_download, "time", at_once)
    monkeypatch.setattr(_http, "time", at_once)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.5)
    monkeypatch.setattr("clsviz.sources.hub._PATIENCE_SECONDS", 0)
    yield
    for thread in threading.enumerate():
        if thread.name == "interruptible":
            thread.join(10)


@pytest.fixture(scope="session")
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
