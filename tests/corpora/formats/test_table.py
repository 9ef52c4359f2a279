import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clsviz.corpora import formats
from clsviz.corpora.formats import BATCH_SIZE, SUFFIXES, Table, open_table
from clsviz.errors import CorpusError

TEXTS = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz, für größere Gewissheit.", "Übermäßig „süße“ Äpfel."]
GERMAN = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz für größere Gewissheit.", "Übermäßig süße Äpfel."]


def read(table: Table, column: str = "") -> list[str]:
    return [text for batch in table.texts(column) for text in batch]


def read_file(path: Path, column: str = "") -> list[str]:
    return read(open_table(path), column)


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def rows_as_csv(rows: Iterable[Iterable[object]], **settings: Any) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, **settings).writerows(rows)
    return stream.getvalue().encode()


def write_texts(path: Path, texts: list[str]) -> Path:
    """A file of the format that its ending says, written by another library than reads it."""
    match path.name.removesuffix(".gz").rpartition(".")[2]:
        case "txt":
            content = "\n".join(texts).encode()
        case "csv":
            content = rows_as_csv([["id", "text"], *enumerate(texts)])
        case "tsv":
            content = rows_as_csv([["id", "text"], *enumerate(texts)], delimiter="\t")
        case "parquet":
            pd.DataFrame({"id": range(len(texts)), "text": texts}).to_parquet(path)
            return path
        case _:
            content = b"\n".join(json.dumps({"id": n, "text": text}).encode() for n, text in enumerate(texts))
    return put(path, content)


