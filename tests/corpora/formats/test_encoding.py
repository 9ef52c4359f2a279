from pathlib import Path

import pytest
from support.files import put, read, read_file

from clsviz.errors import CorpusError
from clsviz.sources import text_files
from clsviz.sources.files import open_table
from clsviz.sources.text_files import Limits

GERMAN = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz für größere Gewissheit.", "Übermäßig süße Äpfel."]


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".csv", ".csv.gz", ".tsv"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_text_in_any_encoding(tmp_path: Path, suffix: str, encoding: str) -> None:
    """With borders of chunks everywhere, in the middle of characters and line breaks too."""
    lines = GERMAN if ".txt" in suffix else ["text", *GERMAN]
    path = put(tmp_path / f"texts{suffix}", "\r\n".join(["", *lines, "   ", ""]).encode(encoding))
    table = open_table(path, limits=Limits(chunk_bytes=3))
    assert read(table) == GERMAN
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
    assert len("\n".join(lines).encode(encoding)) > 2 * text_files.PIECE_BYTES
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


@pytest.mark.parametrize("chunk", [1, 2, 3, 2**20])
def test_a_character_cut_off_at_the_end_is_named(tmp_path: Path, chunk: int) -> None:
    path = put(tmp_path / "text.txt", "Größe und Länge\r\nÜbermäßig €".encode()[:-1])
    with pytest.raises(CorpusError, match=r"Line 2 of text\.txt is damaged: its byte 0xe2"):
        open_table(path, limits=Limits(chunk_bytes=chunk))
    path = put(tmp_path / "wide.txt", "Größe\r\nLänge".encode("utf-16")[:-1])
    with pytest.raises(CorpusError, match=r"Line 2 of wide\.txt is damaged: its byte 0x65 is not UTF-16"):
        open_table(path, limits=Limits(chunk_bytes=chunk))


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
