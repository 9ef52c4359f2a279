from dataclasses import dataclass, make_dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from clsviz import files
from clsviz.errors import StoreError
from clsviz.store.results import Results


@dataclass(frozen=True, eq=False)
class Answer:
    value: float
    interval: tuple[float, float]
    text: str | None
    numbers: NDArray[np.float64]


def compute() -> Answer:
    return Answer(0.5, (-float("inf"), 2.0), None, np.arange(6.0).reshape(2, 3))


def never() -> Answer:
    raise AssertionError("computed again")


def test_a_result_is_computed_once(tmp_path: Path) -> None:
    computed = Results(tmp_path).get(("key", 1), Answer, compute)
    stored = Results(tmp_path).get(("key", 1), Answer, never)
    assert (stored.value, stored.interval, stored.text) == (0.5, (-float("inf"), 2.0), None)
    np.testing.assert_array_equal(stored.numbers, computed.numbers)


@pytest.mark.parametrize("key", [("key", 2), ("key", "1", None), ("other", 1)])
def test_other_keys_are_other_results(tmp_path: Path, key: tuple) -> None:
    results = Results(tmp_path)
    results.get(("key", 1), Answer, compute)
    assert results.find(key, Answer) is None


def test_shipped_results_are_read_and_never_written(tmp_path: Path) -> None:
    Results(tmp_path / "shipped").get(("key",), Answer, compute)
    results = Results(tmp_path / "own", tmp_path / "shipped")
    assert results.get(("key",), Answer, never).value == 0.5
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("content", [b"", b"\0" * 64, None])
def test_a_damaged_result_is_computed_again(tmp_path: Path, content: bytes | None) -> None:
    Results(tmp_path).get(("key",), Answer, compute)
    (path,) = (tmp_path / "results").iterdir()
    path.write_bytes(path.read_bytes()[:-1] if content is None else content)
    assert Results(tmp_path).get(("key",), Answer, compute).value == 0.5
    assert Results(tmp_path).get(("key",), Answer, never).value == 0.5


@pytest.mark.parametrize("about", [{}, {"numbers": "{"}, {"numbers": "[1]"}])
def test_a_result_without_its_numbers_is_computed_again(tmp_path: Path, about: dict) -> None:
    Results(tmp_path).get(("key",), Answer, compute)
    (path,) = (tmp_path / "results").iterdir()
    files.write_arrays(path, {}, {"name": path.stem, **about})
    assert Results(tmp_path).get(("key",), Answer, compute).value == 0.5


def test_a_result_of_other_fields_is_computed_again(tmp_path: Path) -> None:
    older = make_dataclass("Older", ["value"], frozen=True)
    Results(tmp_path).get(("key",), older, lambda: older(1.0))
    assert Results(tmp_path).get(("key",), Answer, compute).value == 0.5


def test_a_store_that_cannot_be_written_is_an_error_with_its_cause(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be written .*in its way"):
        Results(tmp_path).get(("key",), Answer, compute)