def write_frame(path: Path, frame: pd.DataFrame) -> Path:
    match path.suffix:
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".parquet":
            frame.to_parquet(path)
        case suffix:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Borders of chunks everywhere, in the middle of characters and line breaks too."""
    monkeypatch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", 3)
    monkeypatch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", 3)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", 3)


# Every format


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_its_texts(tmp_path: Path, suffix: str) -> None:
    table = open_table(write_texts(tmp_path / f"Some.Texts{suffix}", TEXTS))
    assert read(table) == TEXTS
    assert read(table) == TEXTS  # again, and the same
    assert table.name == f"Some.Texts{suffix}"
    assert table.encoding == "utf-8"
    assert table.columns == (() if ".txt" in suffix else ("text",))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_format_is_that_of_the_name(tmp_path: Path, suffix: str) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", TEXTS).rename(tmp_path / "0f3a.upload")
    table = open_table(path, f"MINE{suffix.upper()}")
    assert table.name == f"MINE{suffix.upper()}"
    assert table.path == path
    assert read(table) == TEXTS


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_are_not_larger_than_they_may_be(tmp_path: Path, suffix: str) -> None:
    texts = [f"Sentence number {index}." for index in range(2 * BATCH_SIZE + 7)]
    batches = list(open_table(write_texts(tmp_path / f"texts{suffix}", texts)).texts())
    assert max(map(len, batches)) <= BATCH_SIZE
    assert [text for batch in batches for text in batch] == texts


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".jsonl", ".parquet"])
def test_white_space_is_one_space_and_blanks_are_left_out(tmp_path: Path, suffix: str) -> None:
    texts = [' One\n\n text,\t"quoted" \r\n and\u2028broken. ', "", " \n", "Another; one | more."]
    assert read_file(write_texts(tmp_path / f"texts{suffix}", texts)) == [
        'One text, "quoted" and broken.',
        "Another; one | more.",
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("texts", [[], [""], [" ", "\t "]])
def test_a_file_without_text_is_refused(tmp_path: Path, suffix: str, texts: list[str]) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", texts)
    with pytest.raises(CorpusError, match=r"texts\..* holds no text"):
        read_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"texts{suffix}"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match=r"texts\."):
        read_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_may_end_early(tmp_path: Path, suffix: str) -> None:
    """Nothing is left open: a warning would be an error here."""
    texts = [f"Sentence number {index}." for index in range(2 * BATCH_SIZE)]
    found = open_table(write_texts(tmp_path / f"texts{suffix}", texts)).texts()
    assert next(found)[0] == texts[0]
    del found


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(' \n\r\t",;|äß€𝄞'), max_size=20)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".jsonl", ".txt.gz", ".csv.gz", ".jsonl.gz"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(TEXT, max_size=8), chunk=st.integers(1, 9))
def test_what_is_written_comes_back(tmp_path_factory: Any, suffix: str, texts: list[str], chunk: int) -> None:
    first = ["Letters, as in most texts."] * 9
    texts = first + [text.replace("\0", "") for text in texts]  # which a file holds only if it is no text
    if ".txt" in suffix:
        texts = [text.replace("\n", " ").replace("\r", " ") for text in texts]  # where a line would end
    path = write_texts(tmp_path_factory.mktemp("texts") / f"texts{suffix}", texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", chunk)
        patch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", chunk)
        patch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", chunk)
        assert read_file(path, "" if ".txt" in suffix else "text") == [
            " ".join(text.split()) for text in texts if text.strip()
        ]


# Places


@pytest.mark.parametrize("name", ["texts.docx", "texts", "texts.gz", "texts.parquet.gz", "a\x1b[2Jb.pdf"])
def test_an_unknown_ending_is_refused_and_the_known_are_listed(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "texts.txt", b"One sentence.")
    with pytest.raises(CorpusError, match=r"of no known format.*\.txt, \.csv, .*\.parquet") as caught:
        open_table(path, name)
    assert str(caught.value).isprintable()


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "texts.txt", b"Ten bytes.")
    monkeypatch.setattr("clsviz.corpora.formats.table.MAX_FILE_BYTES", 10)
    assert read_file(path) == ["Ten bytes."]
    monkeypatch.setattr("clsviz.corpora.formats.table.MAX_FILE_BYTES", 9)
    with pytest.raises(CorpusError, match=r"texts\.txt is larger than"):
        open_table(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CorpusError, match="There is no file"):
        open_table(tmp_path / f"none{suffix}")
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    for path in [folder, pipe]:
        with pytest.raises(CorpusError, match="no regular file"):
            open_table(path)
    with pytest.raises(CorpusError, match="no regular file"):
        open_table(Path("/dev/zero"), f"zero{suffix}")


@pytest.mark.parametrize("name", ["a\0b.txt", "a" * 5000 + ".txt"])
def test_an_impossible_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="cannot be read"):
        open_table(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", TEXTS)

    def refuse(*_: object, **__: object) -> None:  # as the tests may run as a user who may read everything
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(gzip, "open", refuse)
    with pytest.raises(CorpusError, match=r"texts\..* cannot be read: Permission denied\. "):
        open_table(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix.endswith(".gz")])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, suffix: str) -> None:
    texts = [random.Random(index).randbytes(30).hex() for index in range(3000)]
    path = write_texts(tmp_path / f"texts{suffix}", texts)
    content = path.read_bytes()
    middle = len(content) // 2
    broken = content[:middle] + bytes(64) + content[middle + 64 :]
    for damaged in [content[:-5], content[:middle], b"No gzip file at all.", broken]:
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match=r"texts\..*\.gz is no whole gzip file"):
            read_file(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix.endswith(".gz")])
def test_a_bomb_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", ["One sentence."] * 10_000)
    assert path.stat().st_size < 50_000
    monkeypatch.setattr("clsviz.corpora.formats.lines.MAX_TEXT_BYTES", 100_000)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.MAX_TEXT_BYTES", 100_000)
    with pytest.raises(CorpusError, match=r"texts\..*\.gz holds over 0 MB when unpacked"):
        read_file(path)


def test_a_parquet_file_of_too_much_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_texts(tmp_path / "texts.parquet", TEXTS)
    monkeypatch.setattr("clsviz.corpora.formats.lines.MAX_TEXT_BYTES", 10)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.MAX_TEXT_BYTES", 10)
    with pytest.raises(CorpusError, match="when unpacked"):
        open_table(path)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv", ".jsonl"])
def test_an_endless_line_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.csv.MAX_ROW_BYTES", 2**16)
    monkeypatch.setattr("clsviz.corpora.formats.lines.MAX_ROW_BYTES", 2**16)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.MAX_ROW_BYTES", 2**16)
    monkeypatch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", 2**12)
    monkeypatch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", 2**12)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", 2**12)
    path = write_texts(tmp_path / f"texts{suffix}", ["Short.", "long " * 2**16, "Short."])
    with pytest.raises(CorpusError, match=r"texts\..* (is over 0 MB long|has a row of over 0 MB)"):
        read_file(path)


# Encodings


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv", ".csv.gz", ".tsv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.usefixtures("small_pieces")
def test_a_text_in_any_encoding(tmp_path: Path, suffix: str, encoding: str) -> None:
    lines = GERMAN if ".txt" in suffix else ["text", *GERMAN]
    path = put(tmp_path / f"texts{suffix}", "\r\n".join(["", *lines, "   ", ""]).encode(encoding))
    table = open_table(path)
    assert read(table) == GERMAN
    assert encoding == "cp1252" or table.encoding == encoding


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
        ("gb18030", "今天天气很好，我们一起去公园散步，然后去吃晚饭。"),
        ("cp1251", "Сегодня хорошая погода, и мы пойдём гулять в парк вместе с друзьями."),
        ("cp1252", "Übermäßig süße Äpfel fielen später vom größten Baum in die Wiese."),
    ],
)
def test_other_encodings_are_told_from_a_piece(tmp_path: Path, encoding: str, text: str) -> None:
    """In a file of which the piece is a small part: the first 200 kB are ASCII."""
    lines = ["A line of plain letters."] * 8000 + [f"{text} {number}" for number in range(8000)]
    assert len("\n".join(lines).encode(encoding)) > 2 * formats.PIECE_BYTES
    assert read_file(put(tmp_path / "texts.txt", "\n".join(lines).encode(encoding))) == lines


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 2**20])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".txt.gz"])
def test_a_stray_byte_is_named_with_its_line(
    tmp_path: Path, suffix: str, newline: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in another encoding, all the other lines would silently be wrong."""
    monkeypatch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", chunk)
    content = "Übermäßig süße Äpfel.\nEin zweiter Satz.\n".encode() + b"\xe9tude, Caf\xe9.\n" + "Größe.\n".encode()
    path = put(tmp_path / f"text{suffix}", content.replace(b"\n", newline.encode()))
    with pytest.raises(CorpusError, match=r"Line 3 of text\..* is damaged: its byte 0xe9 is not UTF-8"):
        open_table(path)


