import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.files import read, write_frame

from clsviz.errors import CorpusError
from clsviz.sources.files import open_table
from clsviz.sources.text_files import Limits


def test_columns_that_hold_text_are_found_likeliest_first(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": [f"{number:04}" for number in range(300)],
            "Title": ["A title"] * 300,
            "notes": ["Long notes that are longer than all the rest."] * 300,
            "label": ["good"] * 300,
            "score": ["0.5"] * 299 + ["high"],
            "SENTENCE": ["A sentence."] * 300,
            "empty": [""] * 300,
            "mostly": ["7"] * 90 + ["A word"] * 210,
        }
    )
    expected = ("SENTENCE", "Title", "notes", "label", "mostly")
    for suffix in ["csv", "tsv", "jsonl", "parquet"]:
        table = open_table(write_frame(tmp_path / f"a.{suffix}", frame))
        assert table.columns == expected
        assert read(table) == ["A sentence."] * 300
        for column in expected:
            assert read(table, column) == [value for value in frame[column] if value]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_column_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({f"long name {'x' * 100} {n:02}": ["A text."] for n in range(30)} | {"na\x1bme": ["Text."]})
    table = open_table(write_frame(tmp_path / f"a{suffix}", frame))
    with pytest.raises(CorpusError, match=r"no column “other\N{REPLACEMENT CHARACTER}”.* and 18 more") as caught:
        table.texts("other\n")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_of_too_many_columns_is_refused(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"text": ["A text."], "label": ["good"], "name": ["One"]})
    path = write_frame(tmp_path / f"a{suffix}", frame)
    assert len(open_table(path, limits=Limits(columns=3)).columns) == 3
    with pytest.raises(CorpusError, match=r"has 3 columns, and at most 2 are read"):
        open_table(path, limits=Limits(columns=2))


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_columns_whose_names_no_setting_can_hold_are_not_offered(tmp_path: Path, suffix: str) -> None:
    names = ["text", "bad\nname", " padded ", "", "x" * 501, "also fine"]
    path = tmp_path / f"odd{suffix}"
    rows = [dict.fromkeys(names, f"a text of words, number {index}") for index in range(3)]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    assert open_table(path).columns == ("text", "also fine")
