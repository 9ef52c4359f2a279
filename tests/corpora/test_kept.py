import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from clsviz.sources import sentence_files
from clsviz.sources.sentence_files import About

SENTENCES = [f"Sentence number {index}." for index in range(60)]
ABOUT = About(hashlib.sha256("\n".join(SENTENCES).encode()).hexdigest(), 60, ["text", "title"], "text", True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of three row groups, as of three batches; two hold nothing."""
    place = tmp_path / "kept" / "sentences.parquet"
    batches = [[], SENTENCES[:10], SENTENCES[10:15], [], SENTENCES[15:]]
    assert sentence_files.keep(batches, place, columns=["text", "title"], column="text", cut=True) == ABOUT
    return place


def test_what_is_kept_is_known_and_nothing_else_is_left(path: Path) -> None:
    assert sentence_files.about(path) == ABOUT
    assert [file.name for file in path.parent.iterdir()] == ["sentences.parquet"]
    assert pq.read_table(path)["sentence"].to_pylist() == SENTENCES


def test_rows_come_in_any_order_with_repeats(path: Path) -> None:
    random = np.random.default_rng(0)
    for order in (random.permutation(60), random.integers(0, 60, 200), np.arange(60)[::-1], np.array([15, 14, 9, 10])):
        assert sentence_files.rows(path, order) == [SENTENCES[index] for index in order]


def test_only_the_row_groups_that_are_needed_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    of_file = pq.ParquetFile.read_row_group
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda file, i: read.append(i) or of_file(file, i))
    assert sentence_files.rows(path, np.array([59, 3, 20, 3])) == [SENTENCES[index] for index in (59, 3, 20, 3)]
    assert read == [0, 2]


def test_no_rows_and_no_sentences(path: Path, tmp_path: Path) -> None:
    assert sentence_files.rows(path, np.array([], np.intp)) == []
    empty = tmp_path / "empty.parquet"
    known = sentence_files.keep([], empty, columns=[], column="", cut=False)
    assert known == About(hashlib.sha256(b"").hexdigest(), 0, [], "", False)
    assert sentence_files.about(empty) == known
    assert sentence_files.rows(empty, np.array([], np.intp)) == []
    assert sentence_files.rows(empty, np.array([0])) is None


def test_large_batches_are_split_into_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    sentences = [str(index) for index in range(25_000)]
    sentence_files.keep([sentences], path, columns=[], column="", cut=False)
    assert pq.ParquetFile(path).num_row_groups == 3
    order = np.random.default_rng(0).permutation(25_000)[:1000]
    assert sentence_files.rows(path, order) == [str(index) for index in order]


@pytest.mark.parametrize("strange", ["\n", "\0", "\N{GRINNING FACE}", "é" * 10_000, "\u2028"])
def test_any_character_is_kept(tmp_path: Path, strange: str) -> None:
    sentence_files.keep([[strange, "b"]], tmp_path / "a", columns=[strange], column=strange, cut=False)
    assert sentence_files.rows(tmp_path / "a", np.array([1, 0])) == ["b", strange]
    assert sentence_files.about(tmp_path / "a").column == strange


def test_a_missing_row_is_noticed(path: Path) -> None:
    assert sentence_files.rows(path, np.array([60])) is None
    assert sentence_files.rows(path, np.array([0, -1])) is None


def test_what_is_missing_or_another_file_is_not_known(path: Path, tmp_path: Path) -> None:
    assert sentence_files.about(tmp_path / "none") is None
    assert sentence_files.rows(tmp_path / "none", np.array([0])) is None
    assert sentence_files.about(tmp_path) is None
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(path), other)  # without its description
    assert sentence_files.about(other) is None


def test_damage_is_noticed_wherever_it_is(path: Path) -> None:
    content = path.read_bytes()
    order = np.arange(60)[::-1]
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        found = sentence_files.about(path)
        assert found in (None, ABOUT), place
        assert found is None or sentence_files.rows(path, order) in (None, SENTENCES[::-1]), place
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        assert sentence_files.about(path) is None
        assert sentence_files.rows(path, order) is None


def test_a_description_of_another_file_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a file had been put together from two."""
    monkeypatch.setattr("clsviz.sources.sentence_files.asdict", lambda known: replace(known, n_sentences=3).__dict__)
    sentence_files.keep([SENTENCES], path, columns=[], column="", cut=False)
    assert sentence_files.about(path) is None


def test_what_fails_while_it_is_written_leaves_nothing(path: Path) -> None:
    def batches():
        yield ["One."]
        raise KeyboardInterrupt

    other = path.with_name("other.parquet")
    with pytest.raises(KeyboardInterrupt):
        sentence_files.keep(batches(), other, columns=[], column="", cut=False)
    assert [file.name for file in path.parent.iterdir()] == ["sentences.parquet"]