@pytest.mark.parametrize("chunk", [1, 2, 3, 2**20])
def test_a_character_cut_off_at_the_end_is_named(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", chunk)
    path = put(tmp_path / "text.txt", "Größe und Länge\r\nÜbermäßig €".encode()[:-1])
    with pytest.raises(CorpusError, match=r"Line 2 of text\.txt is damaged: its byte 0xe2"):
        open_table(path)
    path = put(tmp_path / "wide.txt", "Größe\r\nLänge".encode("utf-16")[:-1])
    with pytest.raises(CorpusError, match=r"Line 2 of wide\.txt is damaged: its byte 0x65 is not UTF-16"):
        open_table(path)


def test_a_byte_outside_of_another_encoding_is_named(tmp_path: Path) -> None:
    """Far from the piece by which the encoding was told."""
    lines = [line.encode("cp1252") for line in GERMAN * 10_000]
    lines[20_000] = b"A byte \x81 that is none."
    path = put(tmp_path / "text.txt", b"\n".join(lines))
    with pytest.raises(CorpusError, match=r"Line 20,001 of text\.txt is damaged: its byte 0x81 is not CP125"):
        open_table(path)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv"])
@pytest.mark.parametrize("content", [b"PNG\0\0\0", b"\x1f\x8b\x08\0\0\0\0\0"])
def test_a_binary_file_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    with pytest.raises(CorpusError, match=r"text\..* is not a text file"):
        open_table(put(tmp_path / f"text{suffix}", content))


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 2**20])
def test_a_line_ends_at_a_line_break_alone(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.csv.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.lines.CHUNK_BYTES", chunk)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.CHUNK_BYTES", chunk)
    content = "Eins.\r\nZwei.\rDrei\u2028oder\x0bvier.\n\r\n\rFünf €.".encode()
    assert read_file(put(tmp_path / "text.txt", content)) == ["Eins.", "Zwei.", "Drei oder vier.", "Fünf €."]


