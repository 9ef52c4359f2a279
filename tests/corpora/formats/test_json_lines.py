import json
from pathlib import Path

import pytest
from support.files import put, read, read_file

from clsviz.errors import CorpusError
from clsviz.sources.files import open_table


def test_json_lines_need_not_be_alike(tmp_path: Path) -> None:
    lines = [
        {"text": "One", "tags": ["a"], "inner": {"text": "no"}},
        {"label": "x"},
        {"text": None},
        {"text": 7, "label": 8},
        {"text": "Two \U0001d11e", "late": "y"},
    ]
    content = "\r\n\n".join(json.dumps(line) for line in lines).encode("utf-8-sig")
    table = open_table(put(tmp_path / "a.jsonl", content))
    assert table.columns == ("text", "label", "late")
    assert read(table) == ["One", "Two 𝄞"]
    assert read(table, "label") == ["x"]


@pytest.mark.parametrize("number", [1, 150, 60_000])
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"text": "One"', "is not valid JSON at its character"),
        (b"One sentence.", "is not valid JSON at its character 1\\."),
        (b'["One"]', "is not a JSON object"),
        (b'"One"', "is not a JSON object"),
        (b'{"text": "Caf\xe9"}', "is damaged: its byte 0xe9 is not UTF-8"),
    ],
)
def test_a_line_that_is_no_json_object_is_named(tmp_path: Path, number: int, line: bytes, problem: str) -> None:
    lines = [b'{"text": "A sentence of some words."}'] * 70_000
    lines[number - 1] = line
    with pytest.raises(CorpusError, match=rf"Line {number:,} of a\.jsonl {problem}"):
        read_file(put(tmp_path / "a.jsonl", b"\n".join(lines)))


def test_lines_of_other_values_than_strings_hold_no_text(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.jsonl holds no text"):
        open_table(put(tmp_path / "a.jsonl", b'{"id": 1, "texts": ["One"], "code": "12"}\n' * 3))
