"""What the Hub refuses, in one sentence each."""

import errno
import hashlib
import os
from pathlib import Path

import pytest
from huggingface_hub import constants
from support.hub import TOKEN, Hub
from support.hub_models import LOGIN, WEIGHTS, fetched, fingerprint, refusal

from clsviz.sources import models
from clsviz.sources.models import NotDownloadedError

pytestmark = pytest.mark.usefixtures("quickly")


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
        ("429", "too many requests from here to serve owner/refused (429). Wait a few minutes, then try again."),
        (
            "500",
            "cannot serve owner/refused at the moment (500). Try again later, or choose MiniLM-L6, which is built in.",
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


def test_a_misspelt_name_is_answered_with_the_one_that_is_near(hub: Hub) -> None:
    assert refusal("minilmm").endswith("Perhaps you meant minilm.")
    assert refusal("roberta").endswith("Perhaps you meant roberta-base.")
    assert "Perhaps" not in refusal("owner/minilm")
