import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import read, read_file, write_texts

from clsviz.errors import CorpusError
from clsviz.sources.files import Limits
from clsviz.sources.tables import open_table

TEXTS = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz, für größere Gewissheit.", "Übermäßig „süße“ Äpfel."]


def test_a_parquet_file_of_too_much_text_is_refused(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "texts.parquet", TEXTS)
    with pytest.raises(CorpusError, match="when unpacked"):
        open_table(path, limits=Limits(text_bytes=10))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns_of_strings_of_every_kind(tmp_path: Path, kind: pa.DataType) -> None:
    values = ["One text.", None, " Two\ntexts. ", "", "One text."] * 500
    pq.write_table(pa.table({"body": pa.array(values, kind)}), tmp_path / "a.parquet", row_group_size=700)
    assert read_file(tmp_path / "a.parquet") == ["One text.", "Two texts.", "One text."] * 500


def test_of_columns_of_one_name_the_first_is_read(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["One"]), pa.array(["Two"])], ["text", "text", "text"])
    pq.write_table(table, tmp_path / "a.parquet")
    found = open_table(tmp_path / "a.parquet")
    assert found.columns == ("text",)
    assert read(found) == ["One"]


def damage(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "cut off": content[:middle],
        "no head": content[4:],
        "no parquet": b"One sentence.\n",
        "no bytes": b"",
        "other bytes": content[: middle - 500] + random.Random(0).randbytes(1000) + content[middle + 500 :],
    }


@pytest.mark.parametrize("how", list(damage(b"")))
def test_a_damaged_parquet_file_is_refused(tmp_path: Path, how: str) -> None:
    texts = [random.Random(index).randbytes(20).hex() + " text" for index in range(5000)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path, write_page_checksum=True, row_group_size=500)
    assert read_file(path) == texts
    path.write_bytes(damage(path.read_bytes())[how])
    with pytest.raises(CorpusError, match=r"a\.parquet is not a Parquet file, or a damaged one \(.+\)\. ") as caught:
        read_file(path)
    assert str(caught.value).isprintable()
    pq.write_table(pa.table({"text": pa.array([b"Plain text", b"Caf\xe9"]).view(pa.string())}), path)
    with pytest.raises(CorpusError, match=r"a\.parquet is not a Parquet file, or a damaged one"):
        read_file(path)


def test_a_text_stored_once_and_meant_often_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    text = "a " * 2**20
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 5000), pa.array([text]))
    pq.write_table(pa.table({"text": values}), path)
    assert path.stat().st_size < 2**20
    with pytest.raises(CorpusError, match="holds over 64 MB"):
        list(open_table(path).numbered_texts())


def test_row_groups_that_fill_the_memory_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"text": ["one text " * 500]}), path)
    with pytest.raises(CorpusError, match="row groups of over"):
        open_table(path, limits=Limits(column_bytes=1000))
