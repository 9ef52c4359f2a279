"""The notebook of the docs runs from top to bottom."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


@pytest.mark.slow
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(names["mine"].table) == 60
    assert list(names["mine"].table.index[:2]) == ["r0", "r1"]
