from pathlib import Path

import pytest

from clsviz.api.inputs import open_store


def test_a_store_is_named_by_a_folder_or_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store("~/store").root == open_store(Path("~/store")).root == tmp_path / "store"
    assert open_store("memory://bucket/store/").address == "memory://bucket/store"
    monkeypatch.setenv("CLSVIZ_STORE", "memory://bucket/other")
    assert open_store(None).address == "memory://bucket/other"
