"""The rules of the house: who may import what, and what may be loaded when."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import BRIEF

import clsviz

PACKAGE = Path(clsviz.__file__).parent
HEAVY = ["torch", "transformers", "datasets", "plotly", "streamlit", "pandas", "scipy", "sklearn", "huggingface_hub"]

LIGHT = [
    "clsviz",
    "clsviz.experiment",
    "clsviz.sources.sampling",
    "clsviz.jobs.queue",
    "clsviz.api",
    "clsviz.cli.main",
]

ALLOWED = {
    "streamlit": {"ui"},
    "plotly": {"figures", "ui"},
    "torch": {"encoder"},
    "transformers": {"encoder"},
    "huggingface_hub": {"sources"},
    "datasets": {"sources"},
}


def imports(path: Path) -> set[str]:
    """The top-level packages that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.fixture(scope="module")
def imported() -> dict[Path, set[str]]:
    """What each file of the package imports, by its path in it."""
    return {path.relative_to(PACKAGE): imports(path) for path in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize("library", ALLOWED)
def test_each_library_is_imported_only_where_it_belongs(library: str, imported: dict[Path, set[str]]) -> None:
    importing = {path for path, packages in imported.items() if library in packages}
    assert [path for path in importing if path.parts[0] not in ALLOWED[library]] == []


def test_nothing_is_unpickled(imported: dict[Path, set[str]]) -> None:
    unpickling = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
    assert len(imported) > 50
    assert [path for path, packages in imported.items() if packages & unpickling] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = f"import sys, {', '.join(LIGHT)}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", BRIEF + program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(LIGHT) <= set(loaded)
    assert not set(HEAVY) & set(loaded)


def test_public_names_are_ours_and_there_are_no_others() -> None:
    assert all(getattr(clsviz, name).__module__.startswith("clsviz.") for name in clsviz.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        clsviz.nothing  # noqa: B018


def test_what_the_list_of_what_is_protected_names_is_there() -> None:
    tests = Path(__file__).parent
    named = re.findall(r"`((?:[a-z_]+/)*(?:test_[a-z_0-9]+\.py)?)`", (tests / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 40
    assert [name for name in named if not (tests / name).exists()] == []
