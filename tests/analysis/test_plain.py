"""Results as JSON and arrays, and back."""

import json
import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz import statistics
from clsviz.analysis.plain import Arrays, from_plain, to_plain
from clsviz.settings import Pooling
from clsviz.statistics.results import Reading, Readout


def again(value: Any) -> Any:
    """The value through JSON text and arrays."""
    arrays: Arrays = {}
    return from_plain(json.loads(json.dumps(to_plain(value, arrays))), arrays)


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

VALUES = {
    "numbers": (1, 0.1, math.inf, -math.inf, math.nan, True, None, "“text”", [1, (2, [3])]),
    "keys that are no text": {(Pooling.CLS, None, Readout.NORM): 1.5, (Pooling.MAX, 3, Readout.VECTOR): 2.5, 0.05: 1},
    "arrays": (
        random.normal(size=(3, 4)),
        NORMS,
        np.arange(70_000),
        np.arange(-3, 3, dtype=np.int32),
        np.zeros(0, bool),
    ),
    "a line": statistics.fit(LENGTHS, NORMS),
    "a shape": statistics.shape(LENGTHS, NORMS),
    "dimensions": statistics.dimensions(random.normal(size=(50, 8)), LENGTHS[:50]),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_comes_back_is_what_went_in(name: str) -> None:
    assert same(again(VALUES[name]), VALUES[name])
    assert not same(again(VALUES["a line"]), VALUES["a shape"])


def test_numpy_numbers_become_plain_ones() -> None:
    assert same(again((np.float64(0.1), np.int32(3), np.bool_(True))), (0.1, 3, True))


def test_a_table_comes_back(tmp_path: object) -> None:
    table = statistics.by_cutoff(LENGTHS, LENGTHS, NORMS)
    assert len(table) > 3
    pd.testing.assert_frame_equal(again(table), table)
    assert again(table[:0]).empty
    assert list(again(table[:0])) == list(table)


def test_predictions_of_single_sentences_are_left_out() -> None:
    reading = Reading(Pooling.CLS, 1, Readout.VECTOR, 0.5, (0.4, 0.6), predictions=random.normal(size=400), error=1.5)
    found = again(reading)
    assert found.predictions is None
    assert (found.r_squared, found.fold_r_squared, found.error) == (0.5, (0.4, 0.6), 1.5)


def test_whole_numbers_take_as_few_bytes_as_hold_them() -> None:
    arrays: Arrays = {}
    to_plain([np.array([-128, 127]), np.array([0, 128]), np.array([0, 40_000])], arrays)
    assert [array.dtype for array in arrays.values()] == [np.int8, np.int16, np.int32]


@dataclass(frozen=True)
class Stranger:
    """No result."""

    name: str


def test_only_what_is_listed_goes_in_and_comes_out() -> None:
    with pytest.raises(TypeError, match="Stranger"):
        to_plain(Stranger("a"), {})
    with pytest.raises(TypeError, match="object"):
        to_plain(object(), {})
    for name in ("Stranger", "Path", "Encoder", "os.system"):
        with pytest.raises(KeyError):
            from_plain({"class": name, "fields": {}}, {})
