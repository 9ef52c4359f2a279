"""What goes wrong at the Hub while a dataset is read."""

import contextlib
import random
from pathlib import Path

import pyarrow as pa
import pytest
from huggingface_hub import constants
from support.datasets import TEXTS, draw, listing_of, opened, publish, write, write_script
from support.hub import STRANGER, TOKEN, Hub
from support.tiny import write_dataset

from clsviz.errors import CorpusError


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("401", r"does not let you read \S+ \(401\)\. If it is yours to read, log in"),
        ("403", r"does not let you read \S+ \(403\)"),
        ("gated", r"is gated\. Ask for access on its page"),
        ("404", r"has no dataset \S+, or it is private\. Check its name"),
        ("429", r"too many requests .*\(429\)\. Wait a few minutes"),
        ("500", r"cannot serve \S+ at the moment \(500\)\. Try again later"),
    ],
)
@pytest.mark.parametrize("where", ["/api/datasets/*", "*/resolve/*"])
def test_a_refusal_is_said_in_a_sentence(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str, message: str, where: str
) -> None:
    publish(hub, repo, tmp_path / "own")
    hub.misbehave(where, how)
    with pytest.raises(CorpusError, match=message) as refused:
        draw(opened(repo, kept))
    assert "\n" not in str(refused.value)
    hub.behave()
    assert len(draw(opened(repo, kept), 10).sentences) == 10


@pytest.mark.parametrize("how", ["401", "403", "429", "500", "cut"])
@pytest.mark.parametrize("where", ["*/tree/*", "*/README.md", "*/paths-info/*"])
def test_a_fault_while_the_card_is_read_is_not_taken_for_a_dataset_without_data(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, how: str, where: str, monkeypatch: pytest.MonkeyPatch
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


def test_private_and_gated_datasets_want_a_token(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own", TEXTS[:10])
    for settings, message in (({"private": True}, "or it is private"), ({"gated": True}, "is gated. Ask for access")):
        hub.add(repo, tmp_path / "own", kind="dataset", **settings)
        for token in ("", STRANGER):
            monkeypatch.setenv("HF_TOKEN", token)
            with pytest.raises(CorpusError, match=message):
                draw(opened(repo, kept))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        assert len(draw(opened(repo, tmp_path / str(settings))).sentences) == 10


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


def test_what_is_missing_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no dataset me/nothing, or it is private"):
        listing_of("me/nothing", kept)
    publish(hub, repo, tmp_path / "own")
    with pytest.raises(CorpusError, match="has no revision “v9”"):
        listing_of(repo, kept, "v9")
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
    assert not list(kept.glob("listing-*"))


def test_a_hub_that_cannot_be_reached(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own")
    split = opened(repo, kept)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", constants.ENDPOINT + "/{repo_id}/{revision}/{filename}"
    )
    with pytest.raises(
        CorpusError, match=r"cannot be reached for me/other \(.*\)\. Check the connection and try again"
    ):
        listing_of("me/other", kept)
    with pytest.raises(CorpusError, match="cannot be reached for"):
        draw(split)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "..",
            ".",
            "",
            "-",
            "a/..",
            "../a",
            "a/../b",
            "a/b/c",
            "/",
            "a/",
            "/a",
            "a\\b",
            "a b",
            "a\nb",
            "a%2fb",
            "a?b=c",
        ),
        *("a#b", "\N{GREEK SMALL LETTER ALPHA}/b", "x" * 97, f"{'x' * 300}/y", "a/b.git", "http://127.0.0.1/a", "a\0b"),
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


@pytest.mark.parametrize("part", ["footer", "middle", "truncated", "no-parquet"])
def test_a_file_that_is_damaged_on_the_hub_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path, part: str) -> None:
    path = write(
        tmp_path / "own" / "data" / "train.parquet", [random.Random(i).randbytes(99).hex() for i in range(1000)]
    )
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "footer": content[:-30] + b"\xff" * 20 + content[-10:],
            "middle": content[:4] + b"\xff" * (middle - 4) + content[middle:],
            "truncated": content[:middle],
            "no-parquet": b"Not a Parquet file at all, but of some length.",
        }[part]
    )
    hub.add(repo, tmp_path / "own", kind="dataset")
    with pytest.raises(CorpusError, match=f"{repo} has a damaged file \\(.+\\)\\. Choose another dataset"):
        draw(opened(repo, kept))
    assert not list(kept.rglob("round-*"))


def test_texts_that_are_not_utf8_are_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    broken = pa.array([b"A cat.", b"\xff\xfe"], pa.binary()).view(pa.string())
    publish(hub, repo, tmp_path / "own", pa.table({"text": broken}))
    with pytest.raises(CorpusError, match="has a damaged file"):
        draw(opened(repo, kept))
