import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import StoreError
from clsviz.measurements import Arrays
from clsviz.store.chunks import IN_USE_SECONDS, Chunks, evict, join


def arrays(start: int, stop: int) -> Arrays:
    numbers = np.arange(start, stop)
    return {"n_tokens": numbers.astype(np.int32), "cls": np.outer(numbers, [1, 2]).astype("f4")}


def tokens(chunks: Chunks, n: int = 100, key: str = "key") -> list[int]:
    read = chunks.read(key, n)
    return join(read)["n_tokens"].tolist() if read else []


@pytest.fixture
def chunks(tmp_path: Path) -> Chunks:
    chunks = Chunks(tmp_path / "store")
    for start in range(0, 40, 10):
        chunks.append("key", start, arrays(start, start + 10))
    return chunks


def path_of(chunks: Chunks, start: int) -> Path:
    return next((chunks.root / "key").glob(f"{start:09}-*"))


def test_what_was_appended_is_read_up_to_n(chunks: Chunks) -> None:
    read = join(chunks.read("key", 25))
    np.testing.assert_array_equal(read["cls"], arrays(0, 25)["cls"])
    assert tokens(chunks, key="another") == []


def test_reading_ends_at_a_gap(chunks: Chunks) -> None:
    path_of(chunks, 20).unlink()
    assert tokens(chunks) == list(range(20))


def test_overlapping_chunks_of_two_writers_are_read_once(chunks: Chunks) -> None:
    chunks.append("key", 5, arrays(5, 47))
    chunks.append("key", 0, arrays(0, 3))
    assert tokens(chunks) == list(range(47))


def test_own_chunks_continue_those_that_are_shipped(chunks: Chunks, tmp_path: Path) -> None:
    own = Chunks(tmp_path / "own", shipped=chunks.root)
    own.append("key", 30, arrays(30, 55))
    assert tokens(own) == list(range(55))
    assert tokens(own, 12) == list(range(12))


def test_merged_chunks_are_one_file(chunks: Chunks) -> None:
    chunks.merge("key", 10, chunks.read("key", 30)[1:])
    assert len(list((chunks.root / "key").iterdir())) == 3
    assert tokens(chunks) == list(range(40))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def swap(path: Path) -> None:
    shutil.copy(path.with_name("000000000-000000010.safetensors"), path)


def become_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("in the way")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "damage",
    [
        *(cut, flip, swap, become_pipe, become_folder, Path.unlink),
        lambda path: path.write_bytes(bytes(1000)),
    ],
)
def test_a_damaged_chunk_is_measured_again(chunks: Chunks, damage) -> None:
    damage(path_of(chunks, 20))
    assert tokens(chunks) == list(range(20))
    chunks.append("key", 20, arrays(20, 30))
    assert tokens(chunks) == list(range(40))


def test_a_damaged_chunk_that_is_shipped_is_not_deleted(chunks: Chunks, tmp_path: Path) -> None:
    cut(path_of(chunks, 0))
    own = Chunks(tmp_path / "own", shipped=chunks.root)
    assert tokens(own) == []
    assert path_of(chunks, 0).exists()


def test_files_of_other_names_are_ignored(chunks: Chunks) -> None:
    for name in ("notes-x.safetensors", "000000009-000000003.safetensors", "1-2.tmp"):
        (chunks.root / "key" / name).write_bytes(b"")
    assert tokens(chunks) == list(range(40))


def test_a_store_that_cannot_be_entered_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        Chunks(tmp_path / ("x" * 300)).read("key", 1)  # as a folder of somebody else, also for root


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Path]:
    """Parts of a store of 100 bytes each, in the order of their last use, the last just now."""
    names = ["norms-b/x", "corpora/a.arrow", "results/c.safetensors", "corpora/hub-a/x"]
    paths = {name: tmp_path / name for name in [*names, "uploads/upload-a/file.csv", "last-a/x"]}
    for age, path in enumerate(reversed(paths.values())):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(bytes(100))
        for used in (path, path.parent):
            os.utime(used, (moment := time.time() - 2 * IN_USE_SECONDS * age, moment))
    return paths


@pytest.mark.parametrize(
    ("limit", "n_removed"), [(500, 0), (499, 1), (301, 2), (300, 2), (100, 4), (0, 4)]
)
def test_parts_that_are_longest_unused_are_removed(
    parts: dict[str, Path], tmp_path: Path, limit: int, n_removed: int
) -> None:
    evict(tmp_path, limit)
    assert [name for name, path in parts.items() if not path.exists()] == list(parts)[:n_removed]


def test_writing_holds_the_store_within_its_limit(chunks: Chunks) -> None:
    chunks.append("norms-old", 0, arrays(0, 10))
    os.utime(chunks.root / "norms-old", (0, 0))
    limited = Chunks(chunks.root, limit_bytes=10)
    limited.append("norms-new", 0, arrays(0, 10))
    assert tokens(limited, key="norms-old") == []
    assert tokens(limited, key="norms-new") == list(range(10))


def test_what_is_read_is_used(chunks: Chunks) -> None:
    os.utime(chunks.root / "key", (0, 0))
    tokens(chunks)
    assert (chunks.root / "key").stat().st_mtime > 0
