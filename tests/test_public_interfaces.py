"""Libraries are used by what they document: no private module, no private name, nothing of theirs replaced."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "app.py", *sorted((ROOT / "clsviz").rglob("*.py"))]

DOCUMENTED = {
    "streamlit": {"streamlit", "streamlit.components.v2"},
    "huggingface_hub": {"huggingface_hub", "huggingface_hub.errors", "huggingface_hub.utils"},
    "datasets": {"datasets"},
    "transformers": {"transformers"},
    "uvicorn": set[str](),
}
"""Modules that these libraries document, whose packages hold far more."""

UNDOCUMENTED = {"streamlit": {"runtime", "elements", "proto", "web", "config", "file_util"}}
"""What can be imported from a library's top and is not in its reference."""

PACKED = "clsviz/encoder/linear.py", {"_reorder_linear_weight", "_linear_pointwise"}
"""Packed linears have no public name. The file probes them, and takes the public linear where they are not there."""


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("clsviz", *sys.stdlib_module_names)


def library_names(tree: ast.Module) -> set[str]:
    """The names by which a file knows what it imports from libraries."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names if not is_ours(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and not is_ours(node.module):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def private_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules, names = [alias.name for alias in node.names], []
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules, names = [node.module], [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            library = module.partition(".")[0]
            is_private = any(part.startswith("_") and part != "__future__" for part in module.split("."))
            if is_private or module not in DOCUMENTED.get(library, {module}):
                yield module
            if not is_ours(module):
                yield from (f"{module}.{name}" for name in names if name.startswith("_"))
            yield from (f"{module}.{name}" for name in names if name in UNDOCUMENTED.get(module, ()))


def private_names(tree: ast.Module, path: str) -> Iterator[str]:
    names = library_names(tree)
    for node in ast.walk(tree):
        is_private = isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__")
        if is_private and root_of(node) in names and not (path == PACKED[0] and node.attr in PACKED[1]):
            yield ast.unparse(node)


def replaced(tree: ast.Module) -> Iterator[str]:
    """What a file assigns to attributes of a library; Streamlit's session state is ours."""
    names = library_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                is_theirs = isinstance(target, ast.Attribute) and root_of(target) in names
                if is_theirs and ast.unparse(target.value) != "st.session_state":
                    yield ast.unparse(target)


def test_libraries_are_used_by_what_they_document() -> None:
    assert len(FILES) > 50
    for path in FILES:
        tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT).as_posix()
        assert [*private_imports(tree), *private_names(tree, name), *replaced(tree)] == [], name


@pytest.mark.parametrize(
    "code",
    [
        "from streamlit.runtime import exists",
        "from streamlit import runtime",
        "import torch._dynamo",
        "from numpy import _globals",
        "import streamlit as st\nst._main.write(1)",
        "import uvicorn\nuvicorn.run = print",
        "from pandas import DataFrame\nDataFrame.plot = None",
    ],
)
def test_what_is_private_is_found(code: str) -> None:
    tree = ast.parse(code)
    assert [*private_imports(tree), *private_names(tree, ""), *replaced(tree)]
