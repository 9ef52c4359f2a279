from pathlib import Path

import pytest


@pytest.fixture
def arguments(tiny_folder: Path, text_file: Path, tmp_path: Path) -> list[str]:
    """Measure 200 sentences of the text file with the tiny model."""
    store = str(tmp_path / "store")
    return ["measure", f"--model={tiny_folder}", f"--corpus={text_file}", "--sample-size=200", f"--store={store}"]
