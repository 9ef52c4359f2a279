"""What goes wrong at the Hub, in one sentence each, for models and for datasets."""

import contextlib
import errno
import hashlib
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest
from huggingface_hub import constants
from support.datasets import TEXTS, draw, listing_of, opened, publish, write, write_script
from support.hub import STRANGER, TOKEN, Hub
from support.hub_models import LOGIN, WEIGHTS, fetched, fingerprint, refusal
from support.tiny import write_dataset

from clsviz.errors import CorpusError
from clsviz.sources import models
from clsviz.sources.models import NotDownloadedError

pytestmark = pytest.mark.usefixtures("quickly")

REFUSALS = {
    "401": f"does not let you read {{name}} (401). If it is yours to read, {LOGIN}",
    "403": f"does not let you read {{name}} (403). If it is yours to read, {LOGIN}",
    "gated": "{name} is gated. Ask for access on its page on the Hugging Face Hub; then, where clsviz runs, log in "
    "with: hf auth login.",
    "404": f"Hub has no {{kind}} {{name}}, or it is private. Check its name; if it is private, {LOGIN}",
    "429": "too many requests from here to serve {name} (429). Wait a few minutes, then try again.",
    "500": "cannot serve {name} at the moment (500). Try again later, or choose {otherwise}, which is built in.",
}


@pytest.mark.parametrize("place", ["/api/*", "*/resolve/*"])
@pytest.mark.parametrize("how", REFUSALS)
def test_each_refusal_is_one_sentence(how: str, place: str, hub: Hub, folder: Path, repo: str, kept: Path) -> None:
    hub.add("owner/refused", folder)
    publish(hub, repo, folder.parent / "own")
    hub.misbehave(place, how)
    of_model = REFUSALS[how].format(name="owner/refused", kind="model", otherwise="MiniLM-L6")
    assert refusal("owner/refused").endswith(of_model)
    with pytest.raises(CorpusError) as refused:
        draw(opened(repo, kept))
    of_dataset = REFUSALS[how].format(name=repo, kind="dataset", otherwise="Python 3.11 documentation")
    assert str(refused.value).endswith(of_dataset)
    with pytest.raises(NotDownloadedError):
        models.find("owner/refused")
    hub.behave()
    assert models.fetch("owner/refused").fingerprint == fingerprint(folder)
    assert len(draw(opened(repo, kept), 10).sentences) == 10


