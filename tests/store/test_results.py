"""The one cache of results, in memory and on disk."""

import json
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz import analysis
from clsviz.analysis import result_key, sentences_key
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.settings import Pooling, Precision
from clsviz.sources import models
from clsviz.statistics.dimensions import dimensions
from clsviz.statistics.line import by_cutoff, fit
from clsviz.statistics.probes import Reading, Readout
from clsviz.statistics.shape import shape
from clsviz.store import Store, results
from clsviz.store.results import Arrays, ResultCache, ResultKey, from_json, size_of, to_json, write


@pytest.fixture(scope="module")
def found(tiny_folder: Path, text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    experiment = Experiment(str(tiny_folder), str(text_file), sample_size=300)
    return Extraction(experiment, Store(tmp_path_factory.mktemp("store")), Encoders()).run(Progress())


def key(found: Found, **view: object) -> ResultKey:
    return result_key("shapes", found, view=replace(View(), **view))


def test_a_result_is_computed_once_for_all_who_ask_at_the_same_time() -> None:
    cache, computed, all_ask = ResultCache(), [], threading.Barrier(4)

    def compute() -> str:
        computed.append(1)
        return "picture"

    def ask() -> str:
        all_ask.wait()
        return cache.get_or_compute("view", compute)

    with ThreadPoolExecutor(4) as visitors:
        assert [asked.result() for asked in [visitors.submit(ask) for _ in range(4)]] == ["picture"] * 4
    assert len(computed) == 1


def test_what_fails_is_tried_again_by_those_who_waited_and_by_the_next() -> None:
    cache, waiting, tried = ResultCache(), threading.Event(), []

    def compute() -> int:
        tried.append(1)
        if len(tried) > 1:
            return 3
        waiting.wait(10)
        raise ValueError("the first")

    with ThreadPoolExecutor(2) as visitors:
        first = visitors.submit(cache.get_or_compute, "field", compute)
        while not tried:
            pass
        second = visitors.submit(cache.get_or_compute, "field", compute)
        waiting.set()
        with pytest.raises(ValueError, match="the first"):
            first.result()
        assert second.result() == 3
    assert cache.get_or_compute("field", lambda: pytest.fail("it is there")) == 3


def test_what_was_not_asked_for_longest_makes_room() -> None:
    cache = ResultCache(max_bytes=3 * size_of(bytes(100)))
    for name in "abc":
        cache.get_or_compute(name, lambda: bytes(100))
    cache.get_or_compute("a", lambda: pytest.fail("it is there"))
    cache.get_or_compute("d", lambda: bytes(100))
    assert [name for name in "abcd" if name in cache] == ["a", "c", "d"]
    cache.get_or_compute("a", lambda: pytest.fail("it was asked for lately"))
    assert cache.get_or_compute("b", lambda: b"again") == b"again"
    cache.get_or_compute("large", lambda: bytes(10_000))  # it stays until something newer comes
    cache.get_or_compute("large", lambda: pytest.fail("it is drawn again and again"))
    assert "a" not in cache


def test_a_value_is_as_large_as_all_that_it_holds() -> None:
    texts = np.array(["x" * 1_000, "y" * 2_000], dtype=object)
    value = Reading(Pooling.CLS, 1, Readout.NORM, predictions=np.zeros(5_000)), b"z" * 500, {"labels": texts}
    assert 40_000 + 3_000 + 500 < size_of(value) < 40_000 + 3_000 + 500 + 3_000


def test_a_stored_line_is_the_computed_one(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = analysis.select(found, View(), cache=ResultCache(tmp_path))
    monkeypatch.setattr("clsviz.statistics.line.fit", lambda *_: pytest.fail("it is computed again"))
    second = analysis.select(found, View(), cache=ResultCache(tmp_path))
    assert vars(second.fit).keys() == vars(first.fit).keys()
    assert second.fit.band([5, 9])[0].tolist() == first.fit.band([5, 9])[0].tolist()
    assert second.clusters.tolist() == first.clusters.tolist()


def test_what_a_result_depends_on_is_in_its_key(found: Found) -> None:
    others = [
        key(found, length_cutoff=20),
        key(found, layer=1),
        result_key("by_cutoff", found, view=View()),
        result_key("shapes", found, view=View(), depends_on="a choice"),
        result_key("shapes", found, found, view=View()),
        key(replace(found, seed=1)),
        key(replace(found, weights=replace(found.weights, fingerprint="other"))),
        key(replace(found, sample=found.sample.head(200), measurements=found.measurements.head(200))),
    ]
    assert len({key(found).digest, *(other.digest for other in others)}) == 9
    assert key(found) == key(found)


def test_only_whole_samples_and_what_nobody_typed_are_written(found: Found, tmp_path: Path) -> None:
    ResultCache(tmp_path).put(key(replace(found, measurements=found.measurements.head(128))), 1.5)
    ResultCache().put(key(found), 1.5)
    ResultCache(tmp_path).put(key(found), None)
    typed = sentences_key("typed", models.find("minilm"), Precision.EXACT, ["My secret."])
    ResultCache(tmp_path).put(typed, 1.5)
    assert not list(tmp_path.iterdir())
    write(tmp_path / "bundled", typed, 2.5)
    assert ResultCache(tmp_path, tmp_path / "bundled").get(typed) == 2.5


@pytest.mark.parametrize("damage", ["cut short", "one byte", "empty"])
def test_what_is_damaged_is_computed_again(found: Found, tmp_path: Path, damage: str) -> None:
    ResultCache(tmp_path).put(key(found), [1.5] * 9)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    middle = len(content) // 2
    changed = {"cut short": content[:-1], "one byte": content[:middle] + b"\0" + content[middle + 1 :], "empty": b""}
    path.write_bytes(changed[damage])
    assert ResultCache(tmp_path).get(key(found)) is None
    assert ResultCache(tmp_path).get_or_compute(key(found), lambda: 7.5) == 7.5


def test_results_of_other_code_do_not_count(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ResultCache(tmp_path).put(key(found), 1.5)
    assert key(found) in ResultCache(tmp_path)
    monkeypatch.setattr(results, "_code", lambda: "changed")
    assert key(found) not in ResultCache(tmp_path)


def test_what_came_along_counts_only_for_measurements_that_came_along(found: Found, tmp_path: Path) -> None:
    write(tmp_path / "bundled", key(found), 1.5)
    cache, bundled = ResultCache(tmp_path / "own", tmp_path / "bundled"), replace(found, n_shipped=300)
    assert cache.get(key(found)) is None
    assert cache.get(key(bundled)) == 1.5
    cache.put(key(found), 2.5)
    assert (cache.get(key(found)), cache.get(key(bundled))) == (2.5, 1.5)


def test_the_files_longest_unused_are_removed(found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MAX_FILES", 3)
    for cutoff in range(10, 16):
        ResultCache(tmp_path).put(key(found, length_cutoff=cutoff), float(cutoff))
        for path in tmp_path.iterdir():
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 10))
    left = [ResultCache(tmp_path).get(key(found, length_cutoff=cutoff)) for cutoff in range(10, 16)]
    assert left == [None] * 3 + [13, 14, 15]


def again(value: Any) -> Any:
    """The value through JSON text and arrays."""
    arrays: Arrays = {}
    return from_json(json.loads(json.dumps(to_json(value, arrays))), arrays)


def same(one: Any, other: Any) -> bool:
    """Whether both are of the same types throughout, and hold the same to the last bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


random = np.random.default_rng(5)
LENGTHS = random.integers(3, 40, 400)
NORMS = (7 + 0.01 * LENGTHS + random.normal(size=400)).astype(np.float32)
ARRAYS = random.normal(size=(3, 4)), NORMS, np.arange(70_000), np.arange(-3, 3, dtype=np.int32), np.zeros(0, bool)
VALUES = {
    "numbers": (1, 0.1, math.inf, -math.inf, math.nan, True, None, "“text”", [1, (2, [3])]),
    "keys that are no text": {(Pooling.CLS, None, Readout.NORM): 1.5, (Pooling.MAX, 3, Readout.VECTOR): 2.5, 0.05: 1},
    "arrays": ARRAYS,
    "a line": fit(LENGTHS, NORMS),
    "a shape": shape(LENGTHS, NORMS),
    "dimensions": dimensions(random.normal(size=(50, 8)), LENGTHS[:50]),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_comes_back_is_what_went_in(name: str) -> None:
    assert same(again(VALUES[name]), VALUES[name])
    assert not same(again(VALUES["a line"]), VALUES["a shape"])


def test_numbers_and_tables_come_back_plain_and_small() -> None:
    assert same(again((np.float64(0.1), np.int32(3), np.bool_(True))), (0.1, 3, True))
    arrays: Arrays = {}
    to_json([np.array([-128, 127]), np.array([0, 128]), np.array([0, 40_000])], arrays)
    assert [array.dtype for array in arrays.values()] == [np.int8, np.int16, np.int32]
    table = by_cutoff(LENGTHS, LENGTHS, NORMS)
    assert len(table) > 3
    pd.testing.assert_frame_equal(again(table), table)
    assert list(again(table[:0])) == list(table)
    reading = Reading(Pooling.CLS, 1, Readout.VECTOR, 0.5, (0.4, 0.6), predictions=random.normal(size=400), error=1.5)
    assert (again(reading).predictions, again(reading).r_squared, again(reading).error) == (None, 0.5, 1.5)


@dataclass(frozen=True)
class Stranger:
    """No result."""

    name: str


def test_only_what_is_listed_goes_in_and_comes_out() -> None:
    for value in (Stranger("a"), object()):
        with pytest.raises(TypeError, match="no part of a result"):
            to_json(value, {})
    for name in ("Stranger", "Path", "Encoder", "os.system"):
        with pytest.raises(KeyError):
            from_json({"class": name, "fields": {}}, {})
    for module, names in results.CLASSES.items():
        assert all(results._class(name).__name__ == name for name in names.split()), module
