import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.extracting import run
from support.measured import KEY, measurements

from clsviz.experiment import Experiment
from clsviz.jobs.housekeeping import RECENT_SECONDS, clean, evict
from clsviz.store import Key, Store

OLD = RECENT_SECONDS + 100


def fill(store: Store, seed: int, used_ago: float) -> Key:
    """Parts that were last used so many seconds ago."""
    key = replace(KEY, seed=seed)
    with store.writer(key):
        store.append(key, 0, measurements(64), seconds=1)
    age(store.root / key.folder_name, used_ago)
    return key


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    for file in [path, *path.rglob("*")]:
        os.utime(file, (then, then))


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.fixture
def filled(store: Store) -> list[Key]:
    """Three folders of parts, the second of which is longest unused."""
    return [fill(store, 0, OLD + 2000), fill(store, 1, OLD + 3000), fill(store, 2, OLD + 1000)]


def there(store: Store, keys: list[Key]) -> list[bool]:
    return [(store.root / key.folder_name).exists() for key in keys]


def test_nothing_is_deleted_where_there_is_room(store: Store, filled: list[Key]) -> None:
    assert evict(store, size(store.root)) == []
    assert there(store, filled) == [True, True, True]


def test_what_was_longest_unused_goes_first_and_no_more_than_needed(store: Store, filled: list[Key]) -> None:
    total = size(store.root)
    assert evict(store, total - 1) == [store.root / filled[1].folder_name]
    assert there(store, filled) == [True, False, True]
    assert size(store.root) < total
    store.parts(filled[0])  # which uses it
    assert evict(store, 0) == [store.root / filled[2].folder_name]
    assert there(store, filled) == [True, False, False]
    assert not list(store.root.glob(".evicted-*"))


def test_what_is_used_now_stays_however_large_it_is(store: Store, filled: list[Key]) -> None:
    for key in filled:
        store.mark_used(key)
    assert evict(store, 0) == []
    assert there(store, filled) == [True, True, True]


def test_what_is_being_written_stays(store: Store, filled: list[Key]) -> None:
    with store.writer(filled[1]):
        age(store.root / filled[1].folder_name, OLD + 5000)
        evict(store, 0)
        assert there(store, filled) == [False, True, False]
        part = store.append(filled[1], 64, measurements(8, start=64), 1)
    assert store.read(part) is not None


def test_what_was_deleted_is_measured_again(store: Store, experiment: Experiment) -> None:
    found, _ = run(experiment, store)
    age(store.root, OLD)
    assert evict(store, 0)
    assert not list(store.root.glob("norms-*"))
    again, extraction = run(experiment, store)
    assert extraction.sentences_per_second is not None
    assert (again.measurements.cls_norms == found.measurements.cls_norms).all()


def test_results_and_corpora_count_and_go_as_well(store: Store) -> None:
    key = fill(store, 0, OLD)
    upload = "upload-" + 32 * "a"
    files = [
        *(store.results / "a.safetensors", store.corpora / "file-b.parquet"),
        *(store.corpora / upload, store.corpora / f"{upload}.json", store.corpora / f"{upload}-c.parquet"),
        *(store.corpora / "hub-d" / "footer.parquet", store.corpora / "hub-d" / "en" / "round.parquet"),
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 1000)
        age(file, OLD + 500)
    age(store.corpora / f"{upload}.json", 0)  # somebody looks at it
    deleted = evict(store, size(store.root / key.folder_name) + 3000)
    assert {*deleted} == {files[0], files[1], store.corpora / "hub-d", store.corpora / "hub-d" / "en"}
    assert [file.exists() for file in files] == [False, False, True, True, True, False, False]
    assert (store.root / key.folder_name).exists()


def test_what_killed_processes_left_is_removed(store: Store) -> None:
    key, other = fill(store, 0, 0), fill(store, 1, 0)
    left = [store.root / key.folder_name / ".new-0a.safetensors", store.root / ".evicted-0b" / "part"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (store.corpora / "hub").mkdir(parents=True)
    old, new = store.corpora / "hub" / ".new-0c.parquet", store.corpora / ".new-0d.parquet"
    old.touch()
    new.touch()
    age(old, 25 * 3600)
    with store.writer(other):
        of_writer = store.root / other.folder_name / ".new-0e.safetensors"
        of_writer.touch()
        assert clean(store) == 3
        assert of_writer.exists()  # somebody may be writing it
    assert new.exists()
    assert not any(path.exists() for path in [*left, old])
    assert clean(store) == 1
    assert not of_writer.exists()
    assert store.read(store.parts(key)[0]) is not None
