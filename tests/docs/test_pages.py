"""Pages of the documentation lead where they say, and name every library that clsviz asks for."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "deploy").rglob("*.md"),
]


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them; of those called alike the later ones are numbered."""
    found: set[str] = set()
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        found.add(next(one for one in [name, *(f"{name}-{n}" for n in range(1, 100))] if one not in found))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_link_to_a_file_or_a_heading_finds_it(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    for target in [target for target in targets if not re.match(r"[a-z]+:", target)]:
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_architecture_page_says_what_each_library_is_for() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    listed = re.findall(r"^- \*\*(.+)\*\*: ", text.partition("## What each library is for")[2], re.MULTILINE)
    asked = re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    normal = [name.replace("_", "-") for row in listed for name in row.split(", ")]
    assert sorted(normal) == sorted(name.replace("_", "-") for name in asked)


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_are_named_are_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8").replace("my_page.py", "app.py")  # the page that somebody adds
    named = re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|pyi|js|toml))`", text)
    assert len(named) > 8
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / "clsviz" / path).exists()] == []
