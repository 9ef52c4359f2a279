"""What tests of measuring begin with."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clsviz.experiment import Experiment


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test() -> Iterator[None]:
    """What was cancelled goes on loading for a moment, and must not be taken for the next test's."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("interruptible", "load")):
            thread.join(30)


@pytest.fixture
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300)
