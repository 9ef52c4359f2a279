"""The Hub's client against a stand-in that misbehaves."""

from pathlib import Path

import pytest
from hub import Hub

from clsviz.models import NotDownloadedError, resolve


def test_a_model_of_the_hub_is_the_same_as_its_folder(hub: Hub, tiny_folder: Path) -> None:
    commit = hub.add("owner/tiny", tiny_folder)
    with pytest.raises(NotDownloadedError):
        resolve("owner/tiny", download=False)
    assert not hub.requests
    weights = resolve("owner/tiny", download=True)
    assert weights.commit == commit
    assert weights.pinned == f"owner/tiny@{commit}"
    assert weights.fingerprint == resolve(str(tiny_folder), download=False).fingerprint
    hub.requests.clear()
    for name in ("owner/tiny", f"owner/tiny@{commit}"):
        assert resolve(name, download=False).folder == weights.folder
    assert not hub.requests
