import shlex
from pathlib import Path

import pytest

from clsviz.errors import CorpusError
from clsviz.sources import files, uploads


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("paper.pdf", ["pdftotext", "paper.pdf", "paper.txt"]),
        ("My Book.DOCX", ["pandoc", "My Book.DOCX", "--to", "plain", "--wrap", "none", "--output", "My Book.txt"]),
        ("notes.md", ["pandoc", "notes.md", "--to", "plain", "--wrap", "none", "--output", "notes.txt"]),
        (
            "it's; rm -rf.html",
            ["pandoc", "it's; rm -rf.html", *["--to", "plain", "--wrap", "none", "--output"], "it's; rm -rf.txt"],
        ),
        ("all.json", ["jq", "--compact-output", ".[]", "all.json", ">", "all.jsonl"]),
        ("{0} $x.tar.gz", ["tar", "--extract", "--file", "{0} $x.tar.gz"]),
    ],
)
def test_a_file_of_another_kind_is_named_with_the_command_that_converts_it(name: str, command: list[str]) -> None:
    with pytest.raises(CorpusError) as error:
        files.suffix(name)
    said, _, line = str(error.value).partition(", for example with: ")
    saved = "Save it as plain text in the program that it is from, or convert it"
    assert said == f"{name} is in no known format. {saved if name.endswith('.DOCX') else 'Convert it first'}"
    assert shlex.split(line) == command


def test_a_spreadsheet_can_be_saved_as_a_table_that_is_read() -> None:
    with pytest.raises(
        CorpusError, match=r"Save it as CSV .* or convert it, for example with: soffice .*'my table.xls'"
    ):
        files.suffix("my table.xls")


def test_a_kind_that_nobody_knows_is_told_what_is_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.xyz is in no known format\. Give a file ending in \.txt, "):
        files.suffix("a.xyz")
    (tmp_path / "book.epub").write_bytes(b"PK")
    with (tmp_path / "book.epub").open("rb") as file, pytest.raises(CorpusError, match=r"pandoc book\.epub --to plain"):
        uploads.keep_upload(file, "book.epub", tmp_path)
