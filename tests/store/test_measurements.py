import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import StoreError
from clsviz.measurements import Arrays
from clsviz.store.measurements import IN_USE_SECONDS, Measurements, evict


def arrays(start: int, stop: int) -> Arrays:
    numbers = np.arange(start, stop)
    return {"n_tokens": numbers.astype(np.int32), "cls": np.outer(numbers, [1, 2]).astype("f4")}


def tokens(measurements: Measurements, n: int = 100, key: str = "key") -> list[int]:
    return [number for part in measurements.read(key, n) for number in part["n_tokens"].tolist()]


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    measurements = Measurements(tmp_path / "store")
    for start in range(0, 40, 10):
        measurements.append("key", start, arrays(start, start + 10))
    return measurements


def path_of(measurements: Measurements, start: int) -> Path:
    return next((measurements.root / "key").glob(f"{start:09}-*"))


def test_what_was_appended_is_read_up_to_n(measurements: Measurements) -> None:
    os.utime(measurements.root / "key", (0, 0))
    read = np.concatenate([part["cls"] for part in measurements.read("key", 25)])
    np.testing.assert_array_equal(read, arrays(0, 25)["cls"])
    assert tokens(measurements, key="another") == []
    assert (measurements.root / "key").stat().st_mtime > 0, "it must count as used"


@pytest.mark.parametrize(
    ("spans", "n", "n_read", "missing"),
    [
        ([(10, 20), (15, 30), (40, 50)], 60, 0, [(0, 10), (30, 40), (50, 60)]),
        ([(10, 20), (15, 30), (40, 50)], 35, 0, [(0, 10), (30, 35)]),
        ([(0, 10), (20, 30)], 30, 10, [(10, 20)]),
        ([(0, 40), (5, 47), (0, 3)], 100, 47, [(47, 100)]),
        ([(0, 20), (20, 50)], 30, 30, []),
    ],
)
def test_slices_are_read_to_a_gap_and_gaps_are_missing(tmp_path, spans, n, n_read, missing) -> None:
    measurements = Measurements(tmp_path)
    for start, stop in spans:
        measurements.append("key", start, arrays(start, stop))
    for name in ("notes-x.safetensors", "000000009-000000003.safetensors", "1-2.tmp"):
        (tmp_path / "key" / name).write_bytes(b"of somebody else")
    assert tokens(measurements, n) == list(range(n_read))
    assert measurements.missing("key", n) == missing


def test_own_slices_continue_those_that_are_shipped(measurements, tmp_path) -> None:
    own = Measurements(tmp_path / "own", shipped=measurements.root)
    own.append("key", 30, arrays(30, 55))
    assert tokens(own) == list(range(55))
    assert tokens(own, 12) == list(range(12))


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "a flipped bit": lambda path: path.write_bytes(
        path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1])
    ),
    "another slice": lambda path: shutil.copy(min(path.parent.iterdir()), path),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a folder": lambda path: (path.unlink(), (path / "folder").mkdir(parents=True)),
    "none": Path.unlink,
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_slice_is_measured_again(measurements: Measurements, damage: str) -> None:
    DAMAGES[damage](path_of(measurements, 20))
    assert measurements.missing("key", 40) == [(20, 30)]
    assert tokens(measurements) == list(range(20))
    measurements.append("key", 20, arrays(20, 30))
    assert tokens(measurements) == list(range(40))


def test_a_file_in_the_place_of_a_folder_is_replaced(tmp_path: Path) -> None:
    measurements = Measurements(tmp_path)
    (tmp_path / "key").write_bytes(b"of somebody else")
    assert measurements.missing("key", 10) == [(0, 10)]
    assert measurements.read("key", 10) == []
    measurements.append("key", 0, arrays(0, 10))
    assert tokens(measurements) == list(range(10))


def test_a_damaged_slice_that_is_shipped_is_not_deleted(measurements, tmp_path) -> None:
    DAMAGES["cut"](path_of(measurements, 0))
    assert tokens(Measurements(tmp_path / "own", shipped=measurements.root)) == []
    assert path_of(measurements, 0).exists()


def test_a_store_that_cannot_be_entered_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        Measurements(tmp_path / ("x" * 300)).read(
            "key", 1
        )  # as a folder of somebody else, also for root


@pytest.mark.parametrize(
    ("limit", "n_removed"), [(500, 0), (499, 1), (301, 2), (300, 2), (100, 4), (0, 4)]
)
def test_parts_that_are_longest_unused_are_removed(tmp_path, limit, n_removed) -> None:
    names = ["norms-b/x", "corpora/a.arrow", "results/c.safetensors", "corpora/hub-a/x"]
    paths = [tmp_path / name for name in [*names, "uploads/upload-a/file.csv", "last-a/x"]]
    for age, path in enumerate(reversed(paths)):  # the last was used just now
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(bytes(100))
        for used in (path, path.parent):
            os.utime(used, (moment := time.time() - 2 * IN_USE_SECONDS * age, moment))
    evict(tmp_path, limit)
    assert [path for path in paths if not path.exists()] == paths[:n_removed]


def test_writing_holds_the_store_within_its_limit(tmp_path: Path) -> None:
    Measurements(tmp_path).append("norms-old", 0, arrays(0, 10))
    os.utime(tmp_path / "norms-old", (0, 0))
    limited = Measurements(tmp_path, limit_bytes=10)
    limited.append("norms-new", 0, arrays(0, 10))
    assert tokens(limited, key="norms-old") == []
    assert tokens(limited, key="norms-new") == list(range(10))