# Columns


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
def test_a_table_of_too_many_columns_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"text": ["A text."], "label": ["good"], "name": ["One"]})
    path = write_frame(tmp_path / f"a{suffix}", frame)
    monkeypatch.setattr("clsviz.corpora.formats.columns.MAX_COLUMNS", 3)
    assert len(open_table(path).columns) == 3
    monkeypatch.setattr("clsviz.corpora.formats.columns.MAX_COLUMNS", 2)
    with pytest.raises(CorpusError, match=r"has 3 columns, and at most 2 are read"):
        open_table(path)


def test_a_text_a_line_has_no_columns(tmp_path: Path) -> None:
    table = open_table(put(tmp_path / "text.txt", b"One."))
    with pytest.raises(CorpusError, match="It has no columns"):
        table.texts("text")


# Tables with a header


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_found(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "label", "text"], *([str(n), "a", f"Well; text, with | and\ttab, {n}"] for n in range(50))]
    table = open_table(put(tmp_path / "a.csv", rows_as_csv(rows, delimiter=delimiter)))
    assert table.columns == ("text", "label")
    assert read(table) == [" ".join(row[2].split()) for row in rows[1:]]


def test_a_csv_of_one_column_needs_no_delimiter(tmp_path: Path) -> None:
    texts = ["One; of | many", "Another; of | many"]
    assert read_file(put(tmp_path / "a.csv", "\n".join(["text", *texts]).encode())) == texts


def test_a_header_of_several_delimiters_is_decided_by_the_rows(tmp_path: Path) -> None:
    rows = [["id", "text, as it was"], *([str(n), f"A sentence {n}"] for n in range(30))]
    assert read_file(put(tmp_path / "a.csv", rows_as_csv(rows, delimiter=";"))) == [row[1] for row in rows[1:]]
    odd = b"a,b;c|d\n"  # nothing to decide by: the comma
    assert open_table(put(tmp_path / "b.csv", odd + b"Word,words\n")).columns == ("b;c|d", "a")


def test_quotes_and_line_breaks_in_fields_at_the_borders_of_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.csv.MAX_ROW_BYTES", 256)
    monkeypatch.setattr("clsviz.corpora.formats.lines.MAX_ROW_BYTES", 256)
    monkeypatch.setattr("clsviz.corpora.formats.parquet.MAX_ROW_BYTES", 256)
    draw = random.Random(0)
    rows = [[str(n), "".join(draw.choices('ab c",\n\r', k=draw.randint(1, 60)))] for n in range(2000)]
    content = rows_as_csv([["id", "text"], ["0", "Letters"], *rows])
    expected = [" ".join(row["text"].split()) for row in csv.DictReader(io.StringIO(content.decode(), newline=""))]
    assert read_file(put(tmp_path / "a.csv", content)) == [text for text in expected if text]


def test_all_columns_are_read_as_strings(tmp_path: Path) -> None:
    rows = [["text"], *[["A word"]] * 150, ["007"], ["NA"], ["null"], ["2020-01-01"], ["1e5"]]
    texts = read_file(put(tmp_path / "a.csv", rows_as_csv(rows)))
    assert texts[150:] == ["007", "NA", "null", "2020-01-01", "1e5"]


@pytest.mark.parametrize("place", [3, 20_000])
@pytest.mark.parametrize(("row", "fields"), [("8,A,B", "3 fields"), ("8", "1 field")])
def test_a_row_of_another_number_of_fields_is_named(tmp_path: Path, place: int, row: str, fields: str) -> None:
    lines = ["id,text", *(f"{n},A sentence." for n in range(2, 30_000))]
    lines[place - 1] = row
    path = put(tmp_path / "a.csv", "\n".join(lines).encode())
    with pytest.raises(CorpusError, match=rf"Row {place:,} of a\.csv has {fields}, its header 2\. Mend"):
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


@pytest.mark.parametrize("content", ["text", "text\n", "id,text\r\n", "\n\nid,text\n\n"])
def test_a_header_alone_holds_no_text(tmp_path: Path, content: str) -> None:
    with pytest.raises(CorpusError, match=r"a\.csv holds no text"):
        open_table(put(tmp_path / "a.csv", content.encode()))


def test_blank_lines_do_not_matter(tmp_path: Path) -> None:
    content = "\n" * 300_000 + "id,text\n\n1,One\n\n\n2,Two\n\n"
    assert read_file(put(tmp_path / "a.csv", content.encode())) == ["One", "Two"]


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


