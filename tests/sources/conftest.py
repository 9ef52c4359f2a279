import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants, file_download
from huggingface_hub.utils import _http
from support.corpora import SENTENCES
from support.tiny import write_bert

from clsviz.sources.catalogue import CORPORA, Source


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients try again as often as they do, without waiting in between."""
    at_once = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    for module in (_http, file_download):
        monkeypatch.setattr(module, "time", at_once)
    monkeypatch.setattr("clsviz.sources.hub._PATIENCE_SECONDS", 0.4)


@pytest.fixture
def quickly(quick_retries: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is tried again, and no download outlives its test."""
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
    """A copy of the tiny model, to be changed or spoilt."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "hub"


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    """The name of a dataset that no other test has."""
    return f"me/{zlib.crc32(request.node.nodeid.encode()):08x}"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def hundred(tmp_path: Path) -> str:
    path = tmp_path / "hundred.txt"
    path.write_text("\n".join(SENTENCES))
    return str(path)


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue entry “small”, of two files in a folder."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.py").write_text('"""The first sentence. The second sentence."""')
    (folder / "b.py").write_text('"""The second sentence. The third sentence."""')
    files: Callable[[], list[str]] = lambda: sorted(map(str, folder.glob("*.py")))  # noqa: E731
    monkeypatch.setitem(CORPORA, "small", Source("Small", "", files, lambda: "1", build_seconds=1))
    return folder
