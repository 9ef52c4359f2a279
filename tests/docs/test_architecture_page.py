"""The tree in docs/architecture.md is that of the package."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tree_on_the_page_is_that_of_the_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.split("<!-- tree: begin -->")[1].split("<!-- tree: end -->")[0]
    path: list[str] = []
    shown = set()
    for line in tree.splitlines():
        if match := re.match(r"( *)([\w.]+)(/?)", line):
            path = [*path[: len(match[1]) // 2], match[2]]
            if not match[3]:
                shown.add("/".join(path))
    files = (file.relative_to(ROOT).as_posix() for file in (ROOT / "clsviz").rglob("*.py"))
    assert shown == {file for file in files if not file.endswith("/__init__.py")}
