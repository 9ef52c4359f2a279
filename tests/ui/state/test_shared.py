"""What all who look at the same share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from clsviz.ui.state.shared import Shared, size_of


@dataclass(frozen=True)
class View:
    cutoff: int
    numbers: np.ndarray


def test_it_is_computed_once_for_all_who_ask_at_the_same_time() -> None:
    shared, n_computed, all_ask = Shared(1_000), [], threading.Barrier(4)

    def compute() -> str:
        n_computed.append(1)
        return "picture"

    def ask() -> str:
        all_ask.wait()
        return shared.of("view", compute)

    with ThreadPoolExecutor(4) as visitors:
        assert [asked.result() for asked in [visitors.submit(ask) for _ in range(4)]] == ["picture"] * 4
    assert len(n_computed) == 1


def test_what_was_not_asked_for_longest_makes_room() -> None:
    shared = Shared(3 * size_of(bytes(100)))
    for name in "abc":
        shared.of(name, lambda: bytes(100))
    shared.of("a", lambda: pytest.fail("it is there"))
    shared.of("d", lambda: bytes(100))
    assert (len(shared), shared.n_bytes) == (3, 3 * size_of(bytes(100)))
    shared.of("a", lambda: pytest.fail("it was asked for lately"))
    assert shared.of("b", lambda: b"again") == b"again"


def test_what_is_too_large_for_it_is_kept_until_something_newer_comes() -> None:
    shared = Shared(1_000)
    shared.of("small", lambda: b"")
    shared.of("large", lambda: bytes(10_000))
    assert len(shared) == 1
    shared.of("large", lambda: pytest.fail("it is drawn again and again"))
    shared.of("small", lambda: b"")
    assert shared.n_bytes == size_of(b"")


def test_what_fails_is_tried_again_by_the_next_who_asks() -> None:
    shared = Shared(1_000)
    with pytest.raises(ValueError, match="no such column"):
        shared.of("field", lambda: int("no such column"))
    assert shared.of("field", lambda: 3) == 3


def test_a_value_is_as_large_as_all_that_it_holds() -> None:
    numbers = np.zeros(5_000, np.float32)
    texts = np.array(["x" * 1_000, "y" * 2_000], dtype=object)
    value = View(3, numbers), b"z" * 500, {"labels": texts}
    assert 20_000 + 3_000 + 500 < size_of(value) < 20_000 + 3_000 + 500 + 1_500
