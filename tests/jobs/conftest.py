"""What tests of measuring begin with."""

import threading
from collections.abc import Callable, Iterator

import pytest

from clsviz.encoder import Encoder


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test() -> Iterator[None]:
    """What was cancelled goes on loading for a moment, and must not be taken for the next test's."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("interruptible", "load")):
            thread.join(30)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Measuring halts before every part but the first two until this is set."""
    gate = threading.Event()
    measure = Encoder.measure

    def gated(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> object:
        while on_batch and len(sentences) != 32 and not gate.wait(0.01):
            on_batch(0)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", gated)
    yield gate
    gate.set()
