import json
import os
import random
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files import put, read, read_file, write_frame, write_texts

from clsviz.errors import CorpusError
from clsviz.sources import files
from clsviz.sources.files import BATCH_SIZE, SUFFIXES, Limits
from clsviz.sources.tables import open_table

TEXTS = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz für größere Gewissheit.", "Übermäßig „süße“ Äpfel."]


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
    batches = [found for found, _ in open_table(write_texts(tmp_path / f"texts{suffix}", texts)).numbered_texts()]
    assert max(map(len, batches)) <= BATCH_SIZE
    assert [text for batch in batches for text in batch] == texts


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("texts", [[], [""], [" ", "\t "]])
def test_a_file_without_text_is_refused(tmp_path: Path, suffix: str, texts: list[str]) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", texts)
    with pytest.raises(CorpusError, match=r"texts\..* holds no text"):
        read_file(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(' \n\r\t",;|äß€𝄞'), max_size=20)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".jsonl", ".txt.gz", ".csv.gz", ".jsonl.gz"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(TEXT, max_size=8), chunk=st.integers(1, 9))
def test_what_is_written_comes_back(tmp_path_factory: Any, suffix: str, texts: list[str], chunk: int) -> None:
    first = ["Letters, as in most texts."] * 9
    texts = first + [text.replace("\0", "") for text in texts]  # which a file holds only if it is no text
    if ".txt" in suffix:
        texts = [text.replace("\n", " ").replace("\r", " ") for text in texts]  # where a line would end
    if suffix == ".tsv":  # a tab and a line break in quotes look like two rows of a table without quoting
        texts = [text.replace("\t", " ") for text in texts]
    path = write_texts(tmp_path_factory.mktemp("texts") / f"texts{suffix}", texts)
    assert read_file(path, "" if ".txt" in suffix else "text", chunk_bytes=chunk) == [
        " ".join(text.split()) for text in texts if text.strip()
    ]


@pytest.mark.parametrize("name", ["texts.xyz", "texts", "texts.gz", "texts.parquet.gz", "a\x1b[2Jb.xyz"])
def test_an_unknown_ending_is_refused_and_the_known_are_listed(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "texts.txt", b"One sentence.")
    with pytest.raises(CorpusError, match=r"in no known format.*\.txt, \.csv, .*\.parquet") as caught:
        open_table(path, name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CorpusError, match="There is no file"):
        open_table(tmp_path / f"none{suffix}")
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    for path in [folder, pipe]:
        with pytest.raises(CorpusError, match="not a regular file"):
            open_table(path)
    with pytest.raises(CorpusError, match="not a regular file"):
        open_table(Path("/dev/zero"), f"zero{suffix}")
    for name in (f"a\0b{suffix}", f"{'a' * 5000}{suffix}"):
        with pytest.raises(CorpusError, match="cannot be read"):
            open_table(tmp_path / name)
    large = put(tmp_path / "ten.txt", b"Ten bytes.")
    assert read_file(large, file_bytes=10) == ["Ten bytes."]
    with pytest.raises(CorpusError, match=r"ten\.txt is larger than"):
        open_table(large, limits=Limits(file_bytes=9))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", TEXTS)

    def refuse(*_: object, **__: object) -> None:  # as the tests may run as a user who may read everything
        raise PermissionError(13, "Permission denied")

    for module in ("files", "tables"):
        monkeypatch.setattr(f"clsviz.sources.{module}.open_regular", refuse)
    with pytest.raises(CorpusError, match=r"texts\..* cannot be read: Permission denied\. "):
        open_table(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix.endswith(".gz")])
def test_a_gzip_file_that_is_damaged_or_a_bomb_is_refused(tmp_path: Path, suffix: str) -> None:
    texts = [random.Random(index).randbytes(30).hex() for index in range(3000)]
    path = write_texts(tmp_path / f"texts{suffix}", texts)
    content = path.read_bytes()
    middle = len(content) // 2
    broken = content[:middle] + bytes(64) + content[middle + 64 :]
    for damaged in [content[:-5], content[:middle], b"No gzip file at all.", broken]:
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match=r"texts\..*\.gz is not a complete gzip file"):
            read_file(path)
    bomb = write_texts(path, ["One sentence."] * 10_000)
    assert bomb.stat().st_size < 50_000
    with pytest.raises(CorpusError, match=r"texts\..*\.gz holds over 0 MB when unpacked"):
        read_file(bomb, text_bytes=100_000)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv", ".jsonl"])
