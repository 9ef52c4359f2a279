"""Corpora by name, their copies in the store, texts in memory, and samples."""

import os
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from clsviz.errors import ClsvizError, CorpusError, SettingError
from clsviz.settings import Experiment
from clsviz.sources import copies, corpora, tables, uploads
from clsviz.sources.sampling import draw

from .conftest import Read, texts

MIXED = ["one two", "", "  three ", None]
DATASET = datasets.Dataset.from_dict(
    {"n": [1, 2], "note": ["a longer note", "b"], "text": ["one two", "three"]}
)
DICT = datasets.DatasetDict({"train": DATASET})


def test_fingerprints_do_not_depend_on_pieces() -> None:
    column = pa.chunked_array([["ab", "", "c"], ["ä"]], pa.large_string())
    pieces = pa.chunked_array([column.slice(0, 1).combine_chunks(), *column.slice(1).chunks])
    others = pa.chunked_array([["a", "b", "c", "ä"]], pa.large_string())
    first, second, third = (
        copies.fingerprint(pa.table({"sentence": some})) for some in (column, pieces, others)
    )
    assert first == second != third


def test_shipped_corpora_have_no_settings(tmp_path: Path) -> None:
    for setting in ("configuration", "split", "column", "encoding", "language"):
        with pytest.raises(SettingError, match=setting):
            corpora.open_corpus(Experiment(**{setting: "lines"}), tmp_path)