@pytest.mark.parametrize("how", ["401", "403", "429", "500", "cut"])
@pytest.mark.parametrize("where", ["*/tree/*", "*/README.md", "*/paths-info/*"])
def test_a_fault_while_the_card_is_read_is_not_taken_for_a_dataset_without_data(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str, where: str
) -> None:
    """Else its conversion would be read, which is another corpus."""
    folder = tmp_path / "own"
    write(folder / "data" / "train.parquet", TEXTS[:3])
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: x\n  data_files: data/*\n---\n")
    hub.add(repo, folder, kind="dataset")
    converted = write_dataset(tmp_path / "converted", {"x": {"train": TEXTS[:3]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet")
    hub.misbehave(where, how)
    with contextlib.suppress(CorpusError):
        assert not listing_of(repo, kept).is_conversion  # as not all of these are needed
        return
    with pytest.raises(CorpusError, match=f"{repo} (?!has no Parquet files)|{repo}, or|for {repo}|serve {repo}"):
        listing_of(repo, kept)


@pytest.mark.parametrize(
    ("settings", "message"), [({"private": True}, "or it is private"), ({"gated": True}, "is gated. Ask for access")]
)
def test_what_is_private_or_gated_wants_a_token(
    settings: dict[str, bool], message: str, hub: Hub, repo: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = folder.parent / "kept"
    publish(hub, repo, folder.parent / "own", TEXTS[:10])
    hub.add(repo, folder.parent / "own", kind="dataset", **settings)
    hub.add("owner/model", folder, **settings)
    for token in ("", STRANGER):
        monkeypatch.setenv("HF_TOKEN", token)
        with pytest.raises(CorpusError, match=message):
            draw(opened(repo, kept))
        assert message in refusal("owner/model")
    assert not fetched(hub, WEIGHTS)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(draw(opened(repo, kept)).sentences) == 10
    assert models.fetch("owner/model").fingerprint == fingerprint(folder)


def test_a_gated_conversion_wants_a_token_only_when_it_is_read(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    converted = write_dataset(tmp_path / "converted", {"x": {"train": TEXTS[:3]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet", gated=True)
    assert listing_of(repo, kept).is_conversion
    with pytest.raises(CorpusError, match="is gated"):
        draw(opened(repo, kept))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert len(draw(opened(repo, kept)).sentences) == 3


def test_what_is_missing_is_named(hub: Hub, repo: str, folder: Path, tmp_path: Path, kept: Path) -> None:
    hub.add("owner/revised", folder)
    publish(hub, repo, tmp_path / "own")
    for revision in ("no-such-branch", "0" * 40):
        assert f"no revision “{revision}”" in refusal(f"owner/revised@{revision}")
        with pytest.raises(CorpusError, match=f"{repo} has no revision “{revision}”"):
            listing_of(repo, kept, revision)
    script = hub.add(f"{repo}-script", write_script(tmp_path / "script", f"{repo}-script"), kind="dataset")
    with pytest.raises(CorpusError, match=r"the Hugging Face Hub has not converted it to Parquet"):
        listing_of(f"{repo}-script", kept)
    with pytest.raises(
        CorpusError, match=r"has no Parquet files at its revision “\w{40}”. Leave out the @ and what follows it"
    ):
        listing_of(f"{repo}-script", kept, script)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("Nothing yet.")
    hub.add(f"{repo}-empty", tmp_path / "empty", kind="dataset")
    with pytest.raises(CorpusError, match="has no Parquet files"):
        listing_of(f"{repo}-empty", kept)
    assert refusal("minilmm").endswith("Perhaps you meant minilm.")
    assert refusal("roberta").endswith("Perhaps you meant roberta-base.")
    assert "Perhaps you meant" not in refusal("bert-large-uncased")  # which is right, whatever is wrong with the Hub
    assert "Perhaps" not in refusal("owner/minilm")


def test_a_hub_that_cannot_be_reached(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own")
    split = opened(repo, kept)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", constants.ENDPOINT + "/{repo_id}/{revision}/{filename}"
    )
    with pytest.raises(CorpusError, match=r"cannot be reached for me/other \(.*\)\. Check the connection and try"):
        listing_of("me/other", kept)
    with pytest.raises(CorpusError, match="cannot be reached for"):
        draw(split)
    assert "cannot be reached for owner/unreachable" in refusal("owner/unreachable")


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


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".", "", "-", "a/..", "../a", "a/../b", "a/b/c", "/", "a/", "/a", "a\\b", "a b", "a\nb", "a%2fb"),
        *("a?b=c", "a#b", "\N{GREEK SMALL LETTER ALPHA}/b", "x" * 97, f"{'x' * 300}/y", "a/b.git", "a\0b"),
        "http://127.0.0.1/a",
    ],
)
def test_what_is_no_name_of_a_dataset_is_not_asked_for(hub: Hub, kept: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="is not the name of a dataset"):
        listing_of(name, kept)
    assert hub.requests == []
    assert not kept.exists()


@pytest.mark.parametrize("revision", ["..", "../..", "/", "a/../../b", "refs/../x", "%2e%2e", "a b", "?x", "x" * 400])
def test_a_strange_revision_leads_nowhere(hub: Hub, repo: str, tmp_path: Path, kept: Path, revision: str) -> None:
    publish(hub, repo, tmp_path / "own")
    with pytest.raises(CorpusError, match=f"{repo} has no revision|names no"):
        listing_of(repo, kept, revision)
    with pytest.raises(CorpusError, match="has no dataset datasets/x"):
        listing_of("datasets/x", kept)
    assert not list(kept.glob("listing-*"))


@pytest.mark.parametrize("part", ["footer", "middle", "truncated", "no-parquet", "no-characters"])
def test_a_file_that_is_damaged_on_the_hub_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path, part: str) -> None:
    texts = pa.array([random.Random(i).randbytes(99).hex() for i in range(1000)])
    if part == "no-characters":
        texts = pa.array([b"A cat.", b"\xff\xfe"], pa.binary()).view(pa.string())
    path = write(tmp_path / "own" / "data" / "train.parquet", pa.table({"text": texts}))
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "footer": content[:-30] + b"\xff" * 20 + content[-10:],
            "middle": content[:4] + b"\xff" * (middle - 4) + content[middle:],
            "truncated": content[:middle],
            "no-parquet": b"Not a Parquet file at all, but of some length.",
        }.get(part, content)
    )
    hub.add(repo, tmp_path / "own", kind="dataset")
    with pytest.raises(CorpusError, match=f"{repo} has a damaged file \\(.+\\)\\. Choose another dataset"):
        draw(opened(repo, kept))
    assert not list(kept.rglob("round-*"))
