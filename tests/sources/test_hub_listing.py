"""What a dataset declares, on the stand-in for the Hub."""

from collections import Counter
from pathlib import Path

import pytest
from support.datasets import TEXTS, declared, draw, listing_of, opened, publish, write, write_script
from support.hub import Hub
from support.tiny import write_dataset

from clsviz.errors import CorpusError
from clsviz.sources.hub_dataset import Split


def test_of_a_script_the_conversion_is_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    splits = {"en": {"train": TEXTS[:50], "test": TEXTS[50:60]}, "de": {"train": ["Ein Satz."]}}
    folder = write_dataset(tmp_path / "converted", splits)
    (folder / ".gitattributes").write_text("*.parquet filter=lfs")
    commit = hub.add(repo, folder, kind="dataset", revision="refs/convert/parquet")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "de": {"train": ["de/train/0000.parquet"]},
        "en": {"test": ["en/test/0000.parquet"], "train": ["en/train/0000.parquet"]},
    }
    assert (listing.repo, listing.commit, listing.is_conversion, listing.default) == (repo, commit, True, "de")
    assert Counter(draw(opened(repo, kept, "en", "train")).sentences) == Counter(TEXTS[:50])
    assert draw(opened(repo, kept)).sentences == ["Ein Satz."]
    assert not [request.path for request in hub.requests if request.path.endswith(".py")]
    # The commit of the conversion leads to it as well.
    assert listing_of(repo, tmp_path / "elsewhere", commit) == listing


def test_the_card_declares_configurations_splits_and_a_default(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    for name in ("a/one", "a/two", "a/held-out", "b/only", "c/train-0", "c/test-0", "unused/x"):
        write(folder / f"{name}.parquet", [f"Of {name}."])
    (folder / "b" / "README.md").write_text("No data.")
    (folder / "b" / ".hidden").mkdir()
    write(folder / "b" / ".hidden" / "z.parquet", ["Hidden."])
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: first\n  data_files: b/**\n"
        "- config_name: main\n  default: true\n  data_files:\n"
        "  - split: train\n    path:\n    - a/two.parquet\n    - a/one.parquet\n  - split: test\n    path: a/held*\n"
        "- config_name: folder\n  data_dir: c\n---\n# Texts\n"
    )
    commit = hub.add(repo, folder, kind="dataset")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "first": {},
        "main": {"train": ["a/one.parquet", "a/two.parquet"], "test": ["a/held-out.parquet"]},
        "folder": {},
    }
    assert (listing.commit, listing.is_conversion, listing.default) == (commit, False, "main")
    split = opened(repo, kept)
    assert (split.configuration, split.split) == ("main", "train")
    assert sorted(draw(split).sentences) == ["Of a/one.", "Of a/two."]
    assert opened(repo, kept, "folder").split == "train"  # looked into when it is asked for
    assert declared(listing_of(repo, kept)) == declared(listing) | {
        "folder": {"train": ["c/train-0.parquet"], "test": ["c/test-0.parquet"]}
    }


def test_without_a_card_the_names_of_the_files_tell(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    for name in ("data/train-00000-of-00002", "data/train-00001-of-00002", "data/test-00000-of-00001"):
        write(folder / f"{name}.parquet", [f"Of {name}."])
    hub.add(repo, folder, kind="dataset")
    listing = listing_of(repo, kept)
    assert declared(listing) == {
        "default": {
            "train": ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
            "test": ["data/test-00000-of-00001.parquet"],
        }
    }
    assert len(draw(opened(repo, kept)).sentences) == 2
    write(tmp_path / "one" / "anything.parquet", TEXTS[:5])
    hub.add(f"{repo}-one", tmp_path / "one", kind="dataset")
    assert declared(listing_of(f"{repo}-one", kept)) == {"default": {"train": ["anything.parquet"]}}


def test_a_part_of_a_large_dataset_is_converted(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    splits = {"default": {"dev": ["No."], "partial-train": ["A part."]}}
    hub.add(repo, write_script(tmp_path / "script", repo), kind="dataset")
    hub.add(repo, write_dataset(tmp_path / "own", splits), kind="dataset", revision="refs/convert/parquet")
    assert opened(repo, kept).split == "partial-train"
    assert draw(opened(repo, kept)).sentences == ["A part."]


def test_of_other_formats_the_conversion_is_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    repo = repo.replace("me/", "without-an-owner-")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "train.csv").write_text("text\nA cat.\n")
    hub.add(repo, tmp_path / "own", kind="dataset")
    with pytest.raises(CorpusError, match="the Hugging Face Hub has not converted it"):
        listing_of(repo, kept)
    converted = write_dataset(tmp_path / "converted", {"default": {"train": ["A cat."]}})
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet")
    assert draw(opened(repo, kept)).sentences == ["A cat."]


def test_a_renamed_dataset_is_the_same(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    hub._repos["dataset", "me/before"] = hub._repos["dataset", repo]
    assert listing_of("me/before", kept) == listing_of(repo, kept)
    assert listing_of("me/before", kept).repo == repo


def test_what_is_not_there_is_named_with_what_is(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    splits = {f"c{index:02}": {"train": TEXTS[:1], "test": TEXTS[:1]} for index in range(20)}
    hub.add(repo, write_dataset(tmp_path / "own", splits), kind="dataset")
    listing = listing_of(repo, kept)
    with pytest.raises(CorpusError, match=r"no configuration “x�”\. Choose c00, c01, .*, c11 or one of 8 more\."):
        Split(listing, "x\n", "", kept, online=True)
    with pytest.raises(CorpusError, match=r"no split “x” in c00\. Choose test, train\."):
        Split(listing, "", "x", kept, online=True)


@pytest.mark.parametrize("broken", ["configs: 3", "configs:\n- config_name: [", "configs:\n- data_files: none/*.x"])
def test_a_card_that_cannot_be_read_is_no_fault_of_the_network(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, broken: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "README.md").write_text(f"---\n{broken}\n---\n")
    publish(hub, repo, tmp_path / "own", TEXTS[:3])
    with pytest.raises(CorpusError, match="has no Parquet files"):
        listing_of(repo, kept)