def test_the_first_sample_imports_nothing_heavy() -> None:
    program = """
import sys
from pathlib import Path
from clsviz.settings import Experiment
from clsviz.sources.sampling import draw
draw(Experiment(), Path("nowhere")).sentences(0, 100)
print(*sorted({"pandas", "datasets", "sklearn", "scipy", "torch"} & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_a_file_is_read_once_and_again_when_it_changes(read, tmp_path, monkeypatch) -> None:
    opened: list[Path] = []
    original = tables.open_table
    monkeypatch.setattr(tables, "open_table", lambda *a: opened.append(a[0]) or original(*a))
    first = read("a.txt", "One\nTwo\n")
    again = corpora.open_corpus(Experiment(corpus=str(tmp_path / "a.txt")), tmp_path / "store")
    assert (texts(again), len(opened)) == (["One", "Two"], 1)
    changed = read("a.txt", "One\nTwo\nThree\n")
    assert (texts(changed), len(opened)) == (["One", "Two", "Three"], 2)
    assert first.fingerprint == again.fingerprint != changed.fingerprint


@pytest.mark.parametrize("damage", ["none", "cut", "filled", "empty", "other words"])
def test_damaged_copies_are_made_again_and_all_have_the_time_of_their_last_use(
    read: Read, tmp_path: Path, damage: str
) -> None:
    fingerprint = read("a.txt", "".join(f"Line {n}\n" for n in range(1000))).fingerprint
    (copy,) = (tmp_path / "store" / "corpora").iterdir()
    content = copy.read_bytes()
    filled = content[:2000] + bytes(100) + content[2100:]
    copy.unlink()  # it is mapped
    others = content.replace(b'"caveats"', b'"cautios"')
    damaged = {"none": content, "cut": content[:-50], "filled": filled, "empty": b""}
    copy.write_bytes({**damaged, "other words": others}[damage])
    os.utime(copy, (0, 0))
    again = corpora.open_corpus(Experiment(corpus=str(tmp_path / "a.txt")), tmp_path / "store")
    assert again.fingerprint == fingerprint
    assert copy.stat().st_mtime > 0


def test_files_that_exist_are_corpora_but_to_visitors(tmp_path, monkeypatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "name").write_text("text")
    monkeypatch.chdir(tmp_path)
    names = ["a/b.csv", "./a", "a.TXT.gz", "upload-x", "b.md", "a/b", "x" * 400]
    some = ["folder/name", "folder"]
    assert list(map(corpora.is_file, names + some)) == [True] * 5 + [False] * 2 + [True] * 2
    with pytest.raises(CorpusError, match="“folder” is a folder"):
        corpora.check("folder", tmp_path)
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    assert list(map(corpora.is_on_hub, names + some)) == [False] * 5 + [True] * 4


@pytest.mark.parametrize(
    "name",
    [
        *("missing.txt", "./missing", "upload-0123456789", "a b", "a/b/c", "~nobody/a.txt"),
        *("./pipe.txt", "./" + "x" * 300 + ".txt", "./a.docx"),
    ],
)
def test_names_that_no_corpus_can_have_are_noticed_at_once(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.txt")
    Path("a.docx").touch()
    with pytest.raises(CorpusError):
        corpora.check(name, tmp_path)
    with pytest.raises(ClsvizError):
        corpora.open_corpus(Experiment(corpus=name), tmp_path)
    for good in ("python-docs", "owner/name@v1"):
        corpora.check(good, tmp_path)


@pytest.mark.parametrize(
    ("source", "index"),
    [
        (MIXED, [0, 2]),
        (tuple(MIXED), [0, 2]),
        (np.array(MIXED, object), [0, 2]),
        (pa.array(MIXED), [0, 2]),
        (pd.Series(MIXED, index=list("pqrs")), ["p", "r"]),
        (pd.Series(MIXED, index=[1, "q", 2, "s"]), ["1", "2"]),
        (pd.DataFrame({"n": range(4), "text": MIXED}, index=[7, 8, 9, 10]), [7, 9]),
        (datasets.Dataset.from_dict({"text": [*MIXED, "x"]}).select([0, 2, 1]), [0, 1]),
    ],
)
def test_texts_in_memory_keep_order_index_and_white_space(source: object, index: list) -> None:
    corpus = corpora.from_texts(source, Experiment())
    assert texts(corpus) == ["one two", "  three "]
    assert corpus.table["index"].to_pylist() == index
    assert corpus.reading.caveats == (f"Rows without text, which are left out: {len(source) - 2}.",)


@pytest.mark.parametrize(
    ("source", "settings", "reason"),
    [
        ("one text", {}, "single value, of type str"),
        (5, {}, "single value, of type int"),
        (None, {}, "single value, of type NoneType"),
        ({"a": {"b": ["c"]}, "d": 1}, {}, "keys “a”, “d”, which is no table"),
        ({"a": ["b"], "c": ["d", "e"]}, {}, "different lengths"),
        (datasets.DatasetDict({"a": DATASET, "b": DATASET}), {}, "Choose “a”, “b” as split"),
        (datasets.Dataset.from_dict({"tokens": [["a", "b"]]}), {}, "“tokens”"),
        (["a", 3], {}, "Text 1, .*of type int"),
        (["a", "\ud83d"], {}, "Text 1, .*surrogate"),
        ([], {}, "empty"),
        (["", " "], {}, "empty"),
        (pd.DataFrame({"n": [1, 2]}), {}, "“n” holds “1”"),
        (["a"], {"split": "test"}, "“test”"),
        (DATASET, {"split": "test"}, "“test”"),
        (DICT, {"split": "test"}, "“test”"),
        (["a"], {"encoding": "utf-8"}, "encoding"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(source: object, settings: dict, reason: str) -> None:
    with pytest.raises((CorpusError, SettingError), match=f"(?i){reason}"):
        corpora.from_texts(source, Experiment(**settings))


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        (DATASET, {}),
        (DATASET.to_iterable_dataset(), {}),
        (DATASET.to_dict(), {"column": "text"}),
        (DATASET.to_list(), {}),
        (DICT, {}),
        (datasets.DatasetDict({"train": DATASET, "test": DATASET}), {"split": "train"}),
        (datasets.IterableDatasetDict({"train": DATASET.to_iterable_dataset()}), {}),
    ],
    ids=range(7),
)
def test_columns_in_memory_are_heeded(source: object, settings: dict[str, str]) -> None:
    corpus = corpora.from_texts(source, Experiment(**settings))
    assert (corpus.reading.column, texts(corpus)) == ("text", ["one two", "three"])
    assert corpus.table["n"].to_pylist() == ["1", "2"]
    other = corpora.from_texts(source, Experiment(**{**settings, "column": "note"}))
    assert (other.reading.column, texts(other)) == ("note", ["a longer note", "b"])


def test_a_larger_sample_begins_with_the_smaller_one(tmp_path: Path) -> None:
    small, large, other = (
        draw(Experiment(sample_size=n, seed=seed), tmp_path)
        for n, seed in ((9, 1), ("all", 1), (9, 2))
    )
    assert small.sentences() == large.sentences(0, 9) != other.sentences()
    all_texts = texts(large.corpus)
    rows = np.random.RandomState(1).permutation(len(all_texts))
    assert large.sentences(90) == [all_texts[row] for row in rows[90:]]


@pytest.mark.parametrize(
    "name", [".txt", ".hidden.txt", "..\\..\\a.txt", "/etc/x.txt", "x" * 200 + ".txt"]
)
def test_an_upload_of_any_name_is_read(tmp_path: Path, name: str) -> None:
    corpus = uploads.store(tmp_path, name, b"One sentence.\nAnother one.\n")
    assert len(texts(corpora.open_corpus(Experiment(corpus=corpus), tmp_path))) == 2
    [path] = tmp_path.rglob("*.txt")
    assert corpus == f"{path.name} ({path.parent.name})"


def test_copies_of_uploads_count_as_uploads(tmp_path, monkeypatch) -> None:
    name = uploads.store(tmp_path, "a.txt", b"One sentence.\nAnother one.\n")
    monkeypatch.setenv("CLSVIZ_LIMIT_UPLOADS_BYTES", "100")
    corpora.open_corpus(Experiment(corpus=name), tmp_path)
    with pytest.raises(CorpusError, match="no space for uploads"):
        corpora.open_corpus(Experiment(corpus=name, encoding="cp437"), tmp_path)
    corpora.open_corpus(Experiment(corpus=name), tmp_path)


def test_uploads_are_deleted_with_all_copies_of_their_text(tmp_path: Path) -> None:
    name = uploads.store(tmp_path, "../My file?.txt", b"A secret sentence.\nAnother.\n")
    for _ in range(2):
        assert texts(corpora.open_corpus(Experiment(corpus=name), tmp_path))[1] == "Another."
    (folder,) = (tmp_path / "uploads").iterdir()
    os.utime(folder, (0, 0))
    new = uploads.store(tmp_path, "new.txt", b"New.")
    [folder] = (tmp_path / "uploads").iterdir()
    assert new == f"new.txt ({folder.name})"
    os.utime(folder, (0, 0))
    uploads.delete_old(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    with pytest.raises(CorpusError, match="no longer stored"):
        corpora.open_corpus(Experiment(corpus=name), tmp_path)
