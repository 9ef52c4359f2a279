from pathlib import Path

import pytest

from clsviz.experiment import Experiment


@pytest.fixture
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300)
