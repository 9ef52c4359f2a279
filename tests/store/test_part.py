from pathlib import Path

import pytest

from clsviz.measurements import Kind
from clsviz.store import Key, borders, missing, part_stop
from clsviz.store.parts import Part

KEY = Key("model", "corpus", 0, 512, "float32")


def part(start: int, stop: int) -> Part:
    return Part(start, stop, Path("part"), KEY)


def test_parts_double_up_to_a_bound() -> None:
    starts = [start for start, _ in borders(0, 5000)]
    assert starts == [0, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096]
    assert max(stop - start for start, stop in borders(0, 16_384)) == 1024


def test_a_million_sentences_are_in_hundreds_of_files() -> None:
    parts = [*borders(0, 1_000_000)]
    assert 100 < len(parts) < 300
    assert max(stop - start for start, stop in parts) == 16_384
    assert all(stop - start <= max(start / 16, 1024) for start, stop in parts)
    assert [stop for _, stop in parts[:-1]] == [start for start, _ in parts[1:]]


def test_parts_of_vectors_stay_small() -> None:
    assert max(stop - start for start, stop in borders(0, 20_000, Kind.VECTORS)) == 256


@pytest.mark.parametrize("cut", [32, 1024, 15_360, 36_864])
def test_a_run_that_goes_on_makes_the_parts_that_it_would_have_made(cut: int) -> None:
    assert [*borders(0, cut), *borders(cut, 100_000)] == [*borders(0, 100_000)]
    assert part_stop(cut) == next(borders(cut, 10**9))[1]


def test_what_is_missing_are_the_gaps_between_parts() -> None:
    assert missing([], 100) == [(0, 32), (32, 64), (64, 100)]
    assert missing([part(0, 100)], 100) == []
    assert missing([part(0, 200)], 100) == []
    assert missing([part(64, 128), part(32, 64)], 200) == [(0, 32), (128, 200)]
    assert missing([part(0, 50), part(30, 40)], 60) == [(50, 60)]
