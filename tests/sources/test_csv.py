import csv
import io
import random
from pathlib import Path

import pytest
from support.files import put, read, read_file, rows_as_csv

from clsviz.errors import CorpusError
from clsviz.sources.tables import open_table


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_found(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "label", "text"], *([str(n), "a", f"Well; text, with | and\ttab, {n}"] for n in range(50))]
    table = open_table(put(tmp_path / "a.csv", rows_as_csv(rows, delimiter=delimiter)))
    assert table.columns == ("text", "label")
    assert read(table) == [" ".join(row[2].split()) for row in rows[1:]]


def test_a_header_of_several_delimiters_is_decided_by_the_rows(tmp_path: Path) -> None:
    rows = [["id", "text, as it was"], *([str(n), f"A sentence {n}"] for n in range(30))]
    assert read_file(put(tmp_path / "a.csv", rows_as_csv(rows, delimiter=";"))) == [row[1] for row in rows[1:]]
    odd = b"a,b;c|d\n"  # nothing to decide by: the comma
    assert open_table(put(tmp_path / "b.csv", odd + b"Word,words\n")).columns == ("b;c|d", "a")


def test_quotes_and_line_breaks_in_fields_at_the_borders_of_blocks(tmp_path: Path) -> None:
    draw = random.Random(0)
    rows = [[str(n), "".join(draw.choices('ab c",\n\r', k=draw.randint(1, 60)))] for n in range(2000)]
    content = rows_as_csv([["id", "text"], ["0", "Letters"], *rows])
    expected = [" ".join(row["text"].split()) for row in csv.DictReader(io.StringIO(content.decode(), newline=""))]
    assert read_file(put(tmp_path / "a.csv", content), row_bytes=256) == [text for text in expected if text]


@pytest.mark.parametrize("place", [3, 20_000])
@pytest.mark.parametrize(("row", "fields"), [("8,A,B", "3 fields"), ("8", "1 field")])
def test_a_row_of_another_number_of_fields_is_named(tmp_path: Path, place: int, row: str, fields: str) -> None:
    lines = ["id,text", *(f"{n},A sentence." for n in range(2, 30_000))]
    lines[place - 1] = row
    path = put(tmp_path / "a.csv", "\n".join(lines).encode())
    with pytest.raises(CorpusError, match=rf"Row {place:,} of a\.csv has {fields}, its header 2\. Fix"):
        read_file(path)


@pytest.mark.parametrize("column", ["text", "label"])
@pytest.mark.parametrize("n_more", [0, 5])
def test_a_quote_that_is_never_closed_is_named(tmp_path: Path, column: str, n_more: int) -> None:
    """Without it, the rest of the file would silently be one text."""
    content = "\n".join(["text,label", "One,good", 'Two,"bad', *["Three,good"] * n_more])
    with pytest.raises(CorpusError, match=r"Row 3 of a\.csv opens a quote"):
        read_file(put(tmp_path / "a.csv", content.encode()), column)


def test_a_quote_that_swallows_a_large_file_is_explained(tmp_path: Path) -> None:
    content = 'text,label\n"One,good\n' + "Two,bad\n" * 2_000_000
    with pytest.raises(CorpusError, match=r"a\.csv has a row of over 4 MB.*quote"):
        read_file(put(tmp_path / "a.csv", content.encode()))


def test_names_of_columns_are_made_unique(tmp_path: Path) -> None:
    header = ["text", "text", "", " ", "text (2)", "text", "column 3", "two\nlines"]
    table = open_table(put(tmp_path / "a.csv", rows_as_csv([header, list("abcdefgh")])))
    expected = ["text", "text (2)", "column 3", "column 4", "text (2) (2)", "text (3)", "column 3 (2)", "two lines"]
    assert list(table.columns) == expected
    assert [read(table, column) for column in expected] == [[letter] for letter in "abcdefgh"]


def test_quotes_in_a_tsv_that_was_written_without_quoting_are_characters(tmp_path: Path) -> None:
    texts = ['"Hello" she said', 'He said "no"', '"', '"Whole"']
    content = "\n".join(["id\ttext", *(f"{n}\t{text}" for n, text in enumerate(texts))])
    assert read_file(put(tmp_path / "a.tsv", content.encode())) == texts


def test_a_tsv_that_was_written_with_quoting_is_read_with_it(tmp_path: Path) -> None:
    texts = ['"Hello" she said', "A\ttab", "Two\nlines", '"Whole"']
    content = rows_as_csv([["id", "text"], *enumerate(texts)], delimiter="\t")
    assert read_file(put(tmp_path / "a.tsv", content)) == [" ".join(text.split()) for text in texts]
    content = rows_as_csv([["text"], ["Two\nlines"]], delimiter="\t")
    assert read_file(put(tmp_path / "b.tsv", content)) == ["Two lines"]


@pytest.mark.parametrize("size", [400_000, 4_000_000])
def test_a_header_of_commas_is_refused_before_its_columns_are_built(tmp_path: Path, size: int) -> None:
    path = tmp_path / "commas.csv"
    path.write_text("," * size + "\n")
    with pytest.raises(CorpusError, match="columns"):
        open_table(path)


@pytest.mark.parametrize(
    "above", [["Export of 12.03.2024,,"], ["Export,,", ",,"], ["", ",,"], ['"Two\nlines",,', ",,"]]
)
def test_what_a_spreadsheet_has_above_the_header_is_no_text(tmp_path: Path, above: list[str]) -> None:
    rows = [*above, "id,remark,price 1", "1,A cat sat.,2", ",,", '2,"Dogs ran,\nand hid.",3']
    table = open_table(put(tmp_path / "a.csv", "\n".join(rows).encode()))
    assert table.columns == ("remark",)
    assert read(table) == ["A cat sat.", "Dogs ran, and hid."]
    assert [value or None for cells in table.cells("id") for value in cells] == ["1", None, "2"]


@pytest.mark.parametrize("rows", [["text,,", "A cat sat.,1,x"], ["text,", "A cat sat.,"], ["text", "A cat sat."]])
def test_a_header_that_names_one_column_only_is_one(tmp_path: Path, rows: list[str]) -> None:
    table = open_table(put(tmp_path / "a.csv", "\n".join(rows).encode()))
    assert table.columns[0] == "text"
    assert read(table, "text") == ["A cat sat."]


def test_a_title_as_narrow_as_itself_is_found_to_be_the_mistake(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"Row 2 of a\.csv has 2 fields, its header 1\..* Or is there a title above"):
        read_file(put(tmp_path / "a.csv", b"Export\nid,text\n1,A cat sat.\n"))


@pytest.mark.parametrize(("said", "delimiter"), [("sep=;", ";"), ('"sep=\t"', "\t"), ("SEP=,", ",")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_that_tells_excel_the_delimiter_is_no_row(tmp_path: Path, said: str, delimiter: str, end: str) -> None:
    rows = [said, *(delimiter.join(row) for row in (["id", "note"], ["1", "A cat, it sat"], ["2", "Dogs ran."]))]
    if delimiter == ",":
        rows[2] = '1,"A cat, it sat"'
    table = open_table(put(tmp_path / "a.csv", end.join(rows).encode()))
    assert table.columns == ("note",)
    assert read(table) == ["A cat, it sat", "Dogs ran."]
    rows.append(delimiter.join(["3", "One", "more"]))
    with pytest.raises(CorpusError, match=r"Row 5 of b\.csv has 3 fields, its header 2\."):
        read_file(put(tmp_path / "b.csv", end.join(rows).encode()))