def test_an_endless_line_is_refused(tmp_path: Path, suffix: str) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", ["Short.", "long " * 2**16, "Short."])
    with pytest.raises(CorpusError, match=r"texts\..* (is over 0 MB long|has a row of over 0 MB)"):
        read_file(path, row_bytes=2**16, chunk_bytes=2**12)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 2**20])
def test_a_line_ends_at_a_line_break_alone(tmp_path: Path, chunk: int) -> None:
    content = "Eins.\r\nZwei.\rDrei\u2028oder\x0bvier.\n\r\n\rFünf €.".encode()
    assert read_file(put(tmp_path / "text.txt", content), chunk_bytes=chunk) == [
        "Eins.",
        "Zwei.",
        "Drei oder vier.",
        "Fünf €.",
    ]


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
        next(table.numbered_texts("other\n"))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    with pytest.raises(CorpusError, match=r"has 31 columns, and at most 30 are read"):
        open_table(table.path, limits=Limits(columns=30))


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


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv", ".csv.gz", ".tsv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_text_in_any_encoding(tmp_path: Path, suffix: str, encoding: str) -> None:
    """With borders of chunks everywhere, in the middle of characters and line breaks too."""
    lines = TEXTS if ".txt" in suffix else ["text", *TEXTS]
    path = put(tmp_path / f"texts{suffix}", "\r\n".join(["", *lines, "   ", ""]).encode(encoding))
    table = open_table(path, limits=Limits(chunk_bytes=3))
    assert read(table) == TEXTS
    assert encoding == "cp1252" or table.encoding == encoding


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
        ("gb18030", "今天天气很好，我们一起去公园散步，然后去吃晚饭。"),
        ("cp1251", "Сегодня хорошая погода, и мы пойдём гулять в парк вместе с друзьями."),
        ("cp1252", "Très agréable à côté de la forêt, déjà vu par là-bas."),
        ("cp1252", "El señor comió piñas en el jardín y después durmió."),
        ("cp1252", "Übermäßig süße Äpfel fielen später vom größten Baum in die Wiese."),
    ],
)
def test_other_encodings_are_told_from_a_piece(tmp_path: Path, encoding: str, text: str) -> None:
    """In a file of which the piece is a small part: the first 200 kB are ASCII."""
    lines = ["A line of plain letters."] * 8000 + [f"{text} {number}" for number in range(8000)]
    assert len("\n".join(lines).encode(encoding)) > 2 * files.PIECE_BYTES
    assert read_file(put(tmp_path / "texts.txt", "\n".join(lines).encode(encoding))) == lines


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 2**20])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".txt.gz"])
def test_a_stray_byte_is_named_with_its_line(tmp_path: Path, suffix: str, newline: str, chunk: int) -> None:
    """Read in another encoding, all the other lines would silently be wrong."""
    content = "Übermäßig süße Äpfel.\nEin zweiter Satz.\n".encode() + b"\xe9tude, Caf\xe9.\n" + "Größe.\n".encode()
    path = put(tmp_path / f"text{suffix}", content.replace(b"\n", newline.encode()))
    with pytest.raises(CorpusError, match=r"Line 3 of text\..* is damaged: its byte 0xe9 is not UTF-8"):
        open_table(path, limits=Limits(chunk_bytes=chunk))
    for encoding, byte, label in (("utf-8", "0xc3", "UTF-8"), ("utf-16-le", "0xe9", "UTF-16")):  # a character cut off
        bom = b"\xff\xfe" if encoding == "utf-16-le" else b""
        path = put(tmp_path / f"cut{suffix}", bom + f"Größe{newline}Caf\xe9".encode(encoding)[:-1])
        with pytest.raises(CorpusError, match=rf"Line 2 of cut\..* is damaged: its byte {byte} is not {label}"):
            open_table(path, limits=Limits(chunk_bytes=chunk))


def test_a_byte_outside_of_another_encoding_is_named(tmp_path: Path) -> None:
    """Far from the piece by which the encoding was told."""
    lines = [line.encode("cp1252") for line in TEXTS * 10_000]
    lines[20_000] = b"A byte \x81 that is none."
    path = put(tmp_path / "text.txt", b"\n".join(lines))
    with pytest.raises(CorpusError, match=r"Line 20,001 of text\.txt is damaged: its byte 0x81 is not CP125"):
        open_table(path)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv"])
@pytest.mark.parametrize("content", [b"PNG\0\0\0", b"\x1f\x8b\x08\0\0\0\0\0"])
def test_a_binary_file_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    with pytest.raises(CorpusError, match=r"text\..* is not a text file"):
        open_table(put(tmp_path / f"text{suffix}", content))
