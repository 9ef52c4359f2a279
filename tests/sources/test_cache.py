"""What the cache holds, and what a revision means in it."""

from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants, hf_hub_download
from support.hub import Hub
from support.hub_models import WEIGHTS, change, fetched, fingerprint, norms, refusal

from clsviz.sources import models
from clsviz.sources.models import NotDownloadedError

pytestmark = pytest.mark.usefixtures("quickly")


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


def test_what_is_cached_needs_no_network(hub: Hub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.add("owner/kept", folder)
    with pytest.raises(NotDownloadedError, match=r"owner/kept has to be downloaded"):
        models.find("owner/kept")
    assert not hub.requests
    weights = models.fetch("owner/kept")
    assert (weights.commit, weights.pinned) == (commit, f"owner/kept@{commit}")
    assert weights.fingerprint == fingerprint(folder)
    hub.requests.clear()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    for offline in (False, True):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        for name in ("owner/kept", "owner/kept@main", f"owner/kept@{commit}"):
            assert models.fetch(name).folder == models.find(name).folder == weights.folder
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


def test_an_interrupted_download_for_an_untrained_one_is_not_taken_for_complete(hub: Hub, folder: Path) -> None:
    """Its vocabulary has to be all there: another would be measured without anyone noticing."""
    (folder / "tokenizer_config.json").rename(folder.parent / "settings")
    hub.add("owner/plain", folder)
    weights = models.fetch("owner/plain")  # which has none
    hub.requests.clear()
    assert models.find("owner/plain") == weights
    assert not hub.requests
    (folder.parent / "settings").rename(folder / "tokenizer_config.json")
    hub.add("owner/settings", folder)
    hub.misbehave("*/tokenizer_config.json", "500")
    assert "(500)" in refusal("untrained:owner/settings")
    with pytest.raises(NotDownloadedError):
        models.find("untrained:owner/settings")
    hub.behave()
    models.fetch("untrained:owner/settings")
    assert models.find("untrained:owner/settings")
