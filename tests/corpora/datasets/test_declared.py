"""What a dataset declares, compared with what the library `datasets` makes of the same repository."""

import zlib
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hub import Hub

from clsviz.corpora.datasets import Online
from clsviz.progress import Progress

LAYOUTS = {
    "shards": ["data/train-00000-of-00002", "data/train-00001-of-00002", "data/extra-00000-of-00001"],
    "shards in odd order": ["data/test-00000-of-00001", "data/b-00000-of-00001", "data/train-00000-of-00001"],
    "folders": ["train/a", "train/deep/b", "testing/c", "my-dev/d", "other/e"],
    "folders of words and numbers": ["x/train_2020/a", "x/eval.v1/b"],
    "files": ["train", "train_1", "a-validation-b", "test.v2"],
    "files below a folder": ["some/training 1", "some/evaluation-2"],
    "no split at all": ["one", "two/three", "trainer/four", "contest"],
    "hidden ones": ["one", ".hidden/two", "__special/three", "four/.five"],
}

CARDS = {
    "one file": "- config_name: a\n  data_files: x/one.parquet",
    "patterns": (
        "- config_name: a\n  data_files:\n  - x/*.parquet\n  - y/**\n- config_name: b\n  data_files: '**/o*.parquet'"
    ),
    "splits": (
        "- config_name: a\n  data_files:\n  - split: train\n    path: x/*\n"
        "  - split: test\n    path:\n    - y/two.parquet\n"
        "- config_name: default\n  data_files: y/*"
    ),
    "a marked default": "- config_name: a\n  data_files: x/*\n- config_name: b\n  default: true\n  data_files: y/*",
    "a folder": "- config_name: a\n  data_dir: y\n- config_name: b\n  data_dir: x\n  data_files: o*",
}


def declared(hub: Hub, repo: str, folder: Path, kept: Path) -> tuple[dict[str, dict[str, list[str]]], str]:
    hub.add(repo, folder, kind="dataset")
    listing = Online(kept).listing(repo, "", Progress())
    assert not listing.is_conversion
    splits = {
        name: {split: [file.path for file in files] for split, files in found.items()}
        for name, found in listing.splits.items()
    }
    return splits, listing.default


def by_the_library(repo: str, configuration: str) -> dict[str, list[str]]:
    """The files of every split, in the order of their paths."""
    builder = datasets.load_dataset_builder(repo, configuration)
    files = builder.config.data_files
    assert files is not None
    return {str(split): sorted(path.rpartition("@")[2].partition("/")[2] for path in files[split]) for split in files}


def write(folder: Path, names: list[str]) -> Path:
    for name in names:
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [name]}), path)
    return folder


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_a_card_the_splits_are_those_of_the_library(
    hub: Hub, tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)  # it would ask another host
    repo = f"me/{zlib.crc32(layout.encode()):08x}"
    splits, default = declared(hub, repo, write(tmp_path / "own", LAYOUTS[layout]), tmp_path / "kept")
    assert default == "default"
    assert splits == {"default": by_the_library(repo, "default")}
    assert list(splits["default"]) == list(by_the_library(repo, "default"))


@pytest.mark.parametrize("card", CARDS)
def test_what_a_card_declares_is_what_the_library_finds(
    hub: Hub, tmp_path: Path, card: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    repo = f"me/{zlib.crc32(card.encode()):08x}"
    folder = write(tmp_path / "own", ["x/one", "x/zero", "y/two", "y/deep/only", "unused/three"])
    (folder / "README.md").write_text(f"---\nconfigs:\n{CARDS[card]}\n---\n# Texts\n")
    splits, default = declared(hub, repo, folder, tmp_path / "kept")
    names = datasets.get_dataset_config_names(repo)
    assert list(splits) == names
    assert splits == {name: by_the_library(repo, name) for name in names}
    assert default == (datasets.get_dataset_default_config_name(repo) or names[0])


@pytest.mark.parametrize(
    ("others", "is_parquet"),
    [
        (["other.csv"], True),  # as many of the one as of the other
        (["a.csv", "b.csv"], False),
        (["a.png", "b.png", "c.jpg"], False),
        (["run.py", "make.sh", "LICENSE", "notes.yaml"], True),
        (["README.md", "dataset_infos.json", "config.json"], True),
    ],
)
def test_the_commonest_format_of_data_is_the_dataset_s(
    hub: Hub, tmp_path: Path, others: list[str], is_parquet: bool
) -> None:
    repo = f"me/{zlib.crc32(str(others).encode()):08x}"
    folder = write(tmp_path / "own", ["only"])
    for name in others:
        (folder / name).write_text("{}" if name.endswith(".json") else "text")
    hub.add(repo, folder, kind="dataset")
    converted = write(tmp_path / "converted", ["default/train/0000"])
    hub.add(repo, converted, kind="dataset", revision="refs/convert/parquet")
    assert Online(tmp_path / "kept").listing(repo, "", Progress()).is_conversion is not is_parquet


@pytest.mark.parametrize(("where", "text"), [("README.md", "---\n{}\n---\n"), (".huggingface.yaml", "{}\n")])
def test_the_settings_may_stand_in_the_card_or_in_a_file_of_their_own(
    hub: Hub, tmp_path: Path, where: str, text: str
) -> None:
    repo = f"me/{zlib.crc32(where.encode()):08x}"
    folder = write(tmp_path / "own", ["x/one", "y/two"])
    (folder / where).write_text(text.format("configs:\n- config_name: mine\n  data_files: y/*"))
    assert declared(hub, repo, folder, tmp_path / "kept") == ({"mine": {"train": ["y/two.parquet"]}}, "mine")
