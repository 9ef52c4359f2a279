import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.corpora import SENTENCES

from clsviz.sources.catalogue import CORPORA, Source


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


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    """The name of a dataset that no other test has."""
    return f"you/{zlib.crc32(request.node.nodeid.encode()):08x}"
