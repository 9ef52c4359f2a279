import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import file_download
from huggingface_hub.utils import _http


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client tries again as often as it does, without waiting in between."""
    for module in (_http, file_download):
        monkeypatch.setattr(module, "time", SimpleNamespace(**vars(time) | {"sleep": lambda _: None}))
    monkeypatch.setattr("clsviz.sources.hub._PATIENCE_SECONDS", 0.4)


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    """The name of a dataset that no other test has."""
    return f"me/{zlib.crc32(request.node.nodeid.encode()):08x}"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"
