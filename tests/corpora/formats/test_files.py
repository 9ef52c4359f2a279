import gzip
import random
from pathlib import Path

import pytest
from support.files import read_file, write_texts

from clsviz.errors import CorpusError
from clsviz.sources.files import SUFFIXES, open_table

TEXTS = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz, für größere Gewissheit.", "Übermäßig „süße“ Äpfel."]


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
        with pytest.raises(CorpusError, match=r"texts\..*\.gz is not a complete gzip file"):
            read_file(path)


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix.endswith(".gz")])
def test_a_bomb_is_refused(tmp_path: Path, suffix: str) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", ["One sentence."] * 10_000)
    assert path.stat().st_size < 50_000
    with pytest.raises(CorpusError, match=r"texts\..*\.gz holds over 0 MB when unpacked"):
        read_file(path, text_bytes=100_000)
