from pathlib import Path

import nbformat
import pytest

from docs import build

NOTEBOOK = build.DOCS / "notebook.ipynb"


def test_the_page_of_the_api_is_what_the_docstrings_say() -> None:
    assert (build.DOCS / "api.md").read_text(encoding="utf-8") == build.api(), "make docs"


def test_the_notebook_was_run_and_tells_nothing_of_the_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 100_000
    for word in (str(Path.home()), "/tmp", "site-packages", "Traceback", "stderr", "metadata.execution"):
        assert word not in text
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert cell.cell_type != "code" or cell.outputs


@pytest.mark.timeout(600)
def test_the_notebook_runs() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = build.run(NOTEBOOK)
    assert [cell.source for cell in fresh.cells] == [cell.source for cell in stored.cells]
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        kinds = [[output.output_type for output in cell.get("outputs", [])] for cell in (old, new)]
        assert kinds[0] == kinds[1]
