"""JSON and Parquet."""

import contextlib
import itertools
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.errors import CorpusError, SettingError
from clsviz.settings import Experiment
from clsviz.sources import corpora
from clsviz.sources.tables import Column, open_table, text_columns

from .conftest import Read, parquet, texts

CODE = ["def f(a):\n    return a\n", "a  =  1", "\tif (ok) {\n\t}\n", "x\r\ny "]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(CODE)),
        ("a.json", json.dumps([{"text": text, "n": 1} for text in CODE], indent=1)),
        ("a.jsonl", "\n".join(json.dumps({"text": text}) for text in CODE)),
        ("a.ndjson", "\n\n".join(map(json.dumps, CODE)) + "\n"),
        ("a.jsonl", "\r".join(json.dumps({"text": text}) for text in CODE)),
        ("a.json", json.dumps({"n": [1, 2, 3, 4], "text": CODE}, indent=1)),
        ("a.parquet", parquet(pa.table({"n": range(4), "text": CODE}))),
        ("a.parquet", parquet(pa.table({"text": pa.array(CODE).dictionary_encode()}))),
        ("a.parquet", parquet(pa.table({"text": pa.array(CODE, pa.string_view())}))),
        ("a.csv", "text\n" + "\n".join('"' + text.replace('"', '""') + '"' for text in CODE)),
    ],
)
def test_texts_are_measured_as_given(read: Read, name: str, content: bytes | str) -> None:
    assert texts(read(name, content)) == CODE


RECORDS = pd.DataFrame({"id": ["a", "b", "c"], "text": ["One is", "Two is", "Three is"]})
TEXTS = list(RECORDS["text"])
BY_ID = dict(zip(RECORDS["id"], TEXTS, strict=True))
ROWS = RECORDS.to_numpy().tolist()


@pytest.mark.parametrize(
    "content",
    [
        *(RECORDS.to_json(orient=form) for form in ("records", "split", "table", "columns")),
        RECORDS.set_index("id").to_json(orient="index"),
        *(RECORDS["text"].to_json(orient=form) for form in ("split", "index", "values", "table")),
        RECORDS.to_json(orient="values"),
        json.dumps([["id", "text"], *ROWS]),
        json.dumps(BY_ID, indent=4),
        json.dumps({"name": "Mine", "documents": RECORDS.to_dict("records")}, indent=1),
        json.dumps({"corpus": BY_ID, "queries": {"q": "Which?"}, "relevant_docs": {"q": ["a"]}}),
        "\n".join(map(json.dumps, ROWS)),
        "\n".join(map(json.dumps, [["id", "text"], *ROWS])),
    ],
    ids=itertools.count(),
)
def test_json_of_any_shape_is_read_as_rows(read: Read, content: str) -> None:
    corpus = read("a.json", content)
    assert texts(corpus) == TEXTS
    if "id" in corpus.table.column_names:
        assert corpus.table["id"].to_pylist() in (list("abc"), list("012"))


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"text": "a"}\n\n{"text": "half \\ud83d"}', "Line 3 .*surrogate .*ud83d"),
        ("a.json", '["a", "half \\ud83d"]', "Value 2 .*surrogate"),
        ("a.jsonl", '{"text": "a"}\n{"text": "b', "Line 2 .*not valid JSON"),
        ("a.json", '["a",\n"b"\n"c"]', "Line 3 .*not valid JSON"),
        ("a.jsonl", '{"text": "a"}\n[1]', "Line 2 .*neither"),
        ("a.json", '["a", 1]', "Value 2 .*neither"),
        ("a.jsonl", '"a"\n' + "[" * 100_000, "Line 2 .*nested too deeply"),
        ("a.jsonl", f'{{"text": "a", "n": {"9" * 5000}}}', "Line 1 .*too many digits"),
        ("a.jsonl", '{"n": 1}', "“n” holds “1”"),
        ("a.jsonl", '{"m": {"text": "a"}}', "“m” holds “{.*a"),
        ("a.json", '{\n"a": {"b": {"text": "c"}}, "n": [1]}', "keys “a”, “n”, which is no table"),
        ("a.json", '{"train": ["a", "b"], "test": ["c"]}', "keys “train”, “test”"),
        ("a.json", '{"x": {"u": "a", "v": "b"}, "y": {"u": "c", "v": "d"}}', "nothing tells which"),
        ("a.jsonl", '[1, "a"]\n[2]', "Line 2 .*list of 1, and the first one of 2"),
    ],
    ids=itertools.count(),
)
def test_errors_of_json_name_the_place_and_the_cause(read, name, content, place) -> None:
    with pytest.raises(CorpusError, match=place):
        read(name, content)


values = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text()


@given(st.lists(st.dictionaries(st.sampled_from("abc"), values), max_size=20))
def test_json_written_by_python_comes_back(tmp_path_factory, rows) -> None:
    path = tmp_path_factory.getbasetemp() / "python.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, {"a": "end"}])))
    batches = open_table(path, path.name).batches(Counter())
    read, expected = (
        [{key: str(value) for key, value in row.items() if value is not None} for row in some]
        for some in ((row for batch in batches for row in batch.to_pylist()), rows)
    )
    assert read == [*expected, {"a": "end"}]


def test_numbers_and_times_of_parquet_come_along(read: Read) -> None:
    table = pa.table({"text": ["a", None], "n": [1, 2], "v": [[1.0], [2.0]], "text.v": [[1], []]})
    corpus = read("a.parquet", parquet(table))
    assert corpus.table.to_pylist() == [{"sentence": "a", "n": "1"}]
    assert corpus.reading.caveats == ("Rows without text, which are left out: 1.",)


@pytest.mark.timeout(120)
def test_a_parquet_file_of_too_many_columns_is_refused_at_once(read: Read) -> None:
    with pytest.raises(CorpusError, match="over 1,000 columns"):
        read("a.parquet", parquet(pa.table({f"c{n}": ["a"] for n in range(5000)})))


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.json", "a.parquet"])
def test_a_file_that_is_emptied_while_it_is_read_is_refused(tmp_path: Path, name: str) -> None:
    table = pa.table({"text": [f"text {n}" for n in range(99)]})
    content = parquet(table) if name == "a.parquet" else b'"text"\n' * 99
    for last in range(1, 9):
        (tmp_path / name).write_bytes(content)
        calls = itertools.count(1)

        def empty(*_: object, last: int = last, calls: Iterator[int] = calls) -> None:
            if next(calls) == last:
                os.truncate(tmp_path / name, 0)

        with contextlib.suppress(CorpusError):
            corpora.open_corpus(Experiment(corpus=str(tmp_path / name)), tmp_path, empty)


@pytest.mark.parametrize("damage", ["cut", "swapped"])
def test_damaged_parquet_is_refused(read: Read, damage: str) -> None:
    table = pa.table({"text": [f"text {n}" for n in range(5000)]})
    content = bytearray(parquet(table, write_page_checksum=True))
    content[2000:2100] = b"" if damage == "cut" else bytes(100)
    with pytest.raises(CorpusError, match="damaged"):
        read("a.parquet", bytes(content))


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        *((name, {}, "ending") for name in ("a.docx", "a", "a.parquet.gz", "a.gz")),
        ("a.parquet", {"encoding": "utf-8"}, "no encoding"),
        ("a.parquet", {"segmentation": "paragraphs"}, "no paragraphs"),
        ("a.parquet", {"split": "train"}, "split is “train”"),
        ("a.txt", {"column": "text"}, "no column “text”"),
    ],
)
def test_other_endings_and_settings_that_change_nothing_are_refused(
    read: Read, name: str, settings: dict[str, str], reason: str
) -> None:
    content = parquet(pa.table({"text": ["a"]})) if name == "a.parquet" else "text"
    with pytest.raises((SettingError, CorpusError), match=reason):
        read(name, content, **settings)


def test_likeliest_columns_are_those_of_known_names_then_of_long_texts() -> None:
    lengths = {"id": 30, "body": 50, "notes": 500, "Text": 10}
    columns = {name: Column(10, 10, 10 * length) for name, length in lengths.items()}
    columns["numbers"] = Column(10, 0, 9000)
    assert text_columns(columns) == ["Text", "body", "notes", "id"]
