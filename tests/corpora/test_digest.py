import hashlib
import os
import time
from pathlib import Path

import pytest

from clsviz.errors import CorpusError
from clsviz.sources import local_files
from clsviz.sources.local_files import digest_of


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as large, and was not changed lately."""
    monkeypatch.setattr(local_files, "_LARGE", 10)
    monkeypatch.setattr(local_files, "_SETTLED_NS", 0)
    path = tmp_path / "large.txt"
    path.write_bytes(b"One sentence.")
    return path


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose digest was computed."""
    found: list[Path] = []

    def compute(path: Path) -> str:
        found.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(local_files, "sha256", compute)
    return found


def expected(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_a_large_file_is_computed_once(large: Path, kept: Path, computed: list[Path]) -> None:
    assert digest_of(large, kept) == digest_of(large, kept) == expected(large)
    assert computed == [large]
    small = large.with_name("small.txt")
    small.write_bytes(b"One.")
    assert digest_of(small, kept) == digest_of(small, kept) == expected(small)
    assert len(computed) == 3
    assert len([*kept.iterdir()]) == 1


def test_a_file_that_was_changed_has_another(large: Path, kept: Path, computed: list[Path]) -> None:
    digest_of(large, kept)
    times = large.stat().st_atime_ns, large.stat().st_mtime_ns
    large.write_bytes(b"Two sentences")
    os.utime(large, ns=times)  # as if nothing had been changed: its size is the same, too
    assert digest_of(large, kept) == expected(large)
    other = large.with_name("other.txt")
    other.write_bytes(b"A third of it")
    os.replace(other, large)
    assert digest_of(large, kept) == expected(large)
    assert len(computed) == 3


def test_a_file_that_may_still_be_changing_is_not_remembered(
    large: Path, kept: Path, computed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_files, "_SETTLED_NS", time.time_ns())
    digest_of(large, kept)
    digest_of(large, kept)
    assert len(computed) == 2
    assert not kept.exists()


@pytest.mark.parametrize("content", ["", "{}", "0\n{}", "x" * 64 + '\n{"of": {}, "digest": "x"}'])
def test_what_is_damaged_is_computed_again(large: Path, kept: Path, computed: list[Path], content: str) -> None:
    digest_of(large, kept)
    (remembered,) = kept.iterdir()
    remembered.write_text(content)
    assert digest_of(large, kept) == expected(large)
    assert digest_of(large, kept) == expected(large)
    assert len(computed) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path, kept: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.txt cannot be read: No such file"):
        digest_of(tmp_path / "none.txt", kept)
