"""Columns of text in the Parquet files of a dataset."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.datasets import columns_of, draw, opened, publish, write
from support.hub import Hub

from clsviz.errors import CorpusError


def test_the_likeliest_column_is_the_first(hub: Hub, repo: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "url": ["https://example.org/" + "x" * 99] * 2,
            "label": ["a", "b"],
            "long": ["Words and words. " * 30, "Others."],
            "text": ["A cat.", "A dog."],
            "parts": [["a", "b"], []],
            "answers": [{"text": "yes"}, {"text": "no"}],
            "score": [0.5, 0.25],
            "coded": pa.array(["u", "v"]).dictionary_encode(),
            "large": pa.array(["u", "v"], pa.large_string()),
        }
    )
    columns = columns_of(hub, repo, tmp_path, table)
    assert next(iter(columns)) == "text"
    assert set(columns) == {"url", "label", "long", "text", "coded", "large"}
    assert columns["long"] > 200 > columns["text"]
    assert list(columns).index("long") < list(columns).index("label")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(["a", None, "", "b", " "]), ["a", "b"]),
        (pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a  b", "c\n\nd"]), ["a b", "c d"]),
    ],
)
def test_every_kind_of_text_is_read(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, values: pa.Array, expected: list[str]
) -> None:
    publish(hub, repo, tmp_path / "own", pa.table({"text": values}), rows=2)
    assert sorted(draw(opened(repo, kept)).sentences) == expected


def test_a_column_beside_nested_ones_of_like_names(hub: Hub, repo: str, tmp_path: Path) -> None:
    table = pa.table({"a": [{"b": "inner"}], "a.b": ["outer"], "lists": [["inner"]], "c": ["other"]})
    assert set(columns_of(hub, repo, tmp_path, table)) == {"a.b", "c"}
    assert draw(opened(repo, tmp_path / "kept"), column="a.b").sentences == ["outer"]


def test_numbers_alone_are_no_texts(hub: Hub, repo: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="has no column that holds text"):
        columns_of(hub, repo, tmp_path, pa.table({"n": [1, 2], "parts": [["a"], []]}))


def test_a_column_without_any_text_is_named(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", pa.table({"text": pa.array([None, "", " "], pa.string()), "title": ["A"] * 3}))
    with pytest.raises(CorpusError, match=r"holds no text in “text”\. Choose another column"):
        draw(opened(repo, kept))
    assert draw(opened(repo, kept), column="title").sentences == ["A"] * 3


def test_files_may_differ_in_what_is_not_read(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    write(folder / "train-0.parquet", pa.table({"text": ["A cat."], "n": [1]}))
    write(folder / "train-1.parquet", pa.table({"title": ["T"], "n": ["x"], "text": ["A dog."]}))
    write(folder / "train-2.parquet", pa.table({"text": pa.array([], pa.string())}))
    pq.ParquetWriter(folder / "train-3.parquet", pa.schema({"text": pa.string()})).close()  # no row group at all
    hub.add(repo, folder, kind="dataset")
    found = draw(opened(repo, kept))
    assert sorted(found.sentences) == ["A cat.", "A dog."]
    assert found.n_files == 4


@pytest.mark.parametrize("other", [pa.array([1, 2]), pa.array([["a"], []]), pa.array([{"text": "a"}, None]), None])
def test_files_that_differ_in_the_column_are_named(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, other: pa.Array | None
) -> None:
    folder = tmp_path / "own"
    write(folder / "train-0.parquet", pa.table({"text": ["A cat."] * 100}))
    write(folder / "train-1.parquet", pa.table({"id": [1, 2]} if other is None else {"text": other}))
    hub.add(repo, folder, kind="dataset")
    with pytest.raises(CorpusError, match="has files without the column “text”, or where it does not hold text"):
        draw(opened(repo, kept))