# JSON lines


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
        (b'["One"]', "is no JSON object"),
        (b'"One"', "is no JSON object"),
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


# Parquet


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns_of_strings_of_every_kind(tmp_path: Path, kind: pa.DataType) -> None:
    values = ["One text.", None, " Two\ntexts. ", "", "One text."] * 500
    pq.write_table(pa.table({"body": pa.array(values, kind)}), tmp_path / "a.parquet", row_group_size=700)
    assert read_file(tmp_path / "a.parquet") == ["One text.", "Two texts.", "One text."] * 500


def test_columns_of_other_types_are_passed_over(tmp_path: Path) -> None:
    texts = ["One text.", "Another text."]
    table = pa.table(
        {
            "list": [[text] for text in texts],
            "a": [{"b": text} for text in texts],
            "uuid": pa.array([bytes(16)] * 2, pa.uuid()),
            "json": pa.array(["{}"] * 2, pa.json_()),
            "bytes": [text.encode() for text in texts],
            "number": [1, 2],
            "a.b": texts[::-1],
            "none": pa.nulls(2),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    found = open_table(tmp_path / "a.parquet")
    assert found.columns == ("a.b",)
    assert read(found) == texts[::-1]
    pq.write_table(table.drop_columns(["a.b"]), tmp_path / "b.parquet")
    with pytest.raises(CorpusError, match=r"b\.parquet holds no text"):
        open_table(tmp_path / "b.parquet")


def test_of_columns_of_one_name_the_first_is_read(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array(["One"]), pa.array(["Two"])], ["text", "text", "text"])
    pq.write_table(table, tmp_path / "a.parquet")
    found = open_table(tmp_path / "a.parquet")
    assert found.columns == ("text",)
    assert read(found) == ["One"]


def test_long_texts_come_in_small_batches(tmp_path: Path) -> None:
    texts = [f"{index} " + "word " * 20_000 for index in range(100)]
    path = write_texts(tmp_path / "a.parquet", texts)
    batches = list(open_table(path).texts())
    assert len(batches) > 1
    assert [text for batch in batches for text in batch] == [text.strip() for text in texts]


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
    with pytest.raises(CorpusError, match=r"a\.parquet is no Parquet file, or a damaged one \(.+\)\. ") as caught:
        read_file(path)
    assert str(caught.value).isprintable()


def test_a_parquet_file_of_bytes_that_are_no_characters_is_refused(tmp_path: Path) -> None:
    values = pa.array([b"Plain text", b"Caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"text": values}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"a\.parquet is no Parquet file, or a damaged one"):
        read_file(tmp_path / "a.parquet")


def test_nothing_heavy_is_loaded() -> None:
    program = "import sys, clsviz.corpora.formats; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "datasets", "streamlit", "pandas"} & set(loaded)


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".jsonl.gz": lambda path: pd.read_json(path, lines=True),
    ".parquet": pd.read_parquet,
}


@pytest.mark.parametrize("suffix", READERS)
def test_pandas_reads_the_same(tmp_path: Path, suffix: str) -> None:
    draw = random.Random(1)
    texts = ["Letters " + "".join(draw.choices('ab "c,;äß€𝄞\n', k=40)) for _ in range(500)]
    path = write_texts(tmp_path / f"a{suffix}", texts)
    assert read_file(path) == [" ".join(text.split()) for text in READERS[suffix](path)["text"]]


@pytest.mark.parametrize("size", [400_000, 4_000_000])
def test_a_header_of_commas_is_refused_before_its_columns_are_built(tmp_path: Path, size: int) -> None:
    path = tmp_path / "commas.csv"
    path.write_text("," * size + "\n")
    with pytest.raises(CorpusError, match="columns"):
        open_table(path)


def test_a_text_stored_once_and_meant_often_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    text = "a " * 2**20
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 5000), pa.array([text]))
    pq.write_table(pa.table({"text": values}), path)
    assert path.stat().st_size < 2**20
    with pytest.raises(CorpusError, match="holds over 64 MB"):
        list(open_table(path).texts())


def test_row_groups_that_fill_the_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.parquet._MAX_CHUNK_BYTES", 1000)
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"text": ["one text " * 500]}), path)
    with pytest.raises(CorpusError, match="row groups of over"):
        open_table(path)


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
