from pathlib import Path

import pytest
from support.files import put, read_file, write_texts

from clsviz.errors import CorpusError
from clsviz.sources.files import open_table


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


def test_a_text_a_line_has_no_columns(tmp_path: Path) -> None:
    table = open_table(put(tmp_path / "text.txt", b"One."))
    with pytest.raises(CorpusError, match="It has no columns"):
        table.texts("text")
